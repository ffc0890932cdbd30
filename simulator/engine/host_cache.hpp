// K and V blocks kept in host memory, least recently used first out (the LRU manager of vLLM's
// native offloading connector, vllm/v1/kv_offload). Blocks without a key are those that nobody can
// ask for: they only use up room.
#pragma once

#include <cstdint>
#include <list>
#include <span>
#include <unordered_map>

#include "simulator/engine/block_keys.hpp"

namespace roofcast {

class HostCache {
 public:
  explicit HostCache(std::int64_t capacity_blocks) : capacity_(capacity_blocks) {}

  std::int64_t size() const { return size_; }

  /// Leading keys that are kept.
  std::int64_t find(std::span<const BlockKey> keys) const;

  /// These are used now: the first of them as the last, as a sequence's end is worth least.
  void touch(std::span<const BlockKey> keys);

  void store(BlockKey key);
  void store_nameless(std::int64_t blocks);

 private:
  /// A block with a key, or a run of blocks without.
  struct Entry {
    BlockKey key = 0;
    std::int64_t blocks = 1;
    bool named = true;
  };
  using Entries = std::list<Entry>;

  void make_room();

  std::int64_t capacity_ = 0;
  std::int64_t size_ = 0;
  Entries entries_;  // least recently used first
  std::unordered_map<BlockKey, Entries::iterator> by_key_;
};

}  // namespace roofcast
