#include "model/engines/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/quantity.hpp"
#include "base/text.hpp"
#include "model/architecture/experts.hpp"
#include "model/engines/engine_checks.hpp"
#include "model/engines/engine_presets.hpp"

namespace roofcast {
namespace {

/// vLLM captures decode graphs for at most this many sequences (EngineArgs, compilation config).
constexpr std::int64_t kLargestVllmGraph = 512;

/// Default batch knobs differ between large and other GPUs (vLLM EngineArgs get_batch_defaults, API
/// server): large means at least 70 GiB and not an A100, on which a large budget was slower
/// (vllm-project/vllm pull 17885).
struct BatchDefaults {
  std::int64_t max_num_seqs = 0;
  std::int64_t max_num_batched_tokens = 0;
};

bool is_a100(const Gpu& gpu) {
  return lower(gpu.name + " " + gpu.display_name).find("a100") != std::string::npos;
}

BatchDefaults vllm_batch_defaults(const Gpu& gpu) {
  const bool large = gpu.memory_visible >= Bytes{70.0 * kGiB} && !is_a100(gpu);
  return large ? BatchDefaults{1024, 8192} : BatchDefaults{256, 2048};
}

/// SGLang's defaults by GPU memory (server_args; MiB as the driver reports them).
struct SglangTier {
  double below_mib = 0;
  std::int64_t chunked_prefill = 0;
  std::int64_t largest_graph = 0;      // TP < 4
  std::int64_t largest_graph_tp4 = 0;  // TP >= 4
};

constexpr SglangTier kSglangTiers[] = {
    {20.0 * 1024, 2048, 8, 8},      {35.0 * 1024, 2048, 24, 80}, {60.0 * 1024, 4096, 32, 160},
    {160.0 * 1024, 8192, 256, 512}, {HUGE_VAL, 16384, 512, 512},
};

const SglangTier& sglang_tier(const Gpu& gpu) {
  const double mib = gpu.memory_visible.value / kMiB;
  return *std::find_if(std::begin(kSglangTiers), std::end(kSglangTiers),
                       [&](const SglangTier& tier) { return mib < tier.below_mib; });
}

/// DP ranks within one SGLang server (--enable-dp-attention), which its tp_size then includes; 1
/// where the ranks are separate servers, as for models without experts to share.
int sglang_attention_ranks(const Transformer& model, const Parallelism& parallel) {
  return has_experts(model) ? parallel.data : 1;
}

/// SGLang's default mem_fraction_static: (memory - reserved) / memory, to three digits, where
/// reserved MiB = 512 + 1.5 * max(chunked prefill, 2048) + 2 * largest graph + 1024 * tp * pp / 8,
/// and at least 10 GiB on GPUs of more than 60 GiB. Data-parallel attention counts the chunks of
/// all its ranks and adds 3 * largest graph * dp, 1.5 times that for graphs above 300.
double sglang_fraction(const Gpu& gpu, const Engine& engine, std::int64_t largest_graph,
                       const Parallelism& parallel, int ranks) {
  const double mib = gpu.memory_visible.value / kMiB;
  const double graph = static_cast<double>(largest_graph);
  double reserved = 512.0 +
                    1.5 * static_cast<double>(
                              std::max<std::int64_t>(engine.max_num_batched_tokens * ranks, 2048)) +
                    2.0 * graph + 1024.0 * parallel.tensor * ranks * parallel.pipeline / 8.0;
  if (ranks > 1) reserved += (largest_graph > 300 ? 4.5 : 3.0) * graph * ranks;
  if (mib > 60.0 * 1024) reserved = std::max(reserved, 10.0 * 1024);
  return std::round((mib - reserved) / mib * 1000.0) / 1000.0;
}

/// The longest sequence served. Engines refuse more than the config states, because positions
/// beyond it produce nonsense; the textbook rule only counts bytes and accepts any length.
std::int64_t resolve_max_model_len(const PresetDefaults& preset, const EngineOverrides& overrides,
                                   const Transformer& model) {
  const std::int64_t limit = model.max_context;
  if (!overrides.max_model_len) {
    if (limit > 0) return limit;
    throw Error(
        fmt::format("{}: the model states no longest context; give max_model_len (--max-model-len)",
                    model.name));
  }
  const std::int64_t length = *overrides.max_model_len;
  if (limit > 0 && length > limit && preset.memory_rule != MemoryRule::textbook) {
    throw UsageError(fmt::format("max_model_len: {} given, but {} states at most {} tokens", length,
                                 model.name, limit));
  }
  return length;
}

DType resolve_cache_dtype(const EngineOverrides& overrides, const Transformer& model) {
  if (overrides.kv_cache_dtype) return *overrides.kv_cache_dtype;
  if (model.kv_cache_dtype) return *model.kv_cache_dtype;
  return model.activation;
}

/// vLLM: budgets by GPU size. Defaults are adjusted to fit what the user set; two user settings
/// that contradict each other are refused, as the engine does.
void resolve_vllm_batch(Engine& engine, const EngineOverrides& overrides, const Gpu& gpu) {
  const BatchDefaults defaults = vllm_batch_defaults(gpu);
  engine.max_num_seqs = overrides.max_num_seqs.value_or(defaults.max_num_seqs);
  engine.max_num_batched_tokens =
      overrides.max_num_batched_tokens.value_or(defaults.max_num_batched_tokens);
  if (!overrides.max_num_batched_tokens) {
    if (!engine.chunked_prefill) {
      engine.max_num_batched_tokens = std::max(engine.max_num_batched_tokens, engine.max_model_len);
    }
    engine.max_num_batched_tokens =
        std::min(engine.max_num_batched_tokens, engine.max_num_seqs * engine.max_model_len);
  }
  if (!overrides.max_num_seqs) {
    engine.max_num_seqs = std::min(engine.max_num_seqs, engine.max_num_batched_tokens);
  }
  if (engine.max_num_batched_tokens < engine.max_num_seqs) {
    throw UsageError(fmt::format(
        "max_num_batched_tokens: {} {}, expected at least max_num_seqs ({}), so that every "
        "running sequence gets a token in a step",
        engine.max_num_batched_tokens, overrides.max_num_batched_tokens ? "given" : "by default",
        engine.max_num_seqs));
  }
  if (!engine.chunked_prefill && engine.max_num_batched_tokens < engine.max_model_len) {
    throw UsageError(fmt::format(
        "max_num_batched_tokens: {} given, expected at least max_model_len ({}) when chunked "
        "prefill is off",
        engine.max_num_batched_tokens, engine.max_model_len));
  }
}

/// SGLang: the step's token budget is chunked_prefill_size. SGLang derives max_running_requests
/// from the KV pool at start-up, between 2048 and 4096; we take the lower end. `ranks` of
/// data-parallel attention divide the default chunk among them and admit requests more freely;
/// values set by the user are per rank already.
void resolve_sglang_batch(Engine& engine, const EngineOverrides& overrides, const Gpu& gpu,
                          int ranks) {
  engine.max_num_seqs = overrides.max_num_seqs.value_or(2048);
  engine.max_num_batched_tokens =
      overrides.max_num_batched_tokens.value_or(sglang_tier(gpu).chunked_prefill / ranks);
  if (engine.chunked_prefill && engine.max_num_batched_tokens % engine.block_size != 0) {
    throw UsageError(fmt::format(
        "max_num_batched_tokens: {}, expected a multiple of block_size ({}): SGLang cuts prompts "
        "at chunked_prefill_size, by whole pages",
        engine.max_num_batched_tokens, engine.block_size));
  }
  // Defaults from sglang/srt/server_args.py.
  engine.max_prefill_tokens = overrides.max_prefill_tokens.value_or(16384);
  engine.schedule_conservativeness =
      overrides.schedule_conservativeness.value_or(ranks > 1 ? 0.3 : 1.0);
  engine.mixed_chunk = overrides.enable_mixed_chunk.value_or(false);
}

/// TensorRT-LLM: max_num_tokens 8192, max_batch_size 2048 (defaults of trtllm-serve).
void resolve_tensorrt_batch(Engine& engine, const EngineOverrides& overrides) {
  engine.max_num_seqs = overrides.max_num_seqs.value_or(2048);
  engine.max_num_batched_tokens = overrides.max_num_batched_tokens.value_or(8192);
  if (engine.chunked_prefill && engine.max_num_batched_tokens < engine.block_size) {
    throw UsageError(fmt::format(
        "max_num_batched_tokens: {} given, expected at least tokens_per_block ({}), in whose "
        "multiples prompts are cut",
        engine.max_num_batched_tokens, engine.block_size));
  }
}

/// Static batches: a common batch size, and room for all its prompts in one step (assumptions;
/// users of such a loop set both).
void resolve_static_batch(Engine& engine, const EngineOverrides& overrides) {
  engine.max_num_seqs = overrides.max_num_seqs.value_or(32);
  engine.max_num_batched_tokens =
      overrides.max_num_batched_tokens.value_or(engine.max_num_seqs * engine.max_model_len);
}

/// The naive loop computes one whole sequence per step.
void resolve_naive(Engine& engine, const EngineOverrides& overrides) {
  if (overrides.max_num_seqs.value_or(1) != 1) {
    throw UsageError(
        fmt::format("max_num_seqs: {} given, expected 1: {} runs one request at a time",
                    *overrides.max_num_seqs, engine.name));
  }
  engine.max_num_seqs = 1;
  engine.max_num_batched_tokens = overrides.max_num_batched_tokens.value_or(engine.max_model_len);
}

/// `tensor_ranks`: as SGLang counts them, including the ranks of data-parallel attention.
std::int64_t largest_graph(const Engine& engine, const Gpu& gpu, int tensor_ranks) {
  if (engine.scheduler == SchedulerKind::sglang) {
    const SglangTier& tier = sglang_tier(gpu);
    return tensor_ranks < 4 ? tier.largest_graph : tier.largest_graph_tp4;
  }
  return std::min({2 * engine.max_num_seqs, kLargestVllmGraph, engine.max_num_batched_tokens});
}

/// Features simulated only for vLLM. Speculation schedules synchronously, because the accepted
/// drafts decide what the next step computes (asynchronous scheduling with drafts came to vLLM in
/// 2026 and is not simulated).
void resolve_features(Engine& engine, const EngineOverrides& overrides, const Transformer& model,
                      const Gpu& gpu, const Parallelism& parallel) {
  engine.speculation = resolve_speculation(overrides, model, gpu, parallel);
  engine.lora = resolve_lora(overrides);
  engine.kv_offloading = resolve_kv_offloading(overrides, gpu, parallel);
  if (engine.kv_offloading.on() && !engine.prefix_caching) {
    throw UsageError(
        "kv_offloading_size: given without prefix caching, by which K and V are found");
  }
  if (!engine.speculation.on()) return;
  if (overrides.async_scheduling.value_or(false)) {
    throw UsageError("async_scheduling: on, expected off with num_speculative_tokens");
  }
  engine.async_scheduling = false;
}

/// Host time of this project's own engine: only what was measured for it. The kernels of a step are
/// recorded and launched together.
HostOverhead own_host(const Gpu& gpu) {
  HostOverhead host{.step_base = Seconds{},
                    .per_sequence = Seconds{},
                    .output_base = Seconds{},
                    .output_per_sequence = Seconds{},
                    .graph_launch = Seconds{},
                    .kernel_launch = Seconds{},
                    .rank_skew = Seconds{},
                    .per_request = Seconds{},
                    .source = "none: the profile was not measured"};
  if (!gpu.measured) return host;
  host.step_base = gpu.measured->engine_step;
  host.graph_launch = gpu.measured->graph_launch;
  host.source = "measured on " + gpu.measured->device;
  return host;
}

HostOverhead host_of(const PresetDefaults& preset, const Gpu& gpu, const Parallelism& parallel) {
  if (preset.own_engine) return own_host(gpu);
  HostOverhead host = preset.host;
  if (parallel.tensor * parallel.pipeline == 1) return host;
  host.step_base = host.step_base + preset.ranks_step;
  host.per_sequence = host.per_sequence + preset.ranks_per_sequence;
  return host;
}

}  // namespace

const std::vector<EnginePreset>& engine_presets() {
  static const std::vector<EnginePreset> presets = [] {
    std::vector<EnginePreset> list;
    for (const PresetDefaults& preset : preset_table()) list.push_back(preset.preset);
    return list;
  }();
  return presets;
}

Engine resolve_engine(std::string_view era_name, const EngineOverrides& overrides,
                      const Transformer& model, const Gpu& gpu, const Parallelism& parallel) {
  const PresetDefaults& preset = find_preset(era_name);
  check_overrides(overrides, preset);
  Engine engine{
      .name = preset.preset.name, .memory_rule = preset.memory_rule, .scheduler = preset.scheduler};
  engine.max_model_len = resolve_max_model_len(preset, overrides, model);
  engine.chunked_prefill = overrides.enable_chunked_prefill.value_or(preset.chunked_prefill);
  engine.block_size = overrides.block_size.value_or(preset.block_size);
  const int attention_ranks = sglang_attention_ranks(model, parallel);
  switch (preset.scheduler) {
    case SchedulerKind::vllm_v1:
      resolve_vllm_batch(engine, overrides, gpu);
      break;
    case SchedulerKind::sglang:
      resolve_sglang_batch(engine, overrides, gpu, attention_ranks);
      break;
    case SchedulerKind::tensorrt_llm:
      resolve_tensorrt_batch(engine, overrides);
      break;
    case SchedulerKind::static_batch:
      resolve_static_batch(engine, overrides);
      break;
    case SchedulerKind::naive:
      resolve_naive(engine, overrides);
      break;
  }
  const std::int64_t graph = largest_graph(engine, gpu, parallel.tensor * attention_ranks);
  engine.gpu_memory_utilization = overrides.gpu_memory_utilization.value_or(
      preset.memory_rule == MemoryRule::sglang
          ? sglang_fraction(gpu, engine, graph, parallel, attention_ranks)
          : preset.utilization);
  engine.num_gpu_blocks_override = overrides.num_gpu_blocks_override;
  engine.kv_cache_memory = overrides.kv_cache_memory;
  engine.weight_bytes = overrides.weight_bytes;
  engine.kv_cache_dtype = resolve_cache_dtype(overrides, model);
  engine.prefix_caching = overrides.enable_prefix_caching.value_or(preset.prefix_caching);
  engine.cuda_graphs = !overrides.enforce_eager.value_or(false) && !is_cpu(gpu);
  engine.async_scheduling = overrides.async_scheduling.value_or(preset.async_scheduling);
  engine.reserve_full_sequence =
      overrides.reserve_full_sequence.value_or(preset.reserve_full_sequence);
  engine.chunked_layers = preset.chunked_layers;
  engine.long_prefill_token_threshold = overrides.long_prefill_token_threshold.value_or(0);
  engine.watermark = overrides.watermark.value_or(0.0);
  resolve_features(engine, overrides, model, gpu, parallel);
  const bool vllm = preset.memory_rule == MemoryRule::vllm;  // others' sampling is unknown
  engine.sampling = overrides.sampling.value_or(vllm ? model.sampling : SamplingKind::plain);
  engine.sorts_logits = preset.sorts_logits;
  engine.order = overrides.scheduling_policy.value_or(QueueOrder::fcfs);
  // Defaults of SchedulerConfig in tensorrt_llm/llmapi/llm_args.py, and what the PyTorch backend
  // uses when no chunking policy is given (pyexecutor/py_executor_creator.py).
  engine.capacity_policy =
      overrides.capacity_scheduler_policy.value_or(CapacityPolicy::guaranteed_no_evict);
  engine.chunking_policy =
      overrides.context_chunking_policy.value_or(ChunkingPolicy::first_come_first_served);
  engine.overhead = overrides.overhead.value_or(preset.overhead);
  if (engine.cuda_graphs && !preset.own_engine)
    engine.graph_batch_sizes = capture_sizes(preset, graph);
  engine.exact_graphs = preset.exact_graphs;
  engine.eager_prefill = preset.eager_prefill;
  engine.kernel_library = preset.kernel_library;
  engine.one_shot = preset.one_shot;
  engine.memory = preset.memory;
  engine.host = host_of(preset, gpu, parallel);
  return engine;
}

std::int64_t padded_batch(const Engine& engine, std::int64_t sequences) {
  const std::vector<std::int64_t>& sizes = engine.graph_batch_sizes;
  const auto next = std::lower_bound(sizes.begin(), sizes.end(), sequences);
  return next == sizes.end() ? sequences : *next;
}

}  // namespace roofcast
