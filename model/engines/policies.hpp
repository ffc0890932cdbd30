// Policies that a user chooses by name, each by the name of the engine that has it. `parse_*`
// return nullopt if nothing has the name; `*_names` list those to offer.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace roofcast {

/// The order in which waiting requests are considered: vLLM's --scheduling-policy and SGLang's
/// --schedule-policy.
enum class QueueOrder {
  fcfs,
  priority,        // smaller first (vLLM)
  longest_prefix,  // "lpm": most cached tokens first (SGLang)
  longest_output,  // "lof": most allowed output first (SGLang)
};
std::vector<std::string_view> queue_order_names();
std::string_view name_of(QueueOrder order);
std::optional<QueueOrder> parse_queue_order(std::string_view text);

/// The proposer of draft tokens: vLLM's `method`. Also parses "eagle3", which is scheduled like
/// EAGLE.
enum class DraftMethod { ngram, eagle, mtp, draft_model };
std::vector<std::string_view> draft_method_names();
std::string_view name_of(DraftMethod method);
std::optional<DraftMethod> parse_draft_method(std::string_view text);

/// TensorRT-LLM's CapacitySchedulerPolicy (tensorrt_llm/llmapi/llm_args.py): which requests may be
/// active, given the KV blocks. Parsed in upper or lower case, words joined by "_" or "-".
enum class CapacityPolicy { guaranteed_no_evict, max_utilization, static_batch };
std::vector<std::string_view> capacity_policy_names();
std::string_view name_of(CapacityPolicy policy);
std::optional<CapacityPolicy> parse_capacity_policy(std::string_view text);

/// TensorRT-LLM's ContextChunkingPolicy: how prompts that do not fit the token budget share it.
/// Parsed like CapacityPolicy.
enum class ChunkingPolicy { first_come_first_served, equal_progress };
std::vector<std::string_view> chunking_policy_names();
std::string_view name_of(ChunkingPolicy policy);
std::optional<ChunkingPolicy> parse_chunking_policy(std::string_view text);

/// TensorRT-LLM's moe_config.backend and vLLM's --moe-backend: whose kernels run the experts.
/// Parsed in upper or lower case.
enum class MoeBackend {
  automatic,  // by version, model and GPU
  cutlass,    // TensorRT-LLM's three
  trtllm,     // TRTLLM-gen, on compute capability 10.x
  deepgemm,
  marlin,  // vLLM's two for mxfp4 weights on Hopper
  triton,
};
std::vector<std::string_view> moe_backend_names();
std::string_view name_of(MoeBackend backend);
std::optional<MoeBackend> parse_moe_backend(std::string_view text);

/// SGLang's --fp8-gemm-backend: whose kernels multiply by weights in fp8 with scales of blocks.
/// Parsed in upper or lower case.
enum class Fp8GemmBackend {
  automatic,  // DeepGEMM on Hopper and Blackwell
  deep_gemm,
  flashinfer_trtllm,  // TRTLLM-gen's through FlashInfer, on compute capability 10.x
};
std::vector<std::string_view> fp8_gemm_backend_names();
std::string_view name_of(Fp8GemmBackend backend);
std::optional<Fp8GemmBackend> parse_fp8_gemm_backend(std::string_view text);

/// The backend that carries tokens to experts on other ranks: vLLM's --all2all-backend, SGLang's
/// --moe-a2a-backend ("none": gathered). Also parses the backends that exchange alike: mori_* and
/// flashinfer_* (vLLM), nixl_ep, pplx (low latency), mooncake, nixl, mori (SGLang, as deepep).
enum class All2All {
  allgather_reducescatter,  // every rank gets every token
  deepep_high_throughput,   // a copy for each rank, between nodes one for each node
  deepep_low_latency,       // a copy for each expert, straight to its rank
  deepep,                   // the faster of both (SGLang: by prompts or decodes)
};
std::string_view name_of(All2All backend);
std::vector<std::string_view> all2all_names();
std::optional<All2All> parse_all2all(std::string_view text);

/// What keeps vLLM's K and V in host memory: its own connector, which loads while other requests
/// run, or LMCache, which loads and stores within steps.
enum class OffloadingBackend { native, lmcache };
std::string_view name_of(OffloadingBackend backend);
std::vector<std::string_view> offloading_backend_names();
std::optional<OffloadingBackend> parse_offloading_backend(std::string_view text);

/// How a sequence's K and V take room in the cache: block by block as it grows (PagedAttention), or
/// when admitted and in one contiguous range: for max_model_len tokens, for the output rounded up
/// to a power of two, or for the output that it will have. The last three are Orca (Max), (Pow2)
/// and (Oracle), with which Kwon et al. (SOSP 2023, section 6.1) compare.
enum class KvReservation { paged, max, pow2, oracle };
std::string_view name_of(KvReservation reservation);
std::vector<std::string_view> kv_reservation_names();
std::optional<KvReservation> parse_kv_reservation(std::string_view text);

}  // namespace roofcast
