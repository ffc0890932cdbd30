#include "simulator/engine/radix_cache.hpp"

#include <algorithm>
#include <cassert>

namespace roofcast {
namespace {

std::int64_t total_tokens(std::span<const TokenRun> runs) {
  std::int64_t tokens = 0;
  for (const TokenRun& run : runs) tokens += run.tokens;
  return tokens;
}

}  // namespace

RadixCache::RadixCache(std::int64_t page_tokens) : page_(page_tokens), nodes_(1) {
  assert(page_ > 0);
}

RadixCache::Descent RadixCache::descend(std::span<const TokenRun> runs, std::int32_t adapter,
                                        std::int64_t max) const {
  Descent descent;
  NodeId node = kRoot;
  while (descent.cursor.run < runs.size()) {
    const TokenRun& run = runs[descent.cursor.run];
    const FirstToken first{adapter, run.content, run.at + descent.cursor.offset};
    const auto [begin, end] = at(node).children.equal_range(first);
    NodeId next = kNone;
    std::int64_t matched = 0;
    for (auto child = begin; child != end && next == kNone; ++child) {
      matched = common_tokens(runs, descent.cursor, at(child->second).runs);
      matched = std::min(matched, max - descent.tokens) / page_ * page_;
      if (matched > 0) next = child->second;
    }
    if (next == kNone) break;
    descent.path.push_back(next);
    descent.last_matched = matched;
    descent.tokens += matched;
    skip_tokens(runs, descent.cursor, matched);
    if (matched < at(next).tokens) break;
    node = next;
  }
  return descent;
}

std::int64_t RadixCache::matched_tokens(std::span<const TokenRun> runs, std::int32_t adapter,
                                        std::int64_t max) const {
  return descend(runs, adapter, max).tokens;
}

/// Marks the path as used, and splits its last node if it ends within it. Returns the node at its
/// end.
RadixCache::NodeId RadixCache::settle(const Descent& descent) {
  ++uses_;
  if (descent.path.empty()) return kRoot;
  NodeId last = descent.path.back();
  if (descent.last_matched < at(last).tokens) last = split(last, descent.last_matched);
  for (NodeId node = last; node != kRoot; node = at(node).parent) touch(node);
  return last;
}

RadixCache::Match RadixCache::match(std::span<const TokenRun> runs, std::int32_t adapter,
                                    std::int64_t max) {
  const Descent descent = descend(runs, adapter, max);
  return {.node = settle(descent), .tokens = descent.tokens};
}

RadixCache::Insertion RadixCache::insert(std::span<const TokenRun> runs, std::int32_t adapter) {
  const std::int64_t whole = total_tokens(runs) / page_ * page_;
  const Descent descent = descend(runs, adapter, whole);
  Insertion insertion{.node = settle(descent), .tokens = whole, .present = descent.tokens};
  if (descent.tokens == whole) return insertion;
  RunCursor cursor = descent.cursor;
  insertion.node =
      add_leaf(insertion.node, take_runs(runs, cursor, whole - descent.tokens), adapter);
  return insertion;
}

std::int64_t RadixCache::unlocked_tokens(NodeId node) const {
  std::int64_t tokens = 0;
  for (; node != kRoot && at(node).locks == 0; node = at(node).parent) tokens += at(node).tokens;
  return tokens;
}

std::int64_t RadixCache::lock(NodeId node) {
  std::int64_t newly = 0;
  for (; node != kRoot; node = at(node).parent) {
    if (at(node).locks == 0) {
      newly += at(node).tokens;
      forget_leaf(node);
    }
    ++at(node).locks;
  }
  evictable_ -= newly;
  return newly;
}

std::int64_t RadixCache::unlock(NodeId node) {
  std::int64_t newly = 0;
  for (; node != kRoot; node = at(node).parent) {
    assert(at(node).locks > 0);
    if (--at(node).locks > 0) continue;
    newly += at(node).tokens;
    note_leaf(node);
  }
  evictable_ += newly;
  return newly;
}

void RadixCache::evict_down_to(std::int64_t tokens) {
  while (evictable_ > tokens) {
    assert(!leaves_.empty());
    remove_leaf(leaves_.begin()->second);
  }
}

/// Moves the first `tokens` tokens of a node into a new node before it. Locks on the node then
/// cover both.
RadixCache::NodeId RadixCache::split(NodeId node, std::int64_t tokens) {
  const NodeId upper = new_node();
  const auto entry = entry_of(node);
  const FirstToken first = entry->first;
  entry->second = upper;
  Node& lower = at(node);
  RunCursor cursor;
  at(upper).runs = take_runs(lower.runs, cursor, tokens);
  at(upper).tokens = tokens;
  at(upper).parent = lower.parent;
  at(upper).locks = lower.locks;
  at(upper).last_use = lower.last_use;
  at(upper).adapter = lower.adapter;
  lower.runs = take_runs(lower.runs, cursor, lower.tokens - tokens);
  lower.tokens -= tokens;
  lower.parent = upper;
  const TokenRun& run = lower.runs.front();
  at(upper).children.emplace(FirstToken{first.adapter, run.content, run.at}, node);
  return upper;
}

RadixCache::NodeId RadixCache::add_leaf(NodeId parent, std::vector<TokenRun> runs,
                                        std::int32_t adapter) {
  const NodeId leaf = new_node();
  forget_leaf(parent);
  const FirstToken first{adapter, runs.front().content, runs.front().at};
  at(parent).children.emplace(first, leaf);
  Node& node = at(leaf);
  node.tokens = total_tokens(runs);
  node.runs = std::move(runs);
  node.parent = parent;
  node.adapter = adapter;
  node.last_use = uses_;
  resident_ += node.tokens;
  evictable_ += node.tokens;
  note_leaf(leaf);
  return leaf;
}

void RadixCache::remove_leaf(NodeId leaf) {
  const NodeId parent = at(leaf).parent;
  forget_leaf(leaf);
  resident_ -= at(leaf).tokens;
  evictable_ -= at(leaf).tokens;
  at(parent).children.erase(entry_of(leaf));
  at(leaf) = {};
  vacant_.push_back(leaf);
  note_leaf(parent);
}

std::multimap<RadixCache::FirstToken, RadixCache::NodeId>::iterator RadixCache::entry_of(
    NodeId child) {
  const Node& node = at(child);
  const TokenRun& run = node.runs.front();
  auto& siblings = at(node.parent).children;
  const auto [begin, end] = siblings.equal_range(FirstToken{node.adapter, run.content, run.at});
  return std::find_if(begin, end, [&](const auto& entry) { return entry.second == child; });
}

void RadixCache::touch(NodeId node) {
  const bool listed = leaves_.erase({at(node).last_use, node}) > 0;
  at(node).last_use = uses_;
  if (listed) leaves_.emplace(uses_, node);
}

/// Lists the node if it is a leaf that can be evicted.
void RadixCache::note_leaf(NodeId node) {
  const Node& candidate = at(node);
  if (node == kRoot || candidate.locks > 0 || !candidate.children.empty()) return;
  leaves_.emplace(candidate.last_use, node);
}

void RadixCache::forget_leaf(NodeId node) { leaves_.erase({at(node).last_use, node}); }

RadixCache::NodeId RadixCache::new_node() {
  if (vacant_.empty()) {
    nodes_.emplace_back();
    return static_cast<NodeId>(nodes_.size() - 1);
  }
  const NodeId node = vacant_.back();
  vacant_.pop_back();
  return node;
}

}  // namespace roofcast
