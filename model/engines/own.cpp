// Engines that are not third-party servers: the small real engine of `roofcast measure`, and loops
// for comparison. The static and naive loops capture decode graphs like synchronous vLLM, so that a
// comparison with it isolates the scheduling.
#include <fmt/format.h>

#include "base/error.hpp"
#include "base/quantity.hpp"
#include "model/engines/engine_description.hpp"

namespace roofcast {
namespace {

/// The widely read example takes 3 GB for two GPUs. An assumption.
constexpr Bytes kTextbookOverhead{1.5e9};

/// Memory that our engine takes besides weights and KV cache: the CUDA context, as for SGLang, and
/// the same again for its buffers (an assumption).
constexpr Bytes kOwnOverhead{1.02 * kGiB};

/// There are no logs to check the textbook rule against, so the size of what it omits (activations,
/// graphs, fragmentation: several GiB per GPU) is an assumption.
MemoryConstants memory_of_textbook() {
  return {.relative_residual = 0.2,
          .residual_source = "terms that the textbook rule leaves out (assumption)"};
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
                    .eager_launch = Seconds{},
                    .prompt_launch = Seconds{},
                    .rank_skew = Seconds{},
                    .per_request = Seconds{},
                    .per_prompt_token = Seconds{},
                    .source = "none: the profile was not measured"};
  if (!gpu.measured) return host;
  host.step_base = gpu.measured->engine_step;
  host.graph_launch = gpu.measured->graph_launch;
  host.source = "measured on " + gpu.measured->device;
  return host;
}

/// A contiguous range is one sequence's alone: its prefix cannot be shared, and there are no blocks
/// to offload. It is reserved to the token.
void resolve_reservation(Engine& engine, const EngineSetting& setting) {
  if (engine.kv_reservation == KvReservation::paged) return;
  const auto refuse = [&](const char* other, const char* why) {
    throw UsageError(fmt::format("`kv_reservation`: {} given with {}, which {}",
                                 name_of(engine.kv_reservation), other, why));
  };
  if (setting.given.enable_prefix_caching.value_or(false)) {
    refuse("`enable_prefix_caching`", "shares blocks");
  }
  if (setting.given.kv_offloading_size) refuse("`kv_offloading_size`", "moves blocks");
  engine.prefix_caching = false;
  if (!setting.given.block_size) engine.block_size = 1;
}

void resolve_own(Engine& engine, const EngineSetting& setting) {
  resolve_reservation(engine, setting);
  resolve_vllm_batch(engine, setting);
  engine.host = own_host(setting.gpu);
}

void resolve_textbook(Engine& engine, const EngineSetting& setting) {
  resolve_reservation(engine, setting);
  resolve_vllm_batch(engine, setting);
  resolve_vllm_graphs(engine, setting, 16);
}

/// Room for all prompts of a batch in one step.
void resolve_static(Engine& engine, const EngineSetting& setting) {
  if (!setting.given.max_num_batched_tokens) {
    engine.max_num_batched_tokens = engine.max_num_seqs * engine.max_model_len;
  }
  resolve_vllm_graphs(engine, setting, 8);
}

/// Computes one whole sequence per step.
void resolve_naive(Engine& engine, const EngineSetting& setting) {
  if (engine.max_num_seqs != 1) {
    throw UsageError(
        fmt::format("`max_num_seqs`: {} given, expected 1: {} runs one request at a time",
                    engine.max_num_seqs, engine.name));
  }
  if (!setting.given.max_num_batched_tokens) engine.max_num_batched_tokens = engine.max_model_len;
  resolve_vllm_graphs(engine, setting, 8);
}

EnginePreset own_preset() {
  return {.name = "roofcast",
          .summary = "the small engine of roofcast measure: vLLM's scheduler, exact batches",
          .refuses_longer_than_model = false,
          .host_was_measured = true,
          .defaults = {.memory_rule = MemoryRule::textbook,
                       .prefix_caching = false,
                       .async_scheduling = false,
                       .overhead = kOwnOverhead,
                       .memory = memory_of_textbook()},
          .on_large_gpu = kVllmLargeBatch,
          .resolve = resolve_own};
}

EnginePreset textbook_preset() {
  return {.name = "textbook",
          .summary = "no engine: memory - weights - a fixed overhead, the rest is KV cache",
          .refuses_longer_than_model = false,
          .defaults = {.memory_rule = MemoryRule::textbook,
                       .gpu_memory_utilization = 1.0,
                       .block_size = 1,
                       .overhead = kTextbookOverhead,
                       .memory = memory_of_textbook(),
                       .host = host_of_vllm()},
          .on_large_gpu = kVllmLargeBatch,
          .resolve = resolve_textbook};
}

/// A loop without chunked prefill and prefix cache, of `sequences` at once.
EnginePreset loop_preset(SchedulerKind scheduler, std::int64_t sequences) {
  EnginePreset preset = textbook_preset();
  preset.on_large_gpu.reset();
  preset.defaults.scheduler = scheduler;
  preset.defaults.max_num_seqs = sequences;
  preset.defaults.chunked_prefill = false;
  preset.defaults.prefix_caching = false;
  preset.defaults.async_scheduling = false;
  return preset;
}

/// Batches of a common size (an assumption; users of such a loop set it).
EnginePreset static_preset() {
  EnginePreset preset = loop_preset(SchedulerKind::static_batch, 32);
  preset.name = "static";
  preset.summary =
      "static batching: a batch starts together; the next starts when all of it has finished";
  preset.resolve = resolve_static;
  return preset;
}

EnginePreset naive_preset() {
  EnginePreset preset = loop_preset(SchedulerKind::naive, 1);
  preset.name = "naive";
  preset.summary = "no KV cache: one request at a time, recomputed as a whole for every token";
  preset.resolve = resolve_naive;
  return preset;
}

const EnginePreset* find_own_preset(const EngineDescription& own, const EngineName& name) {
  return name.version.empty() ? preset_named(own, name.engine) : nullptr;
}

}  // namespace

const EngineDescription& own_description() {
  static const EngineDescription own{
      .names = {"roofcast", "textbook", "static", "naive"},
      .presets = {own_preset(), textbook_preset(), static_preset(), naive_preset()},
      .find = find_own_preset};
  return own;
}

}  // namespace roofcast
