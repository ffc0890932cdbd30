// Prefix caching by radix tree, as in SGLang: finding and taking a request's cached prefix, and
// caching what it computed for others. Pool and tree share the pages: a page held by one running
// request alone, or locked in the tree for running requests, is used; evictable pages of the tree
// count as free, and are evicted when the pool hands them out. With a hierarchical cache all that
// enters the tree is also in one in host memory (write_through, the default policy), which evicts
// the least recently used; copying it there costs no time.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "simulator/engine/batching_policy.hpp"
#include "simulator/engine/radix_cache.hpp"

namespace roofcast {

class RadixPrefix {
 public:
  explicit RadixPrefix(const EngineState& state);

  /// The cached part of the sequence, except its last token, which is always computed for its
  /// logits. Counts as a use. Empty if prefix caching is off.
  RadixCache::Match find(const EngineState& state, RequestId id);

  /// Tokens behind a match that can be loaded from host memory: all or, if they are few, none
  /// (0.5.15, mem_cache/hiradix_cache.py, load_back). Counts as a use.
  std::int64_t find_in_host(const EngineState& state, RequestId id, const RadixCache::Match& match);

  /// Tokens of a match that count as free until it is taken.
  std::int64_t free_tokens(const RadixCache::Match& match) const {
    return tree_.unlocked_tokens(match.node);
  }

  /// A request without K and V takes the match's pages; the match's tokens count as computed.
  void take(EngineState& state, RequestId id, const RadixCache::Match& match);

  /// The request's first `tokens` tokens, which are computed, move into the tree and stay locked
  /// for the request; pages that duplicate the tree's are released (cache_unfinished_req in
  /// sglang/srt/mem_cache/radix_cache.py).
  void keep(EngineState& state, RequestId id, std::int64_t tokens);

  /// Call when the request has ended: what it computed stays in the tree, and all its pages are
  /// free (cache_finished_req).
  void finish(EngineState& state, RequestId id);

  /// The request releases everything. Of what it computed, only the part passed to keep() stays
  /// cached.
  void drop(EngineState& state, RequestId id);

  /// Evicts the pages that the pool has handed out since the last call, and enough more to leave
  /// the pages of `spare` tokens empty. Call before each of the above, so that evicted tokens are
  /// not found.
  void forget_taken(const EngineState& state, std::int64_t spare = 0);

  /// Like find(), for a request that may not be in this engine, and without counting as a use.
  std::int64_t cached_tokens(const EngineState& state, RequestId id) const;

  const RadixCache& tree() const { return tree_; }
  bool enabled() const { return enabled_; }
  /// Number of a running request's tokens that belong to the tree.
  std::int64_t held_tokens(RequestId id) const {
    const auto found = held_.find(id);
    return found == held_.end() ? 0 : found->second.tokens;
  }

  /// Pool blocks of `tokens` tokens, in whole pages, of the layers that keep all tokens.
  std::int64_t rows(std::int64_t tokens) const { return tokens / page_ * rows_per_page_; }

 private:
  /// A running request's tokens that belong to the tree: those up to the end of `node`.
  struct Held {
    RadixCache::NodeId node = RadixCache::kRoot;
    std::int64_t tokens = 0;
  };

  void copy_to_host(std::span<const TokenRun> runs, std::int32_t adapter);

  RadixCache tree_;
  std::optional<RadixCache> host_;
  std::int64_t host_tokens_ = 0;
  std::int64_t page_ = 1;
  std::int64_t rows_per_page_ = 0;
  bool enabled_ = false;
  std::unordered_map<RequestId, Held> held_;  // never iterated over
};

}  // namespace roofcast
