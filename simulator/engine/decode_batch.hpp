// The decode batch of one replica in aggregate. Its requests gain one token each per tick (a
// decided decode step), so their number, the tokens they attend to and the blocks they will need
// follow from counts. Single requests are looked at only when one joins, reaches its last token or
// reaches the end of an attention window. A tick costs the same for 10 requests as for 1,000.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "model/step/step_time.hpp"
#include "simulator/engine/batching_policy.hpp"

namespace roofcast {

/// Attended tokens, summed over the batch, for one kind of layer.
class AttendedSum {
 public:
  explicit AttendedSum(const AttentionSpan& span) : span_(span) {}

  std::int64_t value() const { return sum_; }

  /// A sequence of `computed` tokens joins at `tick` and leaves at `last`.
  void join(std::int64_t computed, std::int64_t tick, std::int64_t last);
  void leave(std::int64_t computed);
  /// All sequences have gained a token; the tick is now `tick`.
  void advance(std::int64_t tick);
  void clear();

 private:
  /// At `tick` a sequence fills its window or starts its next chunk.
  struct Turn {
    std::int64_t tick = 0;
    std::int64_t last = 0;
    bool operator>(const Turn& other) const { return tick > other.tick; }
  };

  bool grows(std::int64_t computed) const;

  AttentionSpan span_;
  std::int64_t sum_ = 0;
  std::int64_t growing_ = 0;
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns_;
};

/// Token counts of the batch's sequences, longest first. All gain one per tick, so the order never
/// changes.
class LongestSequences {
 public:
  /// A sequence of `computed` tokens joins, or leaves, at `tick`.
  void join(std::int64_t computed, std::int64_t tick);
  void leave(std::int64_t computed, std::int64_t tick);
  void clear() { ahead_.clear(); }
  /// Adds the longest sequences to the batch, counting the token of the next tick.
  void describe(std::int64_t tick, StepBatch& batch) const;

 private:
  std::vector<std::int64_t> ahead_;  // tokens beyond the tick, descending
};

class DecodeBatch {
 public:
  /// `table` must outlive the batch. `times` determines what describe() has to provide.
  DecodeBatch(const KvBlocks& blocks, const StepTime& times, RequestTable& table);

  std::int64_t size() const { return size_; }
  /// Decided decode steps so far.
  std::int64_t tick() const { return tick_; }

  /// Whether a request of the batch samples its last token at the next tick.
  bool ends_next() const { return !endings_.empty() && endings_.top().tick == tick_ + 1; }

  /// Whether the request holds exactly the blocks of its tokens, so that it needs the next block
  /// when its counts say so. (TensorRT-LLM takes the blocks of a whole prompt before computing it.)
  bool counts(const RequestState& request, const KvBlocks& blocks) const {
    return block_tokens_ == 0 || request.kv.blocks == blocks.needed(request.computed, 1);
  }

  /// Adds a running request; it must be decoding(), not complete(), and satisfy counts().
  void join(RequestId id);

  /// The load of the next tick: sequences, and how their blocks change.
  DecodeLoad load(const KvBlocks& blocks);

  /// Adds the batch to the input of the step time.
  void describe(StepBatch& batch) const;

  /// The next tick has been decided and its blocks taken. Requests that sample their last token
  /// leave into `completed` (passed empty), with their states up to date except `emitted`.
  void advance(KvBlocks& blocks, std::vector<RequestId>& completed);

  /// Dissolves the batch. The states of its members, which are in `running`, are brought up to date
  /// except `emitted`; `joined` still holds the tick at which each joined.
  void dissolve(const std::vector<RequestId>& running, const KvBlocks& blocks);

 private:
  struct Due {
    std::int64_t tick = 0;
    RequestId request = 0;
    bool operator>(const Due& other) const { return tick > other.tick; }
  };
  using Calendar = std::priority_queue<Due, std::vector<Due>, std::greater<>>;

  std::int64_t counted_rows() const;
  std::int64_t& crossing(const RequestState& request);
  void settle(RequestState& request, const KvBlocks& blocks) const;
  void hold_due_blocks(KvBlocks& blocks);

  RequestTable& table_;
  std::int64_t tick_ = 0;
  std::int64_t size_ = 0;
  Calendar endings_;
  std::vector<AttendedSum> attended_;
  bool keeps_longest_ = false;
  LongestSequences longest_;
  /// If all groups that grow keep all tokens in blocks of one size: number of members that need
  /// another block at ticks congruent to the index, and the pool blocks each then takes. Otherwise
  /// (`block_tokens_` is 0): members by the tick at which their blocks change.
  std::int64_t block_tokens_ = 0;
  std::int64_t rows_per_crossing_ = 0;
  std::vector<std::int64_t> crossings_;
  Calendar boundaries_;
  std::vector<RequestId> due_;  // change blocks at this tick
};

}  // namespace roofcast
