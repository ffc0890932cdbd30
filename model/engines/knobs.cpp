#include "model/engines/knobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"

namespace roofcast {
namespace {

using O = EngineOverrides;
using enum KnobKind;
using enum KnobGroup;
using enum KnobOwner;

// ---- members as knob values

std::optional<DType> named(std::string_view name, DType) { return parse_dtype(name); }
std::optional<QueueOrder> named(std::string_view name, QueueOrder) {
  return parse_queue_order(name);
}
std::optional<SamplingKind> named(std::string_view name, SamplingKind) {
  return parse_sampling(name);
}
std::optional<DraftMethod> named(std::string_view name, DraftMethod) {
  return parse_draft_method(name);
}
std::optional<CapacityPolicy> named(std::string_view name, CapacityPolicy) {
  return parse_capacity_policy(name);
}
std::optional<ChunkingPolicy> named(std::string_view name, ChunkingPolicy) {
  return parse_chunking_policy(name);
}
std::optional<KvReservation> named(std::string_view name, KvReservation) {
  return parse_kv_reservation(name);
}
std::optional<All2All> named(std::string_view name, All2All) { return parse_all2all(name); }
std::optional<OffloadingBackend> named(std::string_view name, OffloadingBackend) {
  return parse_offloading_backend(name);
}
std::optional<MoeBackend> named(std::string_view name, MoeBackend) {
  return parse_moe_backend(name);
}
std::optional<Fp8GemmBackend> named(std::string_view name, Fp8GemmBackend) {
  return parse_fp8_gemm_backend(name);
}

template <class T>
KnobValue value_of(const T& member) {
  if constexpr (std::is_enum_v<T>) {
    return std::string(name_of(member));
  } else if constexpr (requires { member.value; }) {
    return member.value;  // a quantity
  } else {
    return member;
  }
}

template <class T>
std::optional<T> member_of(const KnobValue& value) {
  if constexpr (std::is_enum_v<T>) {
    const auto* name = std::get_if<std::string>(&value);
    return name == nullptr ? std::nullopt : named(*name, T{});
  } else if constexpr (requires(T quantity) { quantity.value; }) {
    const auto* number = std::get_if<double>(&value);
    return number == nullptr ? std::nullopt : std::optional(T{*number});
  } else {
    const auto* same = std::get_if<T>(&value);
    return same == nullptr ? std::nullopt : std::optional(*same);
  }
}

/// `row` with the getter and setter of the member.
template <auto kMember>
EngineKnob knob(EngineKnob row) {
  using Member = std::remove_cvref_t<decltype(std::declval<O>().*kMember)>;
  row.get = [](const O& overrides) -> std::optional<KnobValue> {
    const Member& member = overrides.*kMember;
    if (!member) return std::nullopt;
    return value_of(*member);
  };
  row.set = [](O& overrides, const KnobValue& value) {
    const auto member = member_of<typename Member::value_type>(value);
    if (member) overrides.*kMember = *member;
    return member.has_value();
  };
  return row;
}

/// For max_model_len, which is stored in two members.
std::optional<KnobValue> get_model_len(const O& overrides) {
  if (overrides.fit_model_len) return "auto";
  if (!overrides.max_model_len) return std::nullopt;
  return *overrides.max_model_len;
}

bool set_model_len(O& overrides, const KnobValue& value) {
  const auto* count = std::get_if<std::int64_t>(&value);
  const auto* word = std::get_if<std::string>(&value);
  if (count == nullptr && (word == nullptr || *word != "auto")) return false;
  overrides.fit_model_len = count == nullptr;
  overrides.max_model_len.reset();
  if (count != nullptr) overrides.max_model_len = *count;
  return true;
}

/// The same for a knob that sets a member of Engine, which descriptions do not show.
template <auto kMember, auto kResolved>
EngineKnob unshown(EngineKnob row) {
  row.apply = [](const O& given, Engine& engine) {
    if (given.*kMember) engine.*kResolved = *(given.*kMember);
  };
  return knob<kMember>(std::move(row));
}

template <auto kResolved>
KnobValue resolved(const Engine& engine) {
  return value_of(engine.*kResolved);
}

/// The same for one that descriptions show.
template <auto kMember, auto kResolved>
EngineKnob knob(EngineKnob row) {
  row.resolved = resolved<kResolved>;
  return unshown<kMember, kResolved>(std::move(row));
}

// ---- the table

constexpr KnobRange kAnyCount{.min = 1, .max = static_cast<double>(kMaxEngineCount)};
constexpr KnobRange kGraphBatch{.min = 1, .max = 65536};  // the sizes up to it are listed
constexpr KnobRange kAnyShare{.min = 0, .max = 1};
constexpr KnobRange kSomeBytes{.min = 1};
/// A step with prompts weighs as much as this many decode steps, so up to this interval a poll
/// always follows it (SGLang 0.5.15, SGLANG_SCHEDULER_RECV_SKIPPER_WEIGHT_DEFAULT).
constexpr std::int64_t kMaxRecvInterval = 1000;
/// Far beyond any pass or transfer; more is an input error.
constexpr KnobRange kUpToAnHour{.min = 0, .max = 3600};
/// Far beyond any model's experts; more is an input error.
constexpr double kMaxRedundantExperts = 4096;
/// vLLM's largest rank is 512 (0.19, config/lora.py, MaxLoRARanks); more is an input error.
constexpr double kMaxLoraRank = 512;
/// Far beyond any server's adapters; more is an input error.
constexpr double kMaxAdapters = 1'000'000;

// NOLINTNEXTLINE(readability-function-size): rows of a table
std::vector<EngineKnob> memory_knobs() {
  return {
      knob<&O::gpu_memory_utilization, &Engine::gpu_memory_utilization>(
          {.flag = "gpu-memory-utilization",
           .key = "gpu_memory_utilization",
           .kind = share,
           .range = {.min = 0, .max = 1, .min_open = true},
           .aliases = {"--mem-fraction-static", "--kv-cache-free-gpu-memory-fraction"},
           .help = "share of GPU memory; SGLang: mem-fraction-static",
           .effect = "Share of the GPU's memory that the engine may use.",
           .examples = {0.9}}),
      {.flag = "max-model-len",
       .key = "max_model_len",
       .kind = length,
       .range = kAnyCount,
       .in_measure = InMeasure::acts,
       .aliases = {"--context-length"},
       .help = "context length (default: the model's); auto: as long as fits",
       .effect = "Context length, prompt and output together, in tokens; auto: the model's, or the "
                 "longest that fits. 32k is 32,000 and 32Ki 32,768.",
       .examples = {std::int64_t{8192}, "auto"},
       .get = get_model_len,
       .set = set_model_len,
       .resolved = resolved<&Engine::max_model_len>},
      knob<&O::max_num_seqs, &Engine::max_num_seqs>(
          {.flag = "max-num-seqs",
           .key = "max_num_seqs",
           .kind = count,
           .range = kAnyCount,
           .in_measure = InMeasure::acts,
           .aliases = {"--max-running-requests", "--max-batch-size"},
           .help = "maximum concurrent sequences",
           .effect = "Maximum number of sequences that run at the same time.",
           .examples = {std::int64_t{256}}}),
      knob<&O::max_num_batched_tokens, &Engine::max_num_batched_tokens>(
          {.flag = "max-num-batched-tokens",
           .key = "max_num_batched_tokens",
           .kind = count,
           .range = kAnyCount,
           .in_measure = InMeasure::acts,
           .aliases = {"--max-num-tokens"},
           .help = "token budget of a step",
           .effect = "Token budget of one step.",
           .examples = {std::int64_t{8192}}}),
      knob<&O::block_size, &Engine::block_size>(
          {.flag = "block-size",
           .key = "block_size",
           .kind = count,
           .range = {.min = 1, .max = static_cast<double>(kLargestBlock)},
           .in_measure = InMeasure::acts,
           .aliases = {"--tokens-per-block", "--page-size"},
           .help = "tokens per KV block",
           .effect = "Tokens in one KV cache block.",
           .examples = {std::int64_t{16}}}),
      knob<&O::kv_reservation, &Engine::kv_reservation>(
          {.flag = "kv-reservation",
           .key = "kv_reservation",
           .group = scheduler,
           .kind = choice,
           .owner = own_scheduler,
           .choice = {.placeholder = "HOW", .noun = "reservation", .names = kv_reservation_names()},
           .help = "paged (default), or contiguous: max, pow2, oracle",
           .effect =
               "How a sequence takes room for K and V: block by block as it grows (paged), or "
               "all at once in one contiguous range, best fit: for max_model_len tokens "
               "(max), for its output rounded up to a power of two (pow2) or exactly "
               "(oracle).",
           .examples = {"max"}}),
      unshown<&O::num_gpu_blocks_override, &Engine::num_gpu_blocks_override>(
          {.flag = "num-gpu-blocks-override",
           .key = "num_gpu_blocks_override",
           .group = scheduler,
           .kind = count,
           .range = kAnyCount,
           .help = "number of KV blocks",
           .effect = "Number of KV cache blocks, instead of the number from the memory rule.",
           .examples = {std::int64_t{2588}}}),
      unshown<&O::decode_context_parallel_size, &Engine::context_ranks>(
          {.flag = "decode-context-parallel-size",
           .key = "decode_context_parallel_size",
           .group = scheduler,
           .kind = count,
           .range = {.min = 1, .max = kMaxDegree},
           .owner = vllm_memory,
           .aliases = {"--dcp"},
           .help = "tensor-parallel ranks that share a sequence's KV cache (default 1)",
           .effect = "Tensor-parallel ranks among which the tokens of each sequence are divided, "
                     "where they would hold the same heads of K and V.",
           .examples = {std::int64_t{8}}}),
      unshown<&O::kv_cache_memory, &Engine::kv_cache_memory>(
          {.flag = "kv-cache-memory-bytes",
           .key = "kv_cache_memory_bytes",
           .kind = bytes,
           .range = kSomeBytes,
           .owner = vllm_memory,
           .help = "KV cache per GPU (40GB, 40GiB), instead of the memory rule's",
           .effect =
               "Bytes for the KV cache on each GPU, instead of the amount from the memory rule.",
           .examples = {8589934592.0}}),
      knob<&O::kv_cache_dtype, &Engine::kv_cache_dtype>(
          {.flag = "kv-cache-dtype",
           .key = "kv_cache_dtype",
           .kind = choice,
           .in_measure = InMeasure::acts,
           .choice = {.placeholder = "DTYPE",
                      .noun = "number format",
                      .names = {"bf16", "fp16", "fp8"},
                      .takes_other_names = true,
                      .auto_unsets = true},
           .help = "auto, bf16, fp16, fp8; in some engines fp4, int8, int4",
           .effect = "Number format of the KV cache.",
           .examples = {"fp8"}}),
  };
}

// NOLINTNEXTLINE(readability-function-size): rows of a table
std::vector<EngineKnob> scheduler_knobs() {
  return {
      knob<&O::enable_chunked_prefill, &Engine::chunked_prefill>(
          {.flag = "enable-chunked-prefill",
           .key = "enable_chunked_prefill",
           .group = scheduler,
           .kind = on_off,
           .in_measure = InMeasure::acts,
           .help = "chunked prefill (default on)",
           .effect = "Whether a prompt may be computed over several steps.",
           .examples = {true}}),
      knob<&O::enable_prefix_caching, &Engine::prefix_caching>(
          {.flag = "enable-prefix-caching",
           .key = "enable_prefix_caching",
           .group = scheduler,
           .kind = on_off,
           .owner = prefix_cache,
           .only_schedules = true,
           .in_measure = InMeasure::nothing,
           .help = "reuse common prompt prefixes (default on)",
           .effect = "Whether common prompt prefixes are computed only once.",
           .examples = {false}}),
      knob<&O::enforce_eager>(
          {.flag = "enforce-eager",
           .key = "enforce_eager",
           .kind = on_off,
           .aliases = {"--disable-cuda-graph"},
           .help = "disable CUDA graphs",
           .effect = "Whether CUDA graphs are off.",
           .examples = {true},
           .resolved = [](const Engine& engine) -> KnobValue { return !engine.cuda_graphs; }}),
      knob<&O::cuda_graph_batch_sizes>(
          {.flag = "cuda-graph-batch-sizes",
           .key = "cuda_graph_batch_sizes",
           .group = scheduler,
           .kind = counts,
           .range = kGraphBatch,
           .aliases = {"--cuda-graph-bs", "--cuda-graph-bs-decode", "--cudagraph-capture-sizes"},
           .help = "batch sizes captured in CUDA graphs (default: the engine's)",
           .effect = "Decode batch sizes that are captured in CUDA graphs; others are launched "
                     "kernel by kernel, or padded to the next (cuda_graph_padding).",
           .examples = {std::vector<std::int64_t>{1, 2, 4, 8, 16, 32, 64, 128, 256}}}),
      knob<&O::cuda_graph_max_bs>(
          {.flag = "cuda-graph-max-bs",
           .key = "cuda_graph_max_bs",
           .group = scheduler,
           .kind = count,
           .range = kGraphBatch,
           .aliases = {"--cuda-graph-max-bs-decode", "--max-cudagraph-capture-size"},
           .help = "largest captured decode batch (default: the engine's)",
           .effect =
               "Largest decode batch that is captured in a CUDA graph; the engine chooses the "
               "sizes up to it.",
           .examples = {std::int64_t{512}}}),
      unshown<&O::cuda_graph_padding, &Engine::graph_padding>(
          {.flag = "cuda-graph-padding",
           .key = "cuda_graph_padding",
           .group = scheduler,
           .kind = on_off,
           .owner = sglang_or_tensorrt_llm,
           .help = "pad decode batches to the next captured size (SGLang: on, TensorRT-LLM: off)",
           .effect = "Whether a decode batch of another size is padded to the next captured one; "
                     "otherwise it is launched kernel by kernel.",
           .examples = {true}}),
      knob<&O::piecewise_cuda_graph>(
          {.flag = "piecewise-cuda-graph",
           .key = "piecewise_cuda_graph",
           .group = scheduler,
           .kind = on_off,
           .owner = tensorrt_llm,
           .help = "TensorRT-LLM: capture steps with prompts between their attention",
           .effect = "TensorRT-LLM: whether what lies between the attention of steps with prompts "
                     "is captured in CUDA graphs (enable_piecewise_cuda_graph); otherwise PyTorch "
                     "launches all of it.",
           .examples = {true},
           .resolved = [](const Engine& engine) -> KnobValue {
             return !engine.prompt_graph_sizes.empty();
           }}),
      knob<&O::capture_num_tokens>(
          {.flag = "capture-num-tokens",
           .key = "capture_num_tokens",
           .group = scheduler,
           .kind = counts,
           .range = kAnyCount,
           .owner = tensorrt_llm,
           .partner = "piecewise-cuda-graph",
           .help = "TensorRT-LLM: tokens of captured steps with prompts (default: the batch sizes)",
           .effect = "TensorRT-LLM: tokens of the steps with prompts that are captured; others up "
                     "to the largest are padded to the next. Default: the captured batch sizes, "
                     "so hardly any step with prompts.",
           .examples = {std::vector<std::int64_t>{1024, 2048, 4096, 8192}}}),
      knob<&O::async_scheduling, &Engine::async_scheduling>(
          {.flag = "async-scheduling",
           .key = "async_scheduling",
           .kind = on_off,
           .help = "overlap host work with the GPU",
           .effect = "Whether the next step is scheduled while the current one runs.",
           .examples = {true}}),
      knob<&O::reserve_full_sequence, &Engine::reserve_full_sequence>(
          {.flag = "scheduler-reserve-full-isl",
           .key = "scheduler_reserve_full_isl",
           .group = scheduler,
           .kind = on_off,
           .owner = vllm_scheduler,
           .only_schedules = true,
           .in_measure = InMeasure::between_requests,
           .help = "admit a request only if its whole prompt fits",
           .effect = "Whether a request is admitted only when blocks are free for its whole "
                     "sequence so far (its prompt; after a preemption also what it generated), not "
                     "only for its first chunk.",
           .examples = {true}}),
      knob<&O::long_prefill_token_threshold, &Engine::long_prefill_token_threshold>(
          {.flag = "long-prefill-token-threshold",
           .key = "long_prefill_token_threshold",
           .group = scheduler,
           .kind = count,
           .range = {.min = 0, .max = kAnyCount.max},
           .owner = vllm_scheduler,
           .only_schedules = true,
           .help = "maximum tokens of one prompt per step; 0: off",
           .effect =
               "Maximum tokens of one prompt per step; 0: limited only by the step's token budget.",
           .examples = {std::int64_t{1024}}}),
      knob<&O::watermark, &Engine::watermark>(
          {.flag = "watermark",
           .key = "watermark",
           .group = scheduler,
           .kind = share,
           .range = {.min = 0, .max = 1, .max_open = true},
           .owner = vllm_scheduler,
           .only_schedules = true,
           .in_measure = InMeasure::between_requests,
           .help = "KV blocks kept free at admission",
           .effect = "Share of the KV cache blocks kept free when a request is admitted while "
                     "others run.",
           .examples = {0.01}}),
      knob<&O::scheduling_policy, &Engine::order>(
          {.flag = "scheduling-policy",
           .key = "scheduling_policy",
           .group = scheduler,
           .kind = choice,
           .only_schedules = true,
           .in_measure = InMeasure::between_requests,
           .choice = {.placeholder = "POLICY", .noun = "policy", .names = queue_order_names()},
           .aliases = {"--schedule-policy"},
           .help = "fcfs (default), priority; SGLang: fcfs, lpm, lof",
           .effect = "Order of waiting requests: first come first served, or by priority (smaller "
                     "first); SGLang: fcfs, lpm (most cached tokens first), lof (most output "
                     "first).",
           .examples = {"priority"}}),
      knob<&O::max_prefill_tokens, &Engine::max_prefill_tokens>(
          {.flag = "max-prefill-tokens",
           .key = "max_prefill_tokens",
           .group = scheduler,
           .kind = count,
           .range = kAnyCount,
           .owner = sglang,
           .only_schedules = true,
           .help = "SGLang: input tokens per prefill batch (default 16384)",
           .effect = "SGLang: input tokens per prefill batch.",
           .examples = {std::int64_t{16384}}}),
      knob<&O::schedule_conservativeness, &Engine::schedule_conservativeness>(
          {.flag = "schedule-conservativeness",
           .key = "schedule_conservativeness",
           .group = scheduler,
           .kind = number,
           .range = {.min = 0, .min_open = true},
           .owner = sglang,
           .only_schedules = true,
           .help = "SGLang: factor on KV reserved for output (default 1)",
           .effect = "SGLang: factor on the share of the allowed output that is reserved at "
                     "admission.",
           .examples = {0.3}}),
      knob<&O::swa_full_tokens_ratio, &Engine::swa_full_tokens_ratio>(
          {.flag = "swa-full-tokens-ratio",
           .key = "swa_full_tokens_ratio",
           .group = scheduler,
           .kind = share,
           .range = {.min = 0, .max = 1, .min_open = true},
           .owner = sglang,
           .help = "SGLang: sliding-window KV tokens per full-attention token (0.8)",
           .effect =
               "SGLang: tokens that the KV cache of sliding-window layers holds, as a share of "
               "those of full-attention layers (gpt-oss, Llama 4, Gemma 4, MiMo-V2, Step-3.5).",
           .examples = {0.5}}),
      knob<&O::mamba_full_memory_ratio, &Engine::mamba_full_memory_ratio>(
          {.flag = "mamba-full-memory-ratio",
           .key = "mamba_full_memory_ratio",
           .group = scheduler,
           .kind = number,
           .range = {.min = 0, .min_open = true},
           .owner = sglang,
           .help = "SGLang: recurrent-state memory as a multiple of the KV cache (0.9)",
           .effect = "SGLang: memory for recurrent states, as a multiple of that for the KV cache.",
           .examples = {0.5}}),
      knob<&O::enable_hierarchical_cache>(
          {.flag = "enable-hierarchical-cache",
           .key = "enable_hierarchical_cache",
           .group = scheduler,
           .kind = on_off,
           .owner = sglang,
           .help = "SGLang: keep prefixes in host memory, too",
           .effect = "SGLang: whether cached prefixes are also kept in host memory and loaded from "
                     "it when the GPU has evicted them (HiCache).",
           .examples = {true}}),
      knob<&O::hicache_ratio>(
          {.flag = "hicache-ratio",
           .key = "hicache_ratio",
           .group = scheduler,
           .kind = number,
           .range = {.min = 0, .min_open = true},
           .owner = sglang,
           .help = "SGLang: tokens in host memory per token of the KV cache (2)",
           .effect = "SGLang: tokens that the hierarchical cache holds in host memory, as a "
                     "multiple of the KV cache's. Default: 2.",
           .examples = {4.0}}),
      knob<&O::hicache_size>(
          {.flag = "hicache-size",
           .key = "hicache_size_bytes",
           .group = scheduler,
           .kind = bytes,
           .range = kSomeBytes,
           .owner = sglang,
           .help = "SGLang: host memory of each GPU's hierarchical cache, such as 100GB",
           .effect = "SGLang: host memory of the hierarchical cache on each rank, instead of "
                     "hicache_ratio.",
           .examples = {100e9}}),
      knob<&O::enable_mixed_chunk, &Engine::enable_mixed_chunk>(
          {.flag = "enable-mixed-chunk",
           .key = "enable_mixed_chunk",
           .group = scheduler,
           .kind = on_off,
           .owner = sglang,
           .only_schedules = true,
           .help = "SGLang: mix decodes into prefill batches",
           .effect = "SGLang: whether running decodes join prefill batches.",
           .examples = {true}}),
      knob<&O::scheduler_recv_interval, &Engine::scheduler_recv_interval>(
          {.flag = "scheduler-recv-interval",
           .key = "scheduler_recv_interval",
           .group = scheduler,
           .kind = count,
           .range = {.min = 1, .max = static_cast<double>(kMaxRecvInterval)},
           .owner = sglang,
           .only_schedules = true,
           .help = "SGLang: decode steps between polls for new requests (default 1)",
           .effect =
               "SGLang: decode steps between two polls for new requests; those that arrive "
               "meanwhile wait for the next poll. Every step with prompts is followed by one.",
           .examples = {std::int64_t{10}}}),
      knob<&O::stream_interval, &Engine::stream_interval>(
          {.flag = "stream-interval",
           .key = "stream_interval",
           .group = scheduler,
           .kind = count,
           .range = kAnyCount,
           .only_schedules = true,
           .in_measure = InMeasure::nothing,
           .help = "tokens per streamed chunk (default 1); affects ITL only",
           .effect =
               "Tokens that the server collects before it streams the next chunk, after the "
               "first token. Affects the gaps between chunks (ITL), but neither TTFT nor TPOT.",
           .examples = {std::int64_t{10}}}),
      knob<&O::skip_tokenizer_init>(
          {.flag = "skip-tokenizer-init",
           .key = "skip_tokenizer_init",
           .group = scheduler,
           .kind = on_off,
           .owner = token_ids,
           .only_schedules = true,
           .in_measure = InMeasure::nothing,
           .help = "prompts come as token ids: nothing to tokenise",
           .effect =
               "Whether prompts come as token ids, so that the server does not tokenise them.",
           .examples = {true}}),
      knob<&O::capacity_scheduler_policy, &Engine::capacity_scheduler_policy>(
          {.flag = "capacity-scheduler-policy",
           .key = "capacity_scheduler_policy",
           .group = scheduler,
           .kind = choice,
           .owner = tensorrt_llm,
           .only_schedules = true,
           .choice = {.placeholder = "POLICY", .noun = "policy", .names = capacity_policy_names()},
           .help = "TensorRT-LLM: GUARANTEED_NO_EVICT (default), MAX_UTILIZATION, STATIC_BATCH",
           .effect = "TensorRT-LLM: which requests may be active, given the free KV blocks.",
           .examples = {"MAX_UTILIZATION"}}),
      knob<&O::context_chunking_policy, &Engine::context_chunking_policy>(
          {.flag = "context-chunking-policy",
           .key = "context_chunking_policy",
           .group = scheduler,
           .kind = choice,
           .owner = tensorrt_llm,
           .only_schedules = true,
           .choice = {.placeholder = "POLICY", .noun = "policy", .names = chunking_policy_names()},
           .help = "TensorRT-LLM: FIRST_COME_FIRST_SERVED (default) or EQUAL_PROGRESS",
           .effect = "TensorRT-LLM with chunked prefill: how prompts that exceed a step's budget "
                     "share it.",
           .examples = {"EQUAL_PROGRESS"}}),
      knob<&O::max_attention_window>(
          {.flag = "max-attention-window",
           .key = "max_attention_window",
           .group = scheduler,
           .kind = counts,
           .range = kAnyCount,
           .owner = tensorrt_llm,
           .help = "TensorRT-LLM: tokens that layers keep, in turn: 128,131072",
           .effect =
               "TensorRT-LLM: tokens that layers keep, in turn from the first of each pipeline "
               "stage: the model's windows or chunks, or max_model_len for all; others are "
               "refused. Default: all tokens.",
           .examples = {std::vector<std::int64_t>{128, 131072}}}),
      knob<&O::batch_wait_timeout_iters, &Engine::batch_wait_timeout_iters>(
          {.flag = "batch-wait-timeout-iters",
           .key = "batch_wait_timeout_iters",
           .group = scheduler,
           .kind = count,
           .range = {.min = 0, .max = kAnyCount.max},
           .owner = tensorrt_llm,
           .only_schedules = true,
           .partner = "batch-wait-max-tokens-ratio",
           .help = "TensorRT-LLM: iterations a prompt waits for others to join (default 0)",
           .effect =
               "TensorRT-LLM: iterations for which prompts wait, while others generate, until "
               "batch_wait_max_tokens_ratio of the token budget is filled.",
           .examples = {std::int64_t{40}}}),
      knob<&O::batch_wait_max_tokens_ratio, &Engine::batch_wait_max_tokens_ratio>(
          {.flag = "batch-wait-max-tokens-ratio",
           .key = "batch_wait_max_tokens_ratio",
           .group = scheduler,
           .kind = share,
           .range = kAnyShare,
           .owner = tensorrt_llm,
           .only_schedules = true,
           .partner = "batch-wait-timeout-iters",
           .help = "TensorRT-LLM: share of the token budget that ends the wait",
           .effect = "TensorRT-LLM: share of max_num_tokens that, filled by prompts and "
                     "generations, ends the wait of batch_wait_timeout_iters.",
           .examples = {0.8}}),
      knob<&O::attention_dp_enable_balance, &Engine::attention_dp_enable_balance>(
          {.flag = "attention-dp-enable-balance",
           .key = "attention_dp_enable_balance",
           .group = scheduler,
           .kind = on_off,
           .owner = tensorrt_llm,
           .only_schedules = true,
           .help = "TensorRT-LLM: prompts start when every data-parallel rank has one",
           .effect = "TensorRT-LLM with data-parallel attention: whether prompts wait, while all "
                     "ranks generate, until every rank has one to compute.",
           .examples = {true}}),
      knob<&O::attention_dp_timeout_iters, &Engine::attention_dp_timeout_iters>(
          {.flag = "attention-dp-timeout-iters",
           .key = "attention_dp_timeout_iters",
           .group = scheduler,
           .kind = count,
           .range = {.min = 0, .max = kAnyCount.max},
           .owner = tensorrt_llm,
           .only_schedules = true,
           .partner = "attention-dp-enable-balance",
           .help = "TensorRT-LLM: iterations after which that wait ends (default 50)",
           .effect = "TensorRT-LLM: iterations after which prompts no longer wait for those of "
                     "other data-parallel ranks (attention_dp_enable_balance).",
           .examples = {std::int64_t{60}}}),
      knob<&O::attention_dp_batching_wait_iters, &Engine::attention_dp_batching_wait_iters>(
          {.flag = "attention-dp-batching-wait-iters",
           .key = "attention_dp_batching_wait_iters",
           .group = scheduler,
           .kind = count,
           .range = {.min = 0, .max = kAnyCount.max},
           .owner = tensorrt_llm,
           .only_schedules = true,
           .partner = "attention-dp-enable-balance",
           .help = "TensorRT-LLM: iterations more for further prompts to join (default 10)",
           .effect = "TensorRT-LLM: iterations for which prompts wait for further ones once every "
                     "data-parallel rank has one (attention_dp_enable_balance).",
           .examples = {std::int64_t{0}}}),
      unshown<&O::overhead, &Engine::overhead>(
          {.flag = "overhead",
           .key = "overhead_bytes",
           .kind = bytes,
           .owner = textbook_memory,
           .help = "textbook rule: fixed overhead per GPU",
           .effect = "Fixed overhead on each GPU, for the textbook memory rule.",
           .examples = {3e9}}),
      unshown<&O::weight_bytes, &Engine::weight_bytes>(
          {.flag = "weight-bytes",
           .key = "weight_bytes",
           .kind = bytes,
           .range = kSomeBytes,
           .help = "memory plan only: size of the checkpoint, not computed",
           .effect = "Bytes of the whole checkpoint, instead of the size computed from the model's "
                     "shape.",
           .examples = {140e9}}),
  };
}

// NOLINTNEXTLINE(readability-function-size): rows of a table
std::vector<EngineKnob> feature_knobs() {
  return {
      knob<&O::sampling, &Engine::sampling>(
          {.flag = "sampling",
           .key = "sampling",
           .group = features,
           .kind = choice,
           .choice = {.placeholder = "KIND", .noun = "sampling method", .names = sampling_names()},
           .help = "plain, top_p or penalty (default: from the model's generation_config.json)",
           .effect =
               "How requests are sampled, where it affects time: plain (greedy, or temperature "
               "only), top_p (with or without top-k) or penalty (also with a repetition, presence "
               "or frequency penalty). Default: from the model's generation_config.json.",
           .examples = {"plain"}}),
      unshown<&O::all2all_backend, &Engine::all2all>(
          {.flag = "all2all-backend",
           .key = "all2all_backend",
           .group = scheduler,
           .kind = choice,
           .choice = {.placeholder = "BACKEND",
                      .noun = "backend",
                      .names = all2all_names(),
                      .takes_other_names = true},
           .aliases = {"--moe-a2a-backend"},
           .help = "all-to-all between expert-parallel ranks: "
                   "allgather_reducescatter (vLLM, SGLang), deepep_high_throughput, "
                   "deepep_low_latency, deepep (TensorRT-LLM)",
           .effect = "How tokens reach experts on other data-parallel ranks: gathered by all, sent "
                     "once to each rank (and node) that has one of their experts, or once for each "
                     "expert.",
           .examples = {"deepep_high_throughput"}}),
      unshown<&O::moe_backend, &Engine::moe_backend>(
          {.flag = "moe-backend",
           .key = "moe_backend",
           .group = scheduler,
           .kind = choice,
           .owner = vllm_or_tensorrt_llm,
           .choice = {.placeholder = "NAME", .noun = "backend", .names = moe_backend_names()},
           .help = "kernels of the experts: AUTO (default); TensorRT-LLM: CUTLASS, TRTLLM, "
                   "DEEPGEMM; vLLM, mxfp4 on Hopper: MARLIN, TRITON",
           .effect = "TensorRT-LLM's moe_config.backend and vLLM's --moe-backend: whose kernels "
                     "run the experts, where several were timed. Marlin's pad mxfp4 weights and "
                     "take two to three times as long for prompts on Hopper as Triton's. AUTO: by "
                     "version, model and GPU.",
           .examples = {"CUTLASS", "MARLIN"}}),
      unshown<&O::fp8_gemm_backend, &Engine::fp8_gemm_backend>(
          {.flag = "fp8-gemm-backend",
           .key = "fp8_gemm_backend",
           .group = scheduler,
           .kind = choice,
           .owner = sglang,
           .choice = {.placeholder = "NAME", .noun = "backend", .names = fp8_gemm_backend_names()},
           .help = "kernels of products with block-scaled fp8 weights: auto (default), deep_gemm, "
                   "flashinfer_trtllm",
           .effect = "SGLang's --fp8-gemm-backend (before it SGLANG_ENABLE_FLASHINFER_GEMM) on "
                     "compute capability 10.x: flashinfer_trtllm is made for few tokens, and "
                     "takes up to three times as long for prompts as DeepGEMM.",
           .examples = {"flashinfer_trtllm"}}),
      knob<&O::prefill_schedule_interval, &Engine::prefill_schedule_interval>(
          {.flag = "prefill-schedule-interval",
           .key = "prefill_schedule_interval",
           .group = scheduler,
           .kind = count,
           .range = kAnyCount,
           .owner = vllm_memory,
           .only_schedules = true,
           .help = "vLLM: ranks that decode compute prompts every N-th step only (default 1)",
           .effect = "vLLM, where data-parallel ranks share experts: while a rank decodes, it "
                     "computes prompts in every N-th step only, the same step on all ranks.",
           .examples = {std::int64_t{4}}}),
      knob<&O::enable_dbo>(
          {.flag = "enable-dbo",
           .key = "enable_dbo",
           .group = scheduler,
           .kind = on_off,
           .owner = vllm_or_sglang,
           .aliases = {"--enable-two-batch-overlap"},
           .help = "halves of a batch hide each other's exchange of experts' tokens",
           .effect = "Whether a step is computed in two halves, so that one computes while the "
                     "experts' tokens of the other are exchanged (DBO, two-batch overlap).",
           .examples = {true}}),
      knob<&O::dbo_decode_token_threshold>(
          {.flag = "dbo-decode-token-threshold",
           .key = "dbo_decode_token_threshold",
           .group = scheduler,
           .kind = count,
           .range = kAnyCount,
           .owner = vllm_memory,
           .partner = "enable-dbo",
           .help = "vLLM: tokens of a rank from which a decode step is halved (default 32)",
           .effect = "vLLM: tokens of a rank from which a step of decodes is computed in halves.",
           .examples = {std::int64_t{64}}}),
      knob<&O::dbo_prefill_token_threshold>(
          {.flag = "dbo-prefill-token-threshold",
           .key = "dbo_prefill_token_threshold",
           .group = scheduler,
           .kind = count,
           .range = kAnyCount,
           .owner = vllm_memory,
           .partner = "enable-dbo",
           .help = "vLLM: tokens of a rank from which a step with prompts is halved (512)",
           .effect = "vLLM: tokens of a rank from which a step with prompts is computed in halves.",
           .examples = {std::int64_t{1024}}}),
      unshown<&O::expert_power_law, &Engine::expert_power_law>(
          {.flag = "expert-power-law",
           .key = "expert_power_law",
           .group = scheduler,
           .kind = number,
           .range = {.min = 0, .max = 10},
           .help = "exponent of the power law of expert popularity, 0: even (default: as "
                   "published for the model)",
           .effect = "How unevenly tokens are routed: the exponent of the power law of expert "
                     "popularity. Curves timed with it are used where the profile has them (1.01 "
                     "and 1.2 in aiconfigurator's tables); otherwise the experts that are read "
                     "and the busiest rank's share follow from it. 0: evenly. Default: evenly, "
                     "but for DeepSeek-V3 and R1 as TensorRT-LLM counted their picks, for Qwen3's "
                     "mixtures as llama-imatrix did.",
           .examples = {1.2}}),
      unshown<&O::enable_eplb, &Engine::enable_eplb>(
          {.flag = "enable-eplb",
           .key = "enable_eplb",
           .group = scheduler,
           .kind = on_off,
           .help = "balance experts over ranks by popularity (EPLB)",
           .effect = "Whether experts are placed on ranks, and copied, by popularity, so that the "
                     "busiest rank has less to do (EPLB).",
           .examples = {true}}),
      knob<&O::num_redundant_experts>(
          {.flag = "num-redundant-experts",
           .key = "num_redundant_experts",
           .group = scheduler,
           .kind = count,
           .range = {.min = 0, .max = kMaxRedundantExperts},
           .aliases = {"--ep-num-redundant-experts"},
           .help = "redundant expert copies per layer (default 0)",
           .effect = "Expert copies per layer beyond one of each, spread over the expert-parallel "
                     "ranks: they take memory and relieve the most popular experts.",
           .examples = {std::int64_t{32}}}),
      knob<&O::num_speculative_tokens>({.flag = "num-speculative-tokens",
                                        .key = "num_speculative_tokens",
                                        .group = features,
                                        .kind = count,
                                        .range = {.min = 1, .max = static_cast<double>(kMaxDrafts)},
                                        .owner = prefix_cache,
                                        .help = "draft tokens verified per decode step",
                                        .effect = "Draft tokens verified per decode step.",
                                        .examples = {std::int64_t{3}}}),
      knob<&O::speculative_method>(
          {.flag = "speculative-method",
           .key = "speculative_method",
           .group = features,
           .kind = choice,
           .owner = prefix_cache,
           .partner = "num-speculative-tokens",
           .choice = {.placeholder = "METHOD", .noun = "method", .names = draft_method_names()},
           .help = "ngram (default), eagle, mtp or draft_model",
           .effect = "Method that proposes draft tokens.",
           .examples = {"eagle"}}),
      knob<&O::acceptance_rate>(
          {.flag = "acceptance-rate",
           .key = "acceptance_rate",
           .group = features,
           .kind = share,
           .range = kAnyShare,
           .owner = prefix_cache,
           .partner = "num-speculative-tokens",
           .help = "acceptance probability per draft token, given those before it",
           .effect = "Probability that a draft token is accepted, given that those before it are "
                     "accepted.",
           .examples = {0.7}}),
      knob<&O::acceptance_by_position>(
          {.flag = "acceptance-by-position",
           .key = "acceptance_by_position",
           .group = features,
           .kind = shares,
           .range = kAnyShare,
           .owner = prefix_cache,
           .partner = "num-speculative-tokens",
           .help = "or, by position: share of decodes that accept up to it",
           .effect = "Alternatively, by position: the share of decodes that accept all draft "
                     "tokens up to it (vLLM's per-position acceptance rate).",
           .examples = {std::vector<double>{0.8, 0.6, 0.4}}}),
      knob<&O::acceptance_deviation>(
          {.flag = "acceptance-deviation",
           .key = "acceptance_deviation",
           .group = features,
           .kind = share,
           .range = {.min = 0, .max = 0.5},
           .owner = prefix_cache,
           .partner = "num-speculative-tokens",
           .help = "how far off it may be: one standard deviation (default 0)",
           .effect = "How far off the probability that a draft token is accepted may be: one "
                     "standard deviation, for intervals and the probability that an SLO is met.",
           .examples = {0.1}}),
      knob<&O::draft_pass_time>(
          {.flag = "draft-pass-time",
           .key = "draft_pass_time_s",
           .group = features,
           .kind = time,
           .range = kUpToAnHour,
           .owner = prefix_cache,
           .partner = "num-speculative-tokens",
           .help = "draft model's time per token (default: ngram 0, others by their weights)",
           .effect = "Time of the draft model for one token of the whole batch.",
           .examples = {0.0005}}),
      knob<&O::speculative_eagle_topk>(
          {.flag = "speculative-eagle-topk",
           .key = "speculative_eagle_topk",
           .group = features,
           .kind = count,
           .range = {.min = 1, .max = static_cast<double>(kMaxDrafts)},
           .owner = KnobOwner::sglang,
           .partner = "num-speculative-tokens",
           .help = "branches of the draft tree (default 1: a chain)",
           .effect = "Branches that each pass of the draft adds to a tree; 1: a chain of drafts.",
           .examples = {std::int64_t{4}}}),
      knob<&O::speculative_num_draft_tokens>(
          {.flag = "speculative-num-draft-tokens",
           .key = "speculative_num_draft_tokens",
           .group = features,
           .kind = count,
           .range = {.min = 1, .max = static_cast<double>(kMaxDrafts)},
           .owner = KnobOwner::sglang,
           .partner = "speculative-eagle-topk",
           .help = "tokens per verified draft tree",
           .effect = "Tokens of a tree of drafts that one decode verifies, its first included.",
           .examples = {std::int64_t{8}}}),
      knob<&O::draft_weight_bytes>(
          {.flag = "draft-weight-bytes",
           .key = "draft_weight_bytes",
           .group = features,
           .kind = bytes,
           .range = kSomeBytes,
           .owner = prefix_cache,
           .partner = "num-speculative-tokens",
           .help = "weights of a draft model, all ranks together",
           .effect = "Total bytes of a draft model's weights, over all ranks.",
           .examples = {2.5e9}}),
      knob<&O::draft_kv_bytes>({.flag = "draft-kv-bytes",
                                .key = "draft_kv_bytes",
                                .group = features,
                                .kind = bytes,
                                .range = kSomeBytes,
                                .owner = prefix_cache,
                                .partner = "num-speculative-tokens",
                                .help = "K and V that a draft model keeps of each token, all ranks",
                                .effect = "Bytes of K and V that a draft model keeps per token, "
                                          "over all ranks.",
                                .examples = {32768.0}}),
      knob<&O::max_loras>({.flag = "max-loras",
                           .key = "max_loras",
                           .group = features,
                           .kind = count,
                           .range = {.min = 1, .max = kMaxAdapters},
                           .help = "distinct adapters per step (default 1)",
                           .effect = "vLLM: distinct LoRA adapters per step.",
                           .examples = {std::int64_t{4}}}),
      knob<&O::max_lora_rank>({.flag = "max-lora-rank",
                               .key = "max_lora_rank",
                               .group = features,
                               .kind = count,
                               .range = {.min = 1, .max = kMaxLoraRank},
                               .help = "maximum LoRA rank (default: no memory for adapters)",
                               .effect = "Maximum LoRA rank; memory is reserved for max_loras "
                                         "adapters of it. Default: no adapters.",
                               .examples = {std::int64_t{16}}}),
      knob<&O::lora_step_time>({.flag = "lora-step-time",
                                .key = "lora_step_time_s",
                                .group = features,
                                .kind = time,
                                .range = kUpToAnHour,
                                .help = "added to steps with adapters (default by max-lora-rank)",
                                .effect =
                                    "Time added to a step with adapters. Default: the minimum "
                                    "time of their kernels, if max_lora_rank is given.",
                                .examples = {0.0005}}),
      knob<&O::lora_adapter_time>({.flag = "lora-adapter-time",
                                   .key = "lora_adapter_time_s",
                                   .group = features,
                                   .kind = time,
                                   .range = kUpToAnHour,
                                   .help = "added per distinct adapter (default by max-lora-rank)",
                                   .effect = "Time added to a step per distinct adapter in it.",
                                   .examples = {0.0001}}),
      knob<&O::limit_mm_per_prompt, &Engine::images_per_prompt>(
          {.flag = "limit-mm-per-prompt",
           .key = "limit_mm_per_prompt",
           .group = features,
           .kind = count,
           .range = {.min = 0, .max = 10'000},
           .owner = vllm_memory,
           .help = "vLLM: maximum images of a prompt; 0: the encoder is not loaded",
           .effect = "vLLM: maximum images of a prompt (default: any). At 0 the vision encoder is "
                     "neither loaded nor profiled.",
           .examples = {std::int64_t{0}}}),
      unshown<&O::pooling, &Engine::pooling>(
          {.flag = "pooling",
           .key = "pooling",
           .group = features,
           .kind = on_off,
           .owner = vllm_or_sglang,
           .aliases = {"--is-embedding"},
           .help = "embeddings or scores: prompts only, no LM head, outputs of 1",
           .effect = "Whether prompts end in a vector instead of text (vLLM: --runner pooling; "
                     "SGLang: --is-embedding): no LM head, no sampling, no decodes.",
           .examples = {true}}),
      unshown<&O::host_memory, &Engine::host_memory>(
          {.flag = "host-memory",
           .key = "host_memory_bytes",
           .group = features,
           .kind = bytes,
           .range = kSomeBytes,
           .owner = vllm_or_sglang,
           .help = "free memory of a node, such as 1TB: must hold what is kept of the KV cache",
           .effect = "Free host memory of a node; K and V that are kept there must fit.",
           .examples = {1e12}}),
      knob<&O::kv_offloading_size>(
          {.flag = "kv-offloading-size",
           .key = "kv_offloading_size_bytes",
           .group = features,
           .kind = bytes,
           .range = kSomeBytes,
           .owner = vllm_scheduler,
           .help = "host memory for the KV cache, all ranks together, such as 64GiB",
           .effect = "vLLM: host memory for offloaded KV cache, all ranks together.",
           .examples = {64e9}}),
      knob<&O::kv_offloading_backend>(
          {.flag = "kv-offloading-backend",
           .key = "kv_offloading_backend",
           .group = features,
           .kind = choice,
           .owner = vllm_scheduler,
           .partner = "kv-offloading-size",
           .choice = {.placeholder = "BACKEND",
                      .noun = "backend",
                      .names = offloading_backend_names()},
           .help = "native, which loads while others run (default), or lmcache, within steps",
           .effect = "vLLM: what keeps K and V in host memory: its own connector, which loads "
                     "while other requests run, or LMCache, which loads and stores chunks of 256 "
                     "tokens within steps.",
           .examples = {"lmcache"}}),
      knob<&O::kv_offloading_bandwidth>(
          {.flag = "kv-offloading-bandwidth",
           .key = "kv_offloading_bandwidth_bytes_per_s",
           .group = features,
           .kind = bandwidth,
           .range = {.min = kSlowestLink.value},
           .owner = vllm_scheduler,
           .partner = "kv-offloading-size",
           .help = "bytes per second and GPU (default: its host link)",
           .effect = "Bandwidth of one GPU's host link for offloading; default: the profile's.",
           .examples = {25e9}}),
      knob<&O::kv_offloading_latency>(
          {.flag = "kv-offloading-latency",
           .key = "kv_offloading_latency_s",
           .group = features,
           .kind = time,
           .range = kUpToAnHour,
           .owner = vllm_scheduler,
           .partner = "kv-offloading-size",
           .help = "per loaded request (default: the host link's)",
           .effect = "Latency per loaded request; default: that of the profile's host link.",
           .examples = {0.00001}}),
  };
}

// ---- checks

const char* unit_of(KnobKind kind) {
  if (kind == KnobKind::bytes) return " bytes";
  if (kind == KnobKind::bandwidth) return " bytes/s";
  return kind == KnobKind::time ? " seconds" : "";
}

void check_range(const EngineKnob& knob, const KnobValue& value) {
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) {
    if (list->empty()) throw UsageError(knob_name(knob) + ": an empty list given");
    for (const std::int64_t one : *list) check_range(knob, one);
    return;
  }
  const auto number = number_in(value);
  if (!number || contains(knob.range, *number)) return;
  // A double would round a count of 19 digits.
  const auto* whole = std::get_if<std::int64_t>(&value);
  throw UsageError(fmt::format("{}: {}{} given, expected {}", knob_name(knob),
                               whole ? fmt::format("{}", *whole) : fmt::format("{}", *number),
                               unit_of(knob.kind), range_text(knob)));
}

void check_order(const EngineOverrides& overrides, const EnginePreset& preset) {
  const QueueOrder order = overrides.scheduling_policy.value_or(QueueOrder::fcfs);
  if (std::ranges::find(preset.orders, order) != preset.orders.end()) return;
  std::vector<std::string_view> expected;
  for (const QueueOrder one : preset.orders) expected.push_back(name_of(one));
  throw UsageError(fmt::format("`scheduling_policy`: {} given for {}, expected {}", name_of(order),
                               preset.name, alternatives(expected)));
}

/// A knob of an engine that does not have it, or without the knob that enables its feature, would
/// have no effect.
void check_use(const EngineKnob& knob, const EngineOverrides& overrides,
               const EnginePreset& preset) {
  if (!owns(knob.owner, preset.defaults.scheduler, preset.defaults.memory_rule)) {
    throw UsageError(fmt::format("{}: not supported by {}, expected {}", knob_name(knob),
                                 preset.name, engines_of(knob.owner)));
  }
  const EngineKnob* partner = find_knob_by_flag(knob.partner);
  if (partner != nullptr && !partner->get(overrides)) {
    throw UsageError(fmt::format("{}: requires {}", knob_name(knob), knob_name(*partner)));
  }
}

}  // namespace

std::string range_text(const EngineKnob& knob) {
  const KnobRange& range = knob.range;
  const bool whole = knob.kind == count || knob.kind == length || knob.kind == counts;
  const auto number = [whole](double bound) {
    return whole ? fmt::format("{:.0f}", bound) : fmt::format("{:g}", bound);
  };
  const bool bounded = std::isfinite(range.max);
  if (bounded && !range.min_open && !range.max_open) {
    return fmt::format("{}{} to {}", knob.kind == KnobKind::share ? "a number from " : "",
                       number(range.min), number(range.max));
  }
  std::string text = (range.min_open ? "more than " : "at least ") + number(range.min);
  if (bounded) text += (range.max_open ? " and less than " : " and at most ") + number(range.max);
  return text;
}

bool contains(const KnobRange& range, double value) {
  return std::isfinite(value) && (range.min_open ? value > range.min : value >= range.min) &&
         (range.max_open ? value < range.max : value <= range.max);
}

bool owns(KnobOwner owner, SchedulerKind scheduler, MemoryRule memory) {
  switch (owner) {
    case every:
      return true;
    case prefix_cache:
      return traits_of(scheduler).prefix_cache;
    case token_ids:  // ATOM's servers have no such flag (model_engine/arg_utils.py)
      return scheduler != SchedulerKind::atom;
    case vllm_scheduler:
      return scheduler == SchedulerKind::vllm_v1;
    case vllm_memory:
      return memory == MemoryRule::vllm;
    case KnobOwner::sglang:
      return scheduler == SchedulerKind::sglang;
    case KnobOwner::tensorrt_llm:
      return scheduler == SchedulerKind::tensorrt_llm;
    case sglang_or_tensorrt_llm:
      return scheduler == SchedulerKind::sglang || scheduler == SchedulerKind::tensorrt_llm;
    case vllm_or_sglang:  // the servers
      return memory == MemoryRule::vllm || memory == MemoryRule::sglang;
    case vllm_or_tensorrt_llm:
      return memory == MemoryRule::vllm || scheduler == SchedulerKind::tensorrt_llm;
    case textbook_memory:
      return memory == MemoryRule::textbook;
    case own_scheduler:
      return memory == MemoryRule::textbook && scheduler == SchedulerKind::vllm_v1;
  }
  return false;
}

const char* engines_of(KnobOwner owner) {
  switch (owner) {
    case every:
      return "any engine";
    case prefix_cache:
      return "any engine but static and naive";
    case token_ids:
      return "any engine but atom";
    case vllm_scheduler:
    case vllm_memory:
      return "one of the vLLM engines";
    case KnobOwner::sglang:
      return "engine sglang";
    case KnobOwner::tensorrt_llm:
      return "engine trtllm";
    case sglang_or_tensorrt_llm:
      return "engine sglang or trtllm";
    case vllm_or_sglang:
      return "engine vllm or sglang";
    case vllm_or_tensorrt_llm:
      return "engine vllm or trtllm";
    case textbook_memory:
      return "engine roofcast, textbook, static or naive";
    case own_scheduler:
      return "engine roofcast or textbook";
  }
  return "";
}

std::span<const EngineKnob> engine_knobs() {
  static const std::vector<EngineKnob> table = [] {
    std::vector<EngineKnob> knobs = memory_knobs();
    for (auto& more : {scheduler_knobs(), feature_knobs()}) {
      knobs.insert(knobs.end(), more.begin(), more.end());
    }
    return knobs;
  }();
  return table;
}

const EngineKnob* find_knob_by_flag(std::string_view flag) {
  const auto knobs = engine_knobs();
  const auto found = std::ranges::find(knobs, flag, &EngineKnob::flag);
  return found == knobs.end() ? nullptr : &*found;
}

const EngineKnob* find_knob_by_key(std::string_view key) {
  const auto knobs = engine_knobs();
  const auto found =
      std::ranges::find_if(knobs, [&](const EngineKnob& knob) { return knob.key == key; });
  return found == knobs.end() ? nullptr : &*found;
}

std::string knob_name(const EngineKnob& knob) {
  std::string name = fmt::format("`{}`", knob.flag);
  std::ranges::replace(name, '-', '_');
  return name;
}

std::optional<double> number_in(const KnobValue& value) {
  if (const auto* count = std::get_if<std::int64_t>(&value)) return static_cast<double>(*count);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  return std::nullopt;
}

const EngineKnob* first_given(const EngineOverrides& overrides) {
  const auto knobs = engine_knobs();
  const auto given = std::ranges::find_if(
      knobs, [&](const EngineKnob& knob) { return knob.get(overrides).has_value(); });
  return given == knobs.end() ? nullptr : &*given;
}

void take_overrides(EngineOverrides& knobs, const EngineOverrides& given) {
  for (const EngineKnob& knob : engine_knobs()) {
    if (const auto value = knob.get(given)) knob.set(knobs, *value);
  }
}

void check_overrides(const EngineOverrides& overrides, const EnginePreset& preset) {
  for (const EngineKnob& knob : engine_knobs()) {
    if (const auto value = knob.get(overrides)) check_range(knob, *value);
  }
  for (const EngineKnob& knob : engine_knobs()) {
    if (knob.get(overrides)) check_use(knob, overrides, preset);
  }
  check_order(overrides, preset);
}

}  // namespace roofcast
