// Prefix caching by radix tree, as SGLang has it: what of a request is cached, taking it, and
// leaving what was computed behind for others. Pool and tree share the pages in this way: a page
// that a running request has to itself, or that the tree has locked for running requests, is used;
// what the tree could evict counts as free, and is evicted when the pool gives it to others.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "simulator/engine/batching_policy.hpp"
#include "simulator/engine/radix_cache.hpp"

namespace roofcast {

class RadixPrefix {
 public:
  explicit RadixPrefix(const EngineState& state);

  /// What of the sequence is cached, its last token excluded: that one is always computed, for its
  /// logits. Counts as a use. Nothing when prefix caching is off.
  RadixCache::Match find(const EngineState& state, RequestId id);

  /// Tokens of a match that count as free until it is taken.
  std::int64_t free_tokens(const RadixCache::Match& match) const {
    return tree_.unlocked_tokens(match.node);
  }

  /// A request without K and V takes its match: its pages, and its tokens as computed.
  void take(EngineState& state, RequestId id, const RadixCache::Match& match);

  /// The request's first `tokens` tokens, which are computed, become the tree's and stay locked for
  /// it; pages that the tree had already are given back (cache_unfinished_req in
  /// sglang/srt/mem_cache/radix_cache.py).
  void keep(EngineState& state, RequestId id, std::int64_t tokens);

  /// The request has ended: what it computed stays in the tree, all its pages are free
  /// (cache_finished_req).
  void finish(EngineState& state, RequestId id);

  /// The request gives everything back. Of what it computed only that stays which it has kept.
  void drop(EngineState& state, RequestId id);

  /// Evicts what the pool has given to others since the last call, and so much more that `spare`
  /// tokens' pages are empty. To be called before each of the above: tokens that decodes have taken
  /// meanwhile are not there to be found.
  void forget_taken(const EngineState& state, std::int64_t spare = 0);

  /// As find() for a request that may not be in this engine, without counting as a use.
  std::int64_t cached_tokens(const EngineState& state, RequestId id) const;

  const RadixCache& tree() const { return tree_; }
  bool enabled() const { return enabled_; }
  /// Of a running request's tokens, those that are the tree's.
  std::int64_t held_tokens(RequestId id) const {
    const auto found = held_.find(id);
    return found == held_.end() ? 0 : found->second.tokens;
  }

  /// Pool blocks of so many tokens, in whole pages, of the layers that keep all tokens.
  std::int64_t rows(std::int64_t tokens) const { return tokens / page_ * rows_per_page_; }

 private:
  /// Of a running request's tokens, those that are the tree's: up to the end of `node`.
  struct Held {
    RadixCache::NodeId node = RadixCache::kRoot;
    std::int64_t tokens = 0;
  };

  RadixCache tree_;
  std::int64_t page_ = 1;
  std::int64_t rows_per_page_ = 0;
  bool enabled_ = false;
  std::unordered_map<RequestId, Held> held_;  // looked up, never walked
};

}  // namespace roofcast
