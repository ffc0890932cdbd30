// A prefix cache that compares token by token: a tree whose nodes hold runs of tokens, split where
// two sequences diverge (RadixAttention, Zheng et al. 2024, arXiv 2312.07104, section 3;
// sglang/srt/mem_cache/radix_cache.py). It tracks which tokens are resident, not where: the pool
// counts their pages. Matches and insertions are whole pages. Nodes that a running request uses are
// locked, along with all their ancestors; the others can be evicted, leaf by leaf, least recently
// used first, ties by node number.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "simulator/engine/token_runs.hpp"

namespace roofcast {

class RadixCache {
 public:
  using NodeId = std::int32_t;
  static constexpr NodeId kRoot = 0;

  explicit RadixCache(std::int64_t page_tokens);

  /// Tokens in locked nodes, and in nodes that can be evicted.
  std::int64_t locked_tokens() const { return resident_ - evictable_; }
  std::int64_t evictable_tokens() const { return evictable_; }

  /// Number of leading tokens of the sequence that are resident: at most `max`, in whole pages.
  /// Does not count as a use. Sequences with different adapters share nothing.
  std::int64_t matched_tokens(std::span<const TokenRun> runs, std::int32_t adapter,
                              std::int64_t max) const;

  struct Match {
    NodeId node = kRoot;  // ends with the last matched token
    std::int64_t tokens = 0;
  };
  /// The same, but counts as a use of these tokens and splits the node in which the match ends.
  Match match(std::span<const TokenRun> runs, std::int32_t adapter, std::int64_t max);

  struct Insertion {
    NodeId node = kRoot;       // ends with the last inserted token
    std::int64_t tokens = 0;   // of the sequence, in whole pages
    std::int64_t present = 0;  // of those, already resident
  };
  /// Makes the whole pages of a sequence resident; counts as a use of them.
  Insertion insert(std::span<const TokenRun> runs, std::int32_t adapter);

  /// Tokens up to this node's end that are not locked.
  std::int64_t unlocked_tokens(NodeId node) const;
  /// Locks the node and its ancestors; returns the tokens that were not locked before. A locked
  /// node keeps its number, and its last token, until it is unlocked as often.
  std::int64_t lock(NodeId node);
  /// Removes one lock; returns the tokens that are no longer locked.
  std::int64_t unlock(NodeId node);

  /// Evicts leaves until at most `tokens` can still be evicted.
  void evict_down_to(std::int64_t tokens);

 private:
  struct FirstToken {
    std::int32_t adapter = -1;
    std::uint64_t content = 0;
    std::int64_t at = 0;
    auto operator<=>(const FirstToken&) const = default;
  };
  struct Node {
    std::vector<TokenRun> runs{};
    std::int64_t tokens = 0;
    NodeId parent = kNone;
    std::int64_t locks = 0;
    std::int64_t last_use = 0;
    std::int32_t adapter = -1;
    // Several children may begin with the same token if a page holds more than one.
    std::multimap<FirstToken, NodeId> children{};
  };
  /// Where a sequence leaves the tree: `last_matched` tokens into the node at the end of `path`.
  struct Descent {
    std::vector<NodeId> path{};  // nodes that match the sequence for at least a page
    std::int64_t last_matched = 0;
    std::int64_t tokens = 0;
    RunCursor cursor{};
  };
  static constexpr NodeId kNone = -1;

  Descent descend(std::span<const TokenRun> runs, std::int32_t adapter, std::int64_t max) const;
  NodeId settle(const Descent& descent);
  NodeId split(NodeId node, std::int64_t tokens);
  NodeId add_leaf(NodeId parent, std::vector<TokenRun> runs, std::int32_t adapter);
  void remove_leaf(NodeId leaf);
  std::multimap<FirstToken, NodeId>::iterator entry_of(NodeId child);
  void touch(NodeId node);
  void note_leaf(NodeId node);
  void forget_leaf(NodeId node);
  NodeId new_node();
  Node& at(NodeId node) { return nodes_[static_cast<std::size_t>(node)]; }
  const Node& at(NodeId node) const { return nodes_[static_cast<std::size_t>(node)]; }

  std::int64_t page_ = 1;
  std::vector<Node> nodes_;
  std::vector<NodeId> vacant_;
  std::set<std::pair<std::int64_t, NodeId>> leaves_;  // evictable leaves, by last use
  std::int64_t uses_ = 0;
  std::int64_t resident_ = 0;
  std::int64_t evictable_ = 0;
};

}  // namespace roofcast
