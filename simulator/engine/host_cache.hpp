// K and V blocks kept in host memory, evicting the least recently used (the LRU manager of vLLM's
// native offloading connector, vllm/v1/kv_offload). Blocks without a key can never be looked up;
// they only take up space.
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

  /// Number of leading keys that are in the cache.
  std::int64_t find(std::span<const BlockKey> keys) const;

  /// Marks these blocks as used, the last one first: the end of a sequence is evicted first.
  void touch(std::span<const BlockKey> keys);

  void store(BlockKey key);
  void store_nameless(std::int64_t blocks);

 private:
  /// A block with a key, or a run of blocks without keys.
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
