// Keys of KV blocks by content: equal keys mean equal tokens in the block and in all blocks before
// it (vllm/v1/core/kv_cache_utils.py hashes the parent's hash, the token ids and extra keys such as
// the LoRA adapter; here content spans replace the token ids).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/workload/workload.hpp"

namespace roofcast {

/// 64-bit hash; in a run of 10^8 blocks two contents collide with a probability of about 3 in 10^4.
using BlockKey = std::uint64_t;

/// Keys of the full blocks that `contents` covers, for a prompt used with `adapter`.
std::vector<BlockKey> block_keys(std::span<const ContentSpan> contents, std::int64_t block_tokens,
                                 std::int32_t adapter);

/// Lengthens `keys`, those of the first full blocks of `contents`, to all full blocks that it
/// covers. A key stands for all blocks before it, so only the new ones are computed.
void extend_block_keys(std::vector<BlockKey>& keys, std::span<const ContentSpan> contents,
                       std::int64_t block_tokens, std::int32_t adapter);

/// Keys for a sequence that starts with `contents` and continues, up to `tokens` tokens, with
/// content that only the request `owner` has.
std::vector<BlockKey> own_block_keys(std::span<const ContentSpan> contents, std::int64_t tokens,
                                     std::int64_t block_tokens, std::int32_t adapter,
                                     RequestId owner);

}  // namespace roofcast
