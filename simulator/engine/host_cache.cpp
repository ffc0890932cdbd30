#include "simulator/engine/host_cache.hpp"

#include <algorithm>

namespace roofcast {

std::int64_t HostCache::find(std::span<const BlockKey> keys) const {
  const auto missing =
      std::find_if(keys.begin(), keys.end(), [&](BlockKey key) { return !by_key_.contains(key); });
  return missing - keys.begin();
}

void HostCache::touch(std::span<const BlockKey> keys) {
  for (auto key = keys.rbegin(); key != keys.rend(); ++key) {
    const auto found = by_key_.find(*key);
    if (found != by_key_.end()) entries_.splice(entries_.end(), entries_, found->second);
  }
}

void HostCache::store(BlockKey key) {
  const auto [entry, is_new] = by_key_.try_emplace(key);
  if (!is_new) return;
  entry->second = entries_.insert(entries_.end(), {.key = key});
  ++size_;
  make_room();
}

void HostCache::store_nameless(std::int64_t blocks) {
  if (blocks <= 0) return;
  if (!entries_.empty() && !entries_.back().named) {
    entries_.back().blocks += blocks;
  } else {
    entries_.push_back({.blocks = blocks, .named = false});
  }
  size_ += blocks;
  make_room();
}

void HostCache::make_room() {
  while (size_ > capacity_) {
    Entry& oldest = entries_.front();
    const std::int64_t gone = std::min(oldest.blocks, size_ - capacity_);
    oldest.blocks -= gone;
    size_ -= gone;
    if (oldest.blocks > 0) return;
    if (oldest.named) by_key_.erase(oldest.key);
    entries_.pop_front();
  }
}

}  // namespace roofcast
