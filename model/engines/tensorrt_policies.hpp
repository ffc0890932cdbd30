// TensorRT-LLM's scheduling policies, by the names in its SchedulerConfig
// (tensorrt_llm/llmapi/llm_args.py).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace roofcast {

/// CapacitySchedulerPolicy: which requests may be active, given the KV blocks.
enum class CapacityPolicy { guaranteed_no_evict, max_utilization, static_batch };

/// ContextChunkingPolicy: how prompts that do not fit the token budget share it.
enum class ChunkingPolicy { first_come_first_served, equal_progress };

/// "GUARANTEED_NO_EVICT" and so on.
std::string name_of(CapacityPolicy policy);
std::string name_of(ChunkingPolicy policy);

/// The policy with this name, in upper or lower case, words joined by "_" or "-"; nullopt if there
/// is none.
std::optional<CapacityPolicy> parse_capacity_policy(std::string_view text);
std::optional<ChunkingPolicy> parse_chunking_policy(std::string_view text);

/// The accepted names, for messages.
inline constexpr const char* kCapacityPolicies =
    "GUARANTEED_NO_EVICT, MAX_UTILIZATION or STATIC_BATCH";
inline constexpr const char* kChunkingPolicies = "FIRST_COME_FIRST_SERVED or EQUAL_PROGRESS";

}  // namespace roofcast
