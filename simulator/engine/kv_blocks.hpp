// The pool of KV cache blocks of one replica. Blocks are counted; only those of a prompt prefix
// that other requests may share have a name (BlockKey) and are tracked individually. Free blocks
// form one queue, least recently used first. Taking a named block from it removes its name
// (vllm/v1/core/block_pool.py).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/cache/kv_cache.hpp"
#include "simulator/engine/block_keys.hpp"
#include "simulator/engine/contiguous_kv.hpp"

namespace roofcast {

/// The pool blocks that one sequence holds.
struct KvHolding {
  std::int64_t blocks = 0;
  std::int64_t covered_tokens = 0;    // up to this length, growing by one token per step needs no
                                      // change
  std::int64_t filled = 0;            // pool blocks that are full once its last block is, those
                                      // that have left a window included
  std::int64_t first = 0;             // of a contiguous range
  std::vector<std::int32_t> named{};  // its first blocks, as the pool knows them
};

/// Owns the counts of used and free blocks; used + free is constant. Named blocks that no sequence
/// holds are free.
class KvBlocks {
 public:
  /// `block_ids` includes the null block, which vLLM reserves for positions without storage, so one
  /// less is usable. `max_in_flight` is the most tokens that one step may add to a sequence. With
  /// `checkpoints` a hit in a layout with recurrent groups needs a state (see checkpoint()).
  KvBlocks(const CacheLayout& layout, std::int64_t block_ids, std::int64_t max_in_flight,
           KvReservation reservation = KvReservation::paged, bool checkpoints = false);

  std::int64_t usable() const { return usable_; }
  std::int64_t used() const { return used_; }
  std::int64_t free() const { return usable_ - used_; }
  const CacheLayout& layout() const { return layout_; }

  /// Blocks for a sequence of `tokens` tokens of which the current step computes `in_flight`. In
  /// layers with windows: those tokens and the window before the first of them; in others: all
  /// tokens.
  std::int64_t needed(std::int64_t tokens, std::int64_t in_flight) const;

  /// The same for the most tokens in flight that a step may have; a range if K and V are
  /// contiguous.
  std::int64_t max_needed(std::int64_t tokens) const {
    return contiguous() ? range_of(tokens) : needed(tokens, max_in_flight_);
  }

  /// Makes `holding` cover `tokens` tokens, `in_flight` of which are computed now, and releases
  /// blocks that have left its windows. Returns false and changes nothing if too few blocks are
  /// free.
  bool grow(KvHolding& holding, std::int64_t tokens, std::int64_t in_flight) {
    return (in_flight == 1 && tokens <= holding.covered_tokens) || take(holding, tokens, in_flight);
  }

  /// Releases all blocks, the end of the sequence first, so that it is reused first.
  void release(KvHolding& holding);

  /// For sequences counted together: assigns them `rows` more pool blocks (negative: returns them).
  /// Returns false and changes nothing if too few are free.
  bool take_rows(std::int64_t rows);

  /// For sequences counted together: their blocks have changed as `more` tokens more require.
  void fill(std::int64_t more) { filled_ += more; }

  /// Pool blocks that `tokens` tokens fill or begin to fill, over all groups that grow; layers with
  /// windows count as if they kept all tokens.
  std::int64_t filled_by(std::int64_t tokens) const;

  /// Allocated room without K and V, in pool blocks, if the sequences that hold blocks have
  /// computed `tokens` tokens. Of layers with windows the last block counts.
  double unfilled(std::int64_t tokens) const {
    if (filled_ == 0) return 0.0;
    // Blocks reserved for a whole prompt are counted without its windows.
    const double empty =
        static_cast<double>(filled_) - static_cast<double>(tokens) * blocks_per_token_;
    return std::min(empty, static_cast<double>(used_));
  }

  /// Largest sequence length that needs no more blocks in any group than `tokens` tokens do.
  std::int64_t next_boundary(std::int64_t tokens) const;

  // ---- contiguous K and V

  bool contiguous() const { return ranges_.has_value(); }

  /// Blocks of a range for `tokens` tokens: layers with windows keep all of them, too.
  std::int64_t range_of(std::int64_t tokens) const { return filled_by(tokens) + state_rows_; }

  /// Whether a free range has room for `tokens` tokens.
  bool fits(std::int64_t tokens) const { return ranges_->fits(range_of(tokens)); }

  /// Reserves a range, which fits(), for an empty holding; it then grows up to `tokens` tokens.
  void reserve(KvHolding& holding, std::int64_t tokens);

  /// Free blocks in ranges that are too short for `tokens` tokens.
  std::int64_t in_short_ranges(std::int64_t tokens) const {
    return ranges_->in_shorter(range_of(tokens));
  }

  // ---- prefix caching

  /// Tokens per shareable block; 0 if this layout shares none. Models with several groups share the
  /// blocks of their full-attention groups; that windows and states must be cached too is
  /// neglected.
  std::int64_t shareable_tokens() const { return rows_per_named_ > 0 ? layout_.block_tokens : 0; }

  bool has_names() const { return keys_ > 0; }

  struct Hit {
    std::int64_t blocks = 0;  // leading keys in the cache
    std::int64_t free = 0;    // pool blocks among them held by no sequence: the hit uses them up
  };
  Hit find(std::span<const BlockKey> keys) const;

  /// Pool blocks of a hit: included in `needed` and already provided by the hit.
  std::int64_t rows_of(const Hit& hit) const { return hit.blocks * rows_per_named_; }

  /// The (empty) holding takes the blocks of these keys, all of which must be cached.
  void take_cached(KvHolding& holding, std::span<const BlockKey> keys);

  /// Names the holding's first blocks, which are full. Several blocks may have the same key: find()
  /// returns the one named first until it is taken, then the next.
  void name(KvHolding& holding, std::span<const BlockKey> keys);

  // ---- states of recurrent layers at the end of blocks

  /// Whether hits need a state: the layout shares blocks and has recurrent groups, and the engine
  /// keeps checkpoints of their states.
  bool checkpoints() const { return checkpoint_rows_ > 0; }

  /// The state after the block of `key` is in the cache from the next new_step() on. It lies in
  /// blocks that its sequence gives up when it moves on, so it takes free ones, least recently used
  /// first, and is free itself. Nothing is kept if too few are free.
  void checkpoint(BlockKey key);

  /// The longest of these prefixes that ends with a state, in blocks.
  std::int64_t last_checkpoint(std::span<const BlockKey> keys) const;

  /// A sequence restarts from the state after the block of `key`, which must be cached: it is now
  /// the most recently used.
  void use_checkpoint(BlockKey key);

  /// Whether the state after the block of `key` was written in this step: other sequences must wait
  /// for the next.
  bool written_now(BlockKey key) const;

  void new_step() { written_.clear(); }

  /// Increases whenever find() may return more blocks, or more that are held. Until then its last
  /// result is an upper bound of both.
  std::int64_t gains() const { return gains_; }

 private:
  /// A named block, or a run of free unnamed blocks.
  struct Node {
    BlockKey key = 0;
    std::int64_t rows = 0;
    std::int32_t holders = 0;
    bool named = false;
    std::int32_t before = kNone, after = kNone;  // in the queue of free blocks
    std::int32_t older = kNone, newer = kNone;   // among the blocks with its key
    std::int32_t newest = kNone;                 // of these, kept by the oldest
    std::int32_t chained = kNone;                // the next oldest block of a key in its bucket
  };
  static constexpr std::int32_t kNone = -1;

  bool take(KvHolding& holding, std::int64_t tokens, std::int64_t in_flight);
  std::int64_t block_of(const CacheGroup& group) const;
  void take_free(std::int64_t rows);
  void append_free(std::int64_t rows);
  void link_last(std::int32_t node);
  void unlink(std::int32_t node);
  void remember(std::int32_t node);
  void forget(std::int32_t node);
  std::int32_t& bucket(BlockKey key) { return buckets_[key & (buckets_.size() - 1)]; }
  std::int32_t oldest(BlockKey key) const;
  void chain(std::int32_t node);
  void double_buckets();
  std::int32_t new_node();
  Node& at(std::int32_t node) { return nodes_[static_cast<std::size_t>(node)]; }
  const Node& at(std::int32_t node) const { return nodes_[static_cast<std::size_t>(node)]; }

  CacheLayout layout_;
  std::int64_t usable_ = 0;
  std::int64_t used_ = 0;
  std::int64_t max_in_flight_ = 0;
  std::int64_t filled_ = 0;  // of all holdings
  double blocks_per_token_ = 0;
  std::int64_t state_rows_ = 0;         // of recurrent groups, per sequence
  std::optional<FreeRanges> ranges_{};  // if K and V are contiguous
  std::int64_t rows_per_named_ = 0;   // pool blocks per shared block: one per full-attention group
  std::int64_t checkpoint_rows_ = 0;  // pool blocks per state: one per recurrent group; 0: off
  std::vector<BlockKey> written_;     // checkpoints of this step
  std::vector<Node> nodes_;
  std::vector<std::int32_t> vacant_;
  std::int32_t first_ = kNone, last_ = kNone;
  // The oldest block of each key is found by a table of chains through the nodes themselves: most
  // of a run with shared prefixes is spent naming and forgetting blocks, at random places of
  // memory, of which four bytes a bucket are the fewest.
  std::vector<std::int32_t> buckets_ = std::vector<std::int32_t>(1024, kNone);  // a power of two
  std::size_t keys_ = 0;                                                        // in the table
  std::int64_t gains_ = 0;
};

}  // namespace roofcast
