// Policies that a user chooses by name, each by the name of the engine that has it. `parse_*`
// return nullopt if nothing has the name; the lists of accepted names are for messages.
#pragma once

#include <optional>
#include <string_view>

namespace roofcast {

/// The order in which waiting requests are considered: vLLM's --scheduling-policy and SGLang's
/// --schedule-policy.
enum class QueueOrder {
  fcfs,
  priority,        // smaller first (vLLM)
  longest_prefix,  // "lpm": most cached tokens first (SGLang)
  longest_output,  // "lof": most allowed output first (SGLang)
};
inline constexpr const char* kQueueOrders = "fcfs, priority, lpm or lof";
std::string_view name_of(QueueOrder order);
std::optional<QueueOrder> parse_queue_order(std::string_view text);

/// What proposes draft tokens: vLLM's `method`. Also parses "eagle3", which is scheduled like
/// EAGLE.
enum class DraftMethod { ngram, eagle, mtp, draft_model };
inline constexpr const char* kDraftMethods = "ngram, eagle, mtp or draft_model";
std::string_view name_of(DraftMethod method);
std::optional<DraftMethod> parse_draft_method(std::string_view text);

/// TensorRT-LLM's CapacitySchedulerPolicy (tensorrt_llm/llmapi/llm_args.py): which requests may be
/// active, given the KV blocks. Parsed in upper or lower case, words joined by "_" or "-".
enum class CapacityPolicy { guaranteed_no_evict, max_utilization, static_batch };
inline constexpr const char* kCapacityPolicies =
    "GUARANTEED_NO_EVICT, MAX_UTILIZATION or STATIC_BATCH";
std::string_view name_of(CapacityPolicy policy);
std::optional<CapacityPolicy> parse_capacity_policy(std::string_view text);

/// TensorRT-LLM's ContextChunkingPolicy: how prompts that do not fit the token budget share it.
/// Parsed like CapacityPolicy.
enum class ChunkingPolicy { first_come_first_served, equal_progress };
inline constexpr const char* kChunkingPolicies = "FIRST_COME_FIRST_SERVED or EQUAL_PROGRESS";
std::string_view name_of(ChunkingPolicy policy);
std::optional<ChunkingPolicy> parse_chunking_policy(std::string_view text);

/// How a sequence's K and V take room in the cache: block by block as it grows (PagedAttention), or
/// when admitted and in one contiguous range: for max_model_len tokens, for the output rounded up
/// to a power of two, or for the output that it will have. The last three are Orca (Max), (Pow2)
/// and (Oracle), with which Kwon et al. (SOSP 2023, section 6.1) compare.
enum class KvReservation { paged, max, pow2, oracle };
inline constexpr const char* kKvReservations = "paged, max, pow2 or oracle";
std::string_view name_of(KvReservation reservation);
std::optional<KvReservation> parse_kv_reservation(std::string_view text);

}  // namespace roofcast
