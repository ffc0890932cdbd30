// The pool of KV cache blocks of one replica. Blocks are counted; only those that hold a prompt
// prefix which other requests may share have a name (BlockKey) and are tracked one by one. Free
// blocks stand in one queue, least recently used first, from which blocks are taken: a named one is
// then forgotten (vllm/v1/core/block_pool.py).
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "model/cache/kv_cache.hpp"
#include "simulator/engine/block_keys.hpp"

namespace roofcast {

/// What one sequence holds of the pool.
struct KvHolding {
  std::int64_t blocks = 0;
  std::int64_t covered_tokens = 0;    // up to so many tokens, one token a step changes nothing
  std::vector<std::int32_t> named{};  // its first blocks, as the pool knows them
};

/// Owns the counts of used and free blocks; used + free is constant. Named blocks that nobody
/// holds are free.
class KvBlocks {
 public:
  /// `block_ids` includes the null block, which vLLM keeps for positions without storage, so one
  /// less can be used. `max_in_flight` is the most tokens that one step may add to a sequence.
  KvBlocks(const CacheLayout& layout, std::int64_t block_ids, std::int64_t max_in_flight);

  std::int64_t usable() const { return usable_; }
  std::int64_t used() const { return used_; }
  std::int64_t free() const { return usable_ - used_; }
  const CacheLayout& layout() const { return layout_; }

  /// Blocks of a sequence of `tokens` tokens of which the current step computes `in_flight`: those
  /// and the window before the first of them, in layers with windows; all in others.
  std::int64_t needed(std::int64_t tokens, std::int64_t in_flight) const;

  /// The same with as many tokens in flight as a step may have.
  std::int64_t max_needed(std::int64_t tokens) const { return needed(tokens, max_in_flight_); }

  /// Makes `holding` cover `tokens` tokens of which `in_flight` are computed now, giving back what
  /// has left its windows; or changes nothing and returns false when too few blocks are free.
  bool grow(KvHolding& holding, std::int64_t tokens, std::int64_t in_flight) {
    return (in_flight == 1 && tokens <= holding.covered_tokens) || take(holding, tokens, in_flight);
  }

  /// Gives all back, the end of the sequence first, so that it is forgotten first.
  void release(KvHolding& holding);

  /// For sequences counted together: so many blocks more are theirs (negative: given back). False,
  /// and nothing changes, when too few are free.
  bool take_rows(std::int64_t rows);

  /// The most tokens that fit the blocks of `tokens` tokens, in every group.
  std::int64_t next_boundary(std::int64_t tokens) const;

  // ---- prefix caching

  /// Tokens of a block that can be shared; 0 when this layout shares none. Models with several
  /// groups share the blocks of their full-attention groups; that their windows and states must be
  /// at hand too is neglected.
  std::int64_t shareable_tokens() const { return rows_per_named_ > 0 ? layout_.block_tokens : 0; }

  bool has_names() const { return !by_key_.empty(); }

  struct Hit {
    std::int64_t blocks = 0;  // leading keys that are cached
    std::int64_t free = 0;    // pool blocks among them that nobody holds: taking them uses them up
  };
  Hit find(std::span<const BlockKey> keys) const;

  /// Pool blocks of a hit: what `needed` counts and the hit already provides.
  std::int64_t rows_of(const Hit& hit) const { return hit.blocks * rows_per_named_; }

  /// The (empty) holding takes the blocks of these keys, all of which are cached.
  void take_cached(KvHolding& holding, std::span<const BlockKey> keys);

  /// The holding's first blocks are full and have these keys from now on. Blocks with equal keys
  /// stand side by side: the one named first answers until it is taken, then the next.
  void name(KvHolding& holding, std::span<const BlockKey> keys);

  /// Rises whenever find() may come to more blocks, or to more that somebody holds: an answer is
  /// an upper bound of both until then.
  std::int64_t gains() const { return gains_; }

 private:
  /// A named block, or a run of free blocks without a name.
  struct Node {
    BlockKey key = 0;
    std::int64_t rows = 0;
    std::int32_t holders = 0;
    bool named = false;
    std::int32_t before = kNone, after = kNone;  // in the queue of free blocks
    std::int32_t older = kNone, newer = kNone;   // among the blocks with its key
  };
  /// The blocks with one key, in the order they were named.
  struct SameKey {
    std::int32_t oldest = kNone;
    std::int32_t newest = kNone;
  };
  static constexpr std::int32_t kNone = -1;

  bool take(KvHolding& holding, std::int64_t tokens, std::int64_t in_flight);
  void take_free(std::int64_t rows);
  void append_free(std::int64_t rows);
  void link_last(std::int32_t node);
  void unlink(std::int32_t node);
  void remember(std::int32_t node);
  void forget(std::int32_t node);
  std::int32_t new_node();
  Node& at(std::int32_t node) { return nodes_[static_cast<std::size_t>(node)]; }
  const Node& at(std::int32_t node) const { return nodes_[static_cast<std::size_t>(node)]; }

  CacheLayout layout_;
  std::int64_t usable_ = 0;
  std::int64_t used_ = 0;
  std::int64_t max_in_flight_ = 0;
  std::int64_t rows_per_named_ = 0;  // pool blocks of one shared block: full-attention groups
  std::vector<Node> nodes_;
  std::vector<std::int32_t> vacant_;
  std::int32_t first_ = kNone, last_ = kNone;
  std::unordered_map<BlockKey, SameKey> by_key_;
  std::int64_t gains_ = 0;
};

}  // namespace roofcast
