// The decode batch of one replica in aggregate. Its requests gain one token each at every tick (a
// decided decode step), so their number, the tokens they attend to and the blocks they come to need
// follow from counts; single requests are looked at only when one joins, reaches its last token or
// the end of an attention window. A tick costs the same for 10 requests as for 1,000.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "model/step/step_time.hpp"
#include "simulator/engine/batching_policy.hpp"

namespace roofcast {

/// Tokens attended to, summed over the batch, for one kind of layer.
class AttendedSum {
 public:
  explicit AttendedSum(const AttentionSpan& span) : span_(span) {}

  std::int64_t value() const { return sum_; }

  /// A sequence of `computed` tokens joins at `tick` and leaves at `last`.
  void join(std::int64_t computed, std::int64_t tick, std::int64_t last);
  void leave(std::int64_t computed);
  /// Everybody has gained a token; it is now `tick`.
  void advance(std::int64_t tick);
  void clear();

 private:
  /// At `tick` a window is full, or the next chunk begins.
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

/// Tokens of the batch's sequences, longest first. All gain one a tick, so that who is ahead stays
/// ahead.
class LongestSequences {
 public:
  /// A sequence of `computed` tokens joins, or leaves, at `tick`.
  void join(std::int64_t computed, std::int64_t tick);
  void leave(std::int64_t computed, std::int64_t tick);
  void clear() { ahead_.clear(); }
  /// Adds the longest to the batch, with the token of the next tick.
  void describe(std::int64_t tick, StepBatch& batch) const;

 private:
  std::vector<std::int64_t> ahead_;  // tokens beyond the tick, descending
};

class DecodeBatch {
 public:
  /// `table` outlives the batch. `times` says what describe() has to tell, and need not.
  DecodeBatch(const CacheLayout& layout, const StepTime& times, RequestTable& table);

  std::int64_t size() const { return size_; }
  /// Decided decode steps so far.
  std::int64_t tick() const { return tick_; }

  /// Whether someone's last token comes at the next tick.
  bool ends_next() const { return !endings_.empty() && endings_.top().tick == tick_ + 1; }

  /// Whether the request holds the blocks of its tokens and no more, so that it comes to need the
  /// next as everybody does. (TensorRT-LLM's hold those of a whole prompt before it is computed.)
  bool counts(const RequestState& request, const KvBlocks& blocks) const {
    return block_tokens_ == 0 || request.kv.blocks == blocks.needed(request.computed, 1);
  }

  /// A running request that is decoding() and not complete(), and that counts(), joins.
  void join(RequestId id);

  /// What the next tick would take: sequences, and how their blocks change.
  DecodeLoad load(const KvBlocks& blocks);

  /// Adds the batch to what the step time is asked for.
  void describe(StepBatch& batch) const;

  /// Everybody's next token has been decided, and the rows taken. Those for whom it is the last
  /// leave into `completed` (given empty), their states up to date but for what the client has.
  void advance(const KvBlocks& blocks, std::vector<RequestId>& completed);

  /// The batch is dissolved: states of the members, which are among `running`, are up to date but
  /// for what the client has; `joined` still says since when they were here.
  void dissolve(const std::vector<RequestId>& running, const KvBlocks& blocks);

 private:
  struct Due {
    std::int64_t tick = 0;
    RequestId request = 0;
    bool operator>(const Due& other) const { return tick > other.tick; }
  };
  using Calendar = std::priority_queue<Due, std::vector<Due>, std::greater<>>;

  std::int64_t& crossing(const RequestState& request);
  void settle(RequestState& request, const KvBlocks& blocks) const;
  void hold_due_blocks(const KvBlocks& blocks);

  RequestTable& table_;
  std::int64_t tick_ = 0;
  std::int64_t size_ = 0;
  Calendar endings_;
  std::vector<AttendedSum> attended_;
  bool keeps_longest_ = false;
  LongestSequences longest_;
  /// With blocks of one size that keep all tokens: members that need a block more at ticks
  /// congruent to the index, and the pool blocks of each. Without (`block_tokens_` is 0): members
  /// by the tick at which their blocks change.
  std::int64_t block_tokens_ = 0;
  std::int64_t rows_per_crossing_ = 0;
  std::vector<std::int64_t> crossings_;
  Calendar boundaries_;
  std::vector<RequestId> due_;  // at this tick
};

}  // namespace roofcast
