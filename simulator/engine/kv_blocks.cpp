#include "simulator/engine/kv_blocks.hpp"

#include <algorithm>
#include <cassert>
#include <limits>

namespace roofcast {

KvBlocks::KvBlocks(const CacheLayout& layout, std::int64_t block_ids, std::int64_t most_in_flight)
    : layout_(layout),
      usable_(std::max<std::int64_t>(block_ids - 1, 0)),
      most_in_flight_(most_in_flight) {
  assert(layout.block_tokens > 0);
}

std::int64_t KvBlocks::needed(std::int64_t tokens, std::int64_t in_flight) const {
  return rows_per_sequence(layout_, tokens, in_flight);
}

bool KvBlocks::take(KvHolding& holding, std::int64_t tokens, std::int64_t in_flight) {
  const std::int64_t blocks = needed(tokens, in_flight);
  const std::int64_t more = blocks - holding.blocks;
  if (more > free()) return false;
  used_ += more;
  // After a chunk the windows hold more than the next step needs: look again then.
  holding = {.blocks = blocks, .covered_tokens = in_flight == 1 ? next_boundary(tokens) : 0};
  return true;
}

/// The most tokens that fit the blocks of `tokens` tokens, in every group.
std::int64_t KvBlocks::next_boundary(std::int64_t tokens) const {
  std::int64_t boundary = std::numeric_limits<std::int64_t>::max();
  for (const CacheGroup& group : layout_.groups) {
    if (group.recurrent) continue;
    const std::int64_t block = group.block_tokens > 0 ? group.block_tokens : layout_.block_tokens;
    boundary = std::min(boundary, (tokens + block - 1) / block * block);
  }
  return boundary;
}

void KvBlocks::release(KvHolding& holding) {
  used_ -= holding.blocks;
  holding = {};
  assert(used_ >= 0);
}

}  // namespace roofcast
