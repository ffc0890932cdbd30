// Names of KV blocks by what they hold: equal keys mean equal tokens in the block and in all before
// it (vllm/v1/core/kv_cache_utils.py hashes the parent's hash, the token ids and extra keys such as
// the LoRA adapter; here spans of content stand for the token ids).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/workload/workload.hpp"

namespace roofcast {

/// 64-bit hash; two contents in a run of 10^8 blocks collide with a chance of about 3 in 10^4.
using BlockKey = std::uint64_t;

/// Keys of the full blocks that `contents` covers, for a prompt used with `adapter`.
std::vector<BlockKey> block_keys(std::span<const ContentSpan> contents, std::int64_t block_tokens,
                                 std::int32_t adapter);

/// The same for a sequence that begins with `contents` and goes on, up to `tokens`, with what only
/// this request holds. `owner` names it.
std::vector<BlockKey> own_block_keys(std::span<const ContentSpan> contents, std::int64_t tokens,
                                     std::int64_t block_tokens, std::int32_t adapter,
                                     RequestId owner);

}  // namespace roofcast
