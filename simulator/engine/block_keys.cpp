#include "simulator/engine/block_keys.hpp"

#include <algorithm>
#include <numeric>

#include "base/hash_mix.hpp"

namespace roofcast {
namespace {

// Set in the content id of a request's private content, so that it differs from all workload
// content.
constexpr std::uint64_t kPrivateBlock = std::uint64_t{1} << 63;

}  // namespace

std::vector<BlockKey> block_keys(std::span<const ContentSpan> contents, std::int64_t block_tokens,
                                 std::int32_t adapter) {
  std::vector<BlockKey> keys;
  extend_block_keys(keys, contents, block_tokens, adapter);
  return keys;
}

void extend_block_keys(std::vector<BlockKey>& keys, std::span<const ContentSpan> contents,
                       std::int64_t block_tokens, std::int32_t adapter) {
  // Running hash of the block being filled, and through it of all blocks before.
  BlockKey block =
      keys.empty() ? hash_mix(0, static_cast<std::uint64_t>(adapter) + 1) : keys.back();
  std::int64_t known = std::ssize(keys) * block_tokens;  // tokens of known blocks still to pass
  std::int64_t filled = 0;                               // tokens of the block so far
  for (const ContentSpan& span : contents) {
    const std::int64_t passed = std::min(known, span.tokens);
    known -= passed;
    for (std::int64_t at = passed; at < span.tokens;) {
      const std::int64_t piece = std::min(block_tokens - filled, span.tokens - at);
      // The part of the span that falls into this block: its start and length.
      block = hash_mix(hash_mix(block, span.content), static_cast<std::uint64_t>(at));
      block = hash_mix(block, static_cast<std::uint64_t>(piece));
      filled += piece;
      at += piece;
      if (filled < block_tokens) continue;
      keys.push_back(block);
      filled = 0;
    }
  }
}

std::vector<BlockKey> own_block_keys(std::span<const ContentSpan> contents, std::int64_t tokens,
                                     std::int64_t block_tokens, std::int32_t adapter,
                                     RequestId owner) {
  std::vector<ContentSpan> all(contents.begin(), contents.end());
  const std::int64_t covered =
      std::accumulate(all.begin(), all.end(), std::int64_t{0},
                      [](std::int64_t sum, const ContentSpan& span) { return sum + span.tokens; });
  if (tokens > covered) {
    all.push_back(
        {.content = kPrivateBlock | static_cast<std::uint64_t>(owner), .tokens = tokens - covered});
  }
  return block_keys(all, block_tokens, adapter);
}

}  // namespace roofcast
