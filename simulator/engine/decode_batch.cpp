#include "simulator/engine/decode_batch.hpp"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <optional>
#include <utility>

namespace roofcast {
namespace {

using SpanKind = AttentionSpan::Kind;

// Larger blocks are followed member by member: a counter per token position would cost more.
constexpr std::int64_t kMaxResidues = 4096;

/// Block size in tokens, if all groups that grow with the sequence keep all of it in blocks of one
/// size up to kMaxResidues; 0 otherwise.
std::int64_t common_block(const CacheLayout& layout) {
  std::optional<std::int64_t> common;
  for (const CacheGroup& group : layout.groups) {
    if (group.recurrent) continue;
    const bool keeps_all = group.span.kind == SpanKind::full || group.span.kind == SpanKind::sparse;
    const std::int64_t block = group.block_tokens > 0 ? group.block_tokens : layout.block_tokens;
    if (!keeps_all || common.value_or(block) != block) return 0;
    common = block;
  }
  return common.value_or(0) <= kMaxResidues ? common.value_or(0) : 0;
}

std::int64_t growing_groups(const CacheLayout& layout) {
  return std::count_if(layout.groups.begin(), layout.groups.end(),
                       [](const CacheGroup& group) { return !group.recurrent; });
}

template <class Queue>
void empty(Queue& queue) {
  queue = Queue();
}

}  // namespace

// ---- AttendedSum

/// Whether the sequence attends to one more token at the next tick.
bool AttendedSum::grows(std::int64_t computed) const {
  const bool whole = span_.kind == SpanKind::full || span_.kind == SpanKind::both ||
                     span_.kind == SpanKind::chunked;
  return whole || computed + 1 < span_.tokens;
}

void AttendedSum::join(std::int64_t computed, std::int64_t tick, std::int64_t last) {
  sum_ += attended_tokens(span_, computed);
  if (!grows(computed)) return;
  ++growing_;
  if (span_.kind == SpanKind::full || span_.kind == SpanKind::both) return;
  const std::int64_t until = span_.kind == SpanKind::chunked
                                 ? span_.tokens - computed % span_.tokens
                                 : span_.tokens - 1 - computed;
  if (tick + until <= last) turns_.push({.tick = tick + until, .last = last});
}

void AttendedSum::leave(std::int64_t computed) {
  sum_ -= attended_tokens(span_, computed);
  if (grows(computed)) --growing_;
}

void AttendedSum::advance(std::int64_t tick) {
  sum_ += growing_;
  while (!turns_.empty() && turns_.top().tick == tick) {
    const Turn turn = turns_.top();
    turns_.pop();
    if (span_.kind != SpanKind::chunked) {
      --growing_;
      continue;
    }
    sum_ -= span_.tokens;
    const std::int64_t next = turn.tick + span_.tokens;
    if (next <= turn.last) turns_.push({.tick = next, .last = turn.last});
  }
}

void AttendedSum::clear() {
  sum_ = growing_ = 0;
  empty(turns_);
}

// ---- LongestSequences

void LongestSequences::join(std::int64_t computed, std::int64_t tick) {
  const std::int64_t ahead = computed - tick;
  ahead_.insert(std::upper_bound(ahead_.begin(), ahead_.end(), ahead, std::greater<>()), ahead);
}

void LongestSequences::leave(std::int64_t computed, std::int64_t tick) {
  const auto found =
      std::lower_bound(ahead_.begin(), ahead_.end(), computed - tick, std::greater<>());
  assert(found != ahead_.end() && *found == computed - tick);
  ahead_.erase(found);
}

void LongestSequences::describe(std::int64_t tick, StepBatch& batch) const {
  const std::size_t kept = std::min(ahead_.size(), kLongestKept);
  const bool alone = batch.decode_longest.front() == 0;
  for (std::size_t i = 0; i < kept; ++i) {
    const std::int64_t context = ahead_[i] + tick + 1;
    if (alone) {
      batch.decode_longest[i] = context;
    } else {
      keep_longest(batch, context);
    }
  }
}

// ---- DecodeBatch

DecodeBatch::DecodeBatch(const KvBlocks& blocks, const StepTime& times, RequestTable& table)
    : table_(table),
      keeps_longest_(times.asks_for_longest()),
      block_tokens_(blocks.contiguous() ? 0 : common_block(blocks.layout())),
      rows_per_crossing_(growing_groups(blocks.layout())),
      crossings_(static_cast<std::size_t>(block_tokens_), 0) {
  for (const AttentionSpan& span : times.spans()) attended_.emplace_back(span);
}

/// The counter of the tick (modulo the block size) at which the request has filled its blocks.
std::int64_t& DecodeBatch::crossing(const RequestState& request) {
  const std::int64_t ahead = request.joined - request.computed;
  const std::int64_t phase = (ahead % block_tokens_ + block_tokens_) % block_tokens_;
  return crossings_[static_cast<std::size_t>(phase)];
}

void DecodeBatch::join(RequestId id) {
  RequestState& request = table_[id];
  assert(request.decoding() && !request.complete() && request.joined < 0);
  request.joined = tick_;
  ++size_;
  const std::int64_t last = tick_ + request.output_tokens - request.generated;
  endings_.push({.tick = last, .request = id});
  for (AttendedSum& sum : attended_) sum.join(request.computed, tick_, last);
  if (keeps_longest_) longest_.join(request.computed, tick_);
  if (block_tokens_ > 0) {
    ++crossing(request);
  } else {
    const std::int64_t room =
        std::max<std::int64_t>(0, request.kv.covered_tokens - request.computed);
    if (room < last - tick_) boundaries_.push({.tick = tick_ + room, .request = id});
  }
}

DecodeLoad DecodeBatch::load(const KvBlocks& blocks) {
  DecodeLoad load{.sequences = size_};
  if (block_tokens_ > 0) {
    load.rows = counted_rows();
    return load;
  }
  while (!boundaries_.empty() && boundaries_.top().tick == tick_) {
    due_.push_back(boundaries_.top().request);
    boundaries_.pop();
  }
  for (RequestId id : due_) {
    const RequestState& request = table_[id];
    const std::int64_t tokens = request.computed + tick_ - request.joined + 1;
    const std::int64_t more = blocks.needed(tokens, 1) - request.kv.blocks;
    (more > 0 ? load.rows : load.returned_blocks) += std::abs(more);
  }
  return load;
}

void DecodeBatch::describe(StepBatch& batch) const {
  batch.decode_sequences += size_;
  if (keeps_longest_) longest_.describe(tick_, batch);
  for (std::size_t i = 0; i < attended_.size(); ++i) {
    batch.decode_attended[i] += attended_[i].value();
  }
}

/// Members whose blocks change at this tick take what their next token needs.
void DecodeBatch::hold_due_blocks(KvBlocks& blocks) {
  for (RequestId id : due_) {
    RequestState& request = table_[id];
    const std::int64_t tokens = request.computed + tick_ - request.joined + 1;
    request.kv.blocks = blocks.needed(tokens, 1);
    request.kv.covered_tokens = blocks.next_boundary(tokens);
    const std::int64_t filled = blocks.filled_by(tokens);
    blocks.fill(filled - std::exchange(request.kv.filled, filled));
    const std::int64_t room = request.kv.covered_tokens - tokens;
    const std::int64_t last = request.joined + request.output_tokens - request.generated;
    if (room < last - tick_ - 1) boundaries_.push({.tick = tick_ + 1 + room, .request = id});
  }
  due_.clear();
}

/// Brings a member's state up to the current tick.
void DecodeBatch::settle(RequestState& request, const KvBlocks& blocks) const {
  const std::int64_t gained = tick_ - request.joined;
  request.computed += gained;
  request.generated += gained;
  if (block_tokens_ == 0 || gained == 0) return;
  request.kv.blocks = blocks.needed(request.computed, 1);
  request.kv.covered_tokens = blocks.next_boundary(request.computed);
  request.kv.filled = blocks.filled_by(request.computed);
}

/// Pool blocks that the batch takes at this tick, if they are counted.
std::int64_t DecodeBatch::counted_rows() const {
  return crossings_[static_cast<std::size_t>(tick_ % block_tokens_)] * rows_per_crossing_;
}

void DecodeBatch::advance(KvBlocks& blocks, std::vector<RequestId>& completed) {
  if (block_tokens_ > 0) blocks.fill(counted_rows());
  hold_due_blocks(blocks);
  ++tick_;
  for (AttendedSum& sum : attended_) sum.advance(tick_);
  while (!endings_.empty() && endings_.top().tick == tick_) {
    const RequestId id = endings_.top().request;
    endings_.pop();
    RequestState& request = table_[id];
    if (block_tokens_ > 0) --crossing(request);
    settle(request, blocks);
    for (AttendedSum& sum : attended_) sum.leave(request.computed);
    if (keeps_longest_) longest_.leave(request.computed, tick_);
    --size_;
    completed.push_back(id);
  }
}

void DecodeBatch::dissolve(const std::vector<RequestId>& running, const KvBlocks& blocks) {
  for (RequestId id : running) {
    RequestState& request = table_[id];
    if (request.joined >= 0 && !request.complete()) settle(request, blocks);
  }
  size_ = 0;
  empty(endings_);
  for (AttendedSum& sum : attended_) sum.clear();
  longest_.clear();
  std::fill(crossings_.begin(), crossings_.end(), 0);
  empty(boundaries_);
  due_.clear();
}

}  // namespace roofcast
