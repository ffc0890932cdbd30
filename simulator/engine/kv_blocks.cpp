#include "simulator/engine/kv_blocks.hpp"

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

#include "base/ceil_divide.hpp"

namespace roofcast {
namespace {

/// Number of groups whose blocks can be shared: those that keep all tokens in blocks of the common
/// size.
std::int64_t shareable_groups(const CacheLayout& layout) {
  return std::count_if(layout.groups.begin(), layout.groups.end(), [&](const CacheGroup& group) {
    using Kind = AttentionSpan::Kind;
    const bool keeps_all = group.span.kind == Kind::full || group.span.kind == Kind::sparse;
    const bool common = group.block_tokens == 0 || group.block_tokens == layout.block_tokens;
    return !group.recurrent && keeps_all && common;
  });
}

std::int64_t recurrent_groups(const CacheLayout& layout) {
  return std::count_if(layout.groups.begin(), layout.groups.end(),
                       [](const CacheGroup& group) { return group.recurrent; });
}

/// The key under which the state after a block is found (the finaliser of splitmix64, so that it
/// meets no block's own).
BlockKey state_key(BlockKey key) {
  key ^= 0x9e3779b97f4a7c15U;
  key = (key ^ (key >> 30U)) * 0xbf58476d1ce4e5b9U;
  key = (key ^ (key >> 27U)) * 0x94d049bb133111ebU;
  return key ^ (key >> 31U);
}

}  // namespace

KvBlocks::KvBlocks(const CacheLayout& layout, std::int64_t block_ids, std::int64_t max_in_flight,
                   KvReservation reservation, bool checkpoints)
    : layout_(layout),
      usable_(std::max<std::int64_t>(block_ids - 1, 0)),
      max_in_flight_(max_in_flight),
      rows_per_named_(shareable_groups(layout)),
      checkpoint_rows_(checkpoints && rows_per_named_ > 0 ? recurrent_groups(layout) : 0) {
  assert(layout.block_tokens > 0);
  if (usable_ > 0) append_free(usable_);
  if (reservation != KvReservation::paged) ranges_.emplace(usable_);
  for (const CacheGroup& group : layout_.groups) {
    if (group.recurrent) {
      state_rows_ += group.rows_per_sequence;
    } else {
      blocks_per_token_ += 1.0 / static_cast<double>(block_of(group));
    }
  }
}

std::int64_t KvBlocks::block_of(const CacheGroup& group) const {
  return group.block_tokens > 0 ? group.block_tokens : layout_.block_tokens;
}

std::int64_t KvBlocks::filled_by(std::int64_t tokens) const {
  std::int64_t blocks = 0;
  for (const CacheGroup& group : layout_.groups) {
    if (!group.recurrent) blocks += ceil_divide(tokens, block_of(group));
  }
  return blocks;
}

std::int64_t KvBlocks::needed(std::int64_t tokens, std::int64_t in_flight) const {
  return rows_per_sequence(layout_, tokens, in_flight);
}

bool KvBlocks::take(KvHolding& holding, std::int64_t tokens, std::int64_t in_flight) {
  if (contiguous()) {
    assert(tokens <= holding.covered_tokens);  // reserved when it was admitted
    return true;
  }
  const std::int64_t blocks = needed(tokens, in_flight);
  if (!take_rows(blocks - holding.blocks)) return false;
  holding.blocks = blocks;
  const std::int64_t filled = filled_by(tokens);
  filled_ += filled - std::exchange(holding.filled, filled);
  // After a chunk the windows hold more than the next step needs, so check again then.
  holding.covered_tokens = in_flight == 1 ? next_boundary(tokens) : 0;
  return true;
}

void KvBlocks::reserve(KvHolding& holding, std::int64_t tokens) {
  assert(holding.blocks == 0);
  holding = {.blocks = range_of(tokens), .covered_tokens = tokens, .filled = filled_by(tokens)};
  const auto first = ranges_->take(holding.blocks);
  assert(first);
  holding.first = *first;
  used_ += holding.blocks;
  filled_ += holding.filled;
}

bool KvBlocks::take_rows(std::int64_t rows) {
  if (rows > free()) return false;
  if (rows > 0) take_free(rows);
  if (rows < 0) append_free(-rows);
  used_ += rows;
  return true;
}

std::int64_t KvBlocks::next_boundary(std::int64_t tokens) const {
  std::int64_t boundary = std::numeric_limits<std::int64_t>::max();
  for (const CacheGroup& group : layout_.groups) {
    if (group.recurrent) continue;
    const std::int64_t block = block_of(group);
    boundary = std::min(boundary, (tokens + block - 1) / block * block);
  }
  return boundary;
}

void KvBlocks::release(KvHolding& holding) {
  filled_ -= holding.filled;
  if (contiguous()) {
    if (holding.blocks > 0) ranges_->give_back(holding.first, holding.blocks);
    used_ -= holding.blocks;
    holding = {};
    return;
  }
  const auto named = static_cast<std::int64_t>(holding.named.size());
  const std::int64_t nameless = holding.blocks - named * rows_per_named_;
  if (nameless > 0) append_free(nameless);
  used_ -= nameless;
  for (auto node = holding.named.rbegin(); node != holding.named.rend(); ++node) {
    if (--at(*node).holders > 0) continue;
    link_last(*node);
    used_ -= rows_per_named_;
  }
  holding = {};
  assert(used_ >= 0);
}

KvBlocks::Hit KvBlocks::find(std::span<const BlockKey> keys) const {
  Hit hit;
  for (const BlockKey key : keys) {
    const std::int32_t node = oldest(key);
    if (node == kNone) break;
    ++hit.blocks;
    if (at(node).holders == 0) hit.free += rows_per_named_;
  }
  return hit;
}

void KvBlocks::take_cached(KvHolding& holding, std::span<const BlockKey> keys) {
  assert(holding.blocks == 0);
  holding.named.reserve(keys.size());
  for (const BlockKey key : keys) {
    const std::int32_t node = oldest(key);
    assert(node != kNone);
    if (at(node).holders++ == 0) {
      unlink(node);
      used_ += rows_per_named_;
      ++gains_;
    }
    holding.named.push_back(node);
  }
  holding.blocks = static_cast<std::int64_t>(keys.size()) * rows_per_named_;
}

void KvBlocks::name(KvHolding& holding, std::span<const BlockKey> keys) {
  for (std::size_t i = holding.named.size(); i < keys.size(); ++i) {
    const std::int32_t node = new_node();
    at(node) = {.key = keys[i], .rows = rows_per_named_, .holders = 1, .named = true};
    remember(node);
    holding.named.push_back(node);
  }
}

void KvBlocks::checkpoint(BlockKey key) {
  const BlockKey state = state_key(key);
  if (oldest(state) != kNone) {
    use_checkpoint(key);
    return;
  }
  if (free() < checkpoint_rows_) return;
  take_free(checkpoint_rows_);
  const std::int32_t node = new_node();
  at(node) = {.key = state, .rows = checkpoint_rows_, .named = true};
  remember(node);
  link_last(node);
  written_.push_back(key);
}

std::int64_t KvBlocks::last_checkpoint(std::span<const BlockKey> keys) const {
  for (std::size_t blocks = keys.size(); blocks > 0; --blocks) {
    if (oldest(state_key(keys[blocks - 1])) != kNone) return static_cast<std::int64_t>(blocks);
  }
  return 0;
}

void KvBlocks::use_checkpoint(BlockKey key) {
  const std::int32_t node = oldest(state_key(key));
  assert(node != kNone);
  unlink(node);
  link_last(node);
}

bool KvBlocks::written_now(BlockKey key) const {
  return std::find(written_.begin(), written_.end(), key) != written_.end();
}

/// The block that was named first of those with this key, or none.
std::int32_t KvBlocks::oldest(BlockKey key) const {
  std::int32_t node = buckets_[key & (buckets_.size() - 1)];
  while (node != kNone && at(node).key != key) node = at(node).chained;
  return node;
}

/// Enters the first block of a key into the table.
void KvBlocks::chain(std::int32_t node) {
  std::int32_t& first = bucket(at(node).key);
  at(node).chained = std::exchange(first, node);
}

void KvBlocks::double_buckets() {
  const std::vector<std::int32_t> old =
      std::exchange(buckets_, std::vector<std::int32_t>(2 * buckets_.size(), kNone));
  for (std::int32_t node : old) {
    while (node != kNone) chain(std::exchange(node, at(node).chained));
  }
}

/// Appends the block to those with its key, as the newest.
void KvBlocks::remember(std::int32_t node) {
  ++gains_;
  const std::int32_t first = oldest(at(node).key);
  if (first == kNone) {
    if (2 * ++keys_ > buckets_.size()) double_buckets();
    at(node).newest = node;
    chain(node);
    return;
  }
  at(node).older = std::exchange(at(first).newest, node);
  at(at(node).older).newer = node;
}

void KvBlocks::forget(std::int32_t node) {
  const auto [older, newer] = std::pair(at(node).older, at(node).newer);
  at(node).named = false;
  if (older != kNone) {
    at(older).newer = newer;
    if (newer == kNone) {
      at(oldest(at(node).key)).newest = older;
    } else {
      at(newer).older = older;
    }
    return;
  }
  std::int32_t* link = &bucket(at(node).key);
  while (*link != node) link = &at(*link).chained;
  if (newer == kNone) {
    *link = at(node).chained;
    --keys_;
    return;
  }
  *link = newer;
  at(newer).older = kNone;
  at(newer).newest = at(node).newest;
  at(newer).chained = at(node).chained;
  ++gains_;  // find() may now return a block that a sequence holds
}

/// Takes blocks from the head of the queue; the caller has checked that there are enough.
void KvBlocks::take_free(std::int64_t rows) {
  while (rows > 0) {
    const std::int32_t head = first_;
    Node& node = at(head);
    if (node.named) forget(head);
    const std::int64_t taken = std::min(rows, node.rows);
    node.rows -= taken;
    rows -= taken;
    if (node.rows > 0) return;
    unlink(head);
    vacant_.push_back(head);
  }
}

void KvBlocks::append_free(std::int64_t rows) {
  if (last_ != kNone && !at(last_).named) {
    at(last_).rows += rows;
    return;
  }
  const std::int32_t node = new_node();
  at(node).rows = rows;
  link_last(node);
}

void KvBlocks::link_last(std::int32_t node) {
  at(node).before = last_;
  at(node).after = kNone;
  if (last_ == kNone) {
    first_ = node;
  } else {
    at(last_).after = node;
  }
  last_ = node;
}

void KvBlocks::unlink(std::int32_t node) {
  const auto [before, after] = std::pair(at(node).before, at(node).after);
  (before == kNone ? first_ : at(before).after) = after;
  (after == kNone ? last_ : at(after).before) = before;
}

std::int32_t KvBlocks::new_node() {
  if (vacant_.empty()) {
    nodes_.emplace_back();
    return static_cast<std::int32_t>(nodes_.size() - 1);
  }
  const std::int32_t node = vacant_.back();
  vacant_.pop_back();
  at(node) = {};
  return node;
}

}  // namespace roofcast
