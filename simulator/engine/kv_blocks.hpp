// The pool of KV cache blocks of one replica, by count. Block identity (prefix caching) is not
// needed as long as no two sequences share a block.
#pragma once

#include <cstdint>

#include "model/kv_cache.hpp"

namespace roofcast {

/// What one sequence holds of the pool.
struct KvHolding {
  std::int64_t blocks = 0;
  std::int64_t covered_tokens = 0;  // up to so many tokens, one token a step changes nothing
};

/// Owns the counts of used and free blocks; used + free is constant.
class KvBlocks {
 public:
  /// `block_ids` includes the null block, which vLLM keeps for positions without storage, so one
  /// less can be used. `most_in_flight` is the most tokens that one step may add to a sequence.
  KvBlocks(const CacheLayout& layout, std::int64_t block_ids, std::int64_t most_in_flight);

  std::int64_t usable() const { return usable_; }
  std::int64_t used() const { return used_; }
  std::int64_t free() const { return usable_ - used_; }

  /// Blocks of a sequence of `tokens` tokens of which the current step computes `in_flight`: those
  /// and the window before the first of them, in layers with windows; all in others.
  std::int64_t needed(std::int64_t tokens, std::int64_t in_flight) const;

  /// The same with as many tokens in flight as a step may have.
  std::int64_t most_needed(std::int64_t tokens) const { return needed(tokens, most_in_flight_); }

  /// Makes `holding` cover `tokens` tokens of which `in_flight` are computed now, giving back what
  /// has left its windows; or changes nothing and returns false when too few blocks are free.
  bool grow(KvHolding& holding, std::int64_t tokens, std::int64_t in_flight) {
    return (in_flight == 1 && tokens <= holding.covered_tokens) || take(holding, tokens, in_flight);
  }

  void release(KvHolding& holding);

 private:
  bool take(KvHolding& holding, std::int64_t tokens, std::int64_t in_flight);
  std::int64_t next_boundary(std::int64_t tokens) const;

  CacheLayout layout_;
  std::int64_t usable_ = 0;
  std::int64_t used_ = 0;
  std::int64_t most_in_flight_ = 0;
};

}  // namespace roofcast
