#include "model/engines/engine_features.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "model/architecture/adapters.hpp"
#include "model/architecture/weights.hpp"
#include "model/cache/kv_cache.hpp"
#include "model/engines/engine.hpp"
#include "model/engines/host_terms.hpp"

namespace roofcast {
namespace {

bool is_share(double value) { return value >= 0 && value <= 1; }

/// Each draft is accepted with the same probability, given that those before it were: rate to the
/// power of the position (Leviathan et al. 2023, section 3.1).
std::vector<double> acceptance_of_rate(double rate, std::int64_t drafts) {
  std::vector<double> acceptance;
  double all_so_far = 1;
  for (std::int64_t i = 0; i < drafts; ++i) acceptance.push_back(all_so_far *= rate);
  return acceptance;
}

std::vector<double> resolve_acceptance(const EngineOverrides& overrides, std::int64_t drafts) {
  if (overrides.acceptance_rate && overrides.acceptance_by_position) {
    throw UsageError("`acceptance_rate`: excludes `acceptance_by_position`; give one of them");
  }
  if (overrides.acceptance_rate) {
    return acceptance_of_rate(*overrides.acceptance_rate, drafts);
  }
  if (!overrides.acceptance_by_position) {
    throw UsageError(
        "`num_speculative_tokens`: requires `acceptance_rate` or `acceptance_by_position`, which "
        "depend "
        "on the text and have no default");
  }
  const std::vector<double>& acceptance = *overrides.acceptance_by_position;
  const bool falls = std::is_sorted(acceptance.rbegin(), acceptance.rend());
  if (std::ssize(acceptance) != drafts || !falls ||
      !std::all_of(acceptance.begin(), acceptance.end(), is_share)) {
    throw UsageError(
        fmt::format("`acceptance_by_position`: expected {} non-increasing shares from 0 to 1 (one "
                    "per `num_speculative_tokens`)",
                    drafts));
  }
  return acceptance;
}

/// SGLang verifies num_draft_tokens of a tree of depth num_steps (num_speculative_tokens here) and
/// width topk; with topk 1 it is a chain (0.5.15, arg_groups/speculative_hook.py).
void resolve_tree(Speculation& speculation, const EngineOverrides& overrides) {
  speculation.topk = overrides.speculative_eagle_topk.value_or(1);
  if (speculation.topk == 1) return;
  if (!overrides.speculative_num_draft_tokens) {
    throw UsageError(
        "`speculative_eagle_topk`: a tree requires `speculative_num_draft_tokens`, the tokens of "
        "it "
        "that are verified");
  }
  speculation.tree_tokens = *overrides.speculative_num_draft_tokens;
  if (speculation.tree_tokens <= speculation.draft_tokens) {
    throw UsageError(fmt::format(
        "`speculative_num_draft_tokens`: {} given, expected more than the {} of the longest path",
        speculation.tree_tokens, speculation.draft_tokens));
  }
}

Speculation resolve_speculation(const EngineOverrides& overrides, const Gpu& gpu,
                                const Parallelism& parallel) {
  const std::int64_t drafts = overrides.num_speculative_tokens.value_or(0);
  if (drafts == 0) return {};
  Speculation speculation{.method = overrides.speculative_method.value_or(DraftMethod::ngram),
                          .draft_tokens = drafts,
                          .acceptance = resolve_acceptance(overrides, drafts),
                          .acceptance_deviation = overrides.acceptance_deviation.value_or(0),
                          .draft_weights = overrides.draft_weight_bytes.value_or(Bytes{}),
                          .draft_kv = overrides.draft_kv_bytes.value_or(Bytes{})};
  resolve_tree(speculation, overrides);
  if (overrides.draft_pass_time) {
    speculation.draft_pass = *overrides.draft_pass_time;
  } else if (speculation.reads_hidden_states()) {
    speculation.timed_head = true;
  } else if (speculation.method == DraftMethod::draft_model) {
    if (!overrides.draft_weight_bytes) {
      throw UsageError(
          "`draft_pass_time`: missing, expected the draft model's seconds per token (see roofcast "
          "estimate), or draft_weight_bytes, which each of its passes reads");
    }
    speculation.draft_pass =
        *overrides.draft_weight_bytes / static_cast<double>(parallel.tensor) / gpu.memory_bandwidth;
  }
  return speculation;
}

/// Adapters run as two kernels beside each matrix, which shrink its input to the rank and expand
/// that to its output, of all adapters of the step at once, and one that clears what lies between
/// (vLLM 0.26, lora/punica_wrapper/punica_gpu.py, add_lora_linear; lora/ops/triton_ops; after
/// Punica, arXiv 2310.18547). Each takes a kernel's least time, and each adapter is read once.
/// Neglects the arithmetic and their overlap with the matrices' own kernels
/// (VLLM_LORA_ENABLE_DUAL_STREAM).
LoraServing resolve_adapters(const EngineOverrides& given, const Transformer& model, const Gpu& gpu,
                             const Parallelism& parallel) {
  LoraServing lora{.max_loras = given.max_loras.value_or(1),
                   .max_rank = given.max_lora_rank.value_or(0)};
  if (lora.max_rank > 0) {
    const auto layers = static_cast<std::int64_t>(model.layers.size());
    const AdapterShape shape = adapter_shape(model, parallel, {0, layers});
    const double bytes = bits_of(model.activation) / 8.0 * static_cast<double>(lora.max_rank);
    lora.step =
        static_cast<double>(shape.matrices) * (2.0 * gpu.floors.gemm + gpu.floors.memory_bound);
    lora.adapter = Bytes{shape.elements_used * bytes} / gpu.memory_bandwidth;
  }
  lora.step = given.lora_step_time.value_or(lora.step);
  lora.adapter = given.lora_adapter_time.value_or(lora.adapter);
  return lora;
}

KvOffloading resolve_kv_offloading(const EngineOverrides& overrides, const Gpu& gpu,
                                   const Parallelism& parallel) {
  if (!overrides.kv_offloading_size) return {};
  // vLLM's --kv-offloading-size is the total of all ranks (its help text).
  const double ranks = static_cast<double>(parallel.tensor) * parallel.pipeline;
  const Link host = gpu.host.value_or(Link{});
  KvOffloading offloading{
      .size = *overrides.kv_offloading_size / ranks,
      .bandwidth = overrides.kv_offloading_bandwidth.value_or(host.bandwidth),
      .latency = overrides.kv_offloading_latency.value_or(host.latency),
      .backend = overrides.kv_offloading_backend.value_or(OffloadingBackend::native)};
  if (!(offloading.bandwidth >= kSlowestLink && std::isfinite(offloading.bandwidth.value))) {
    throw UsageError(fmt::format(
        "`kv_offloading_bandwidth`: {} bytes/s, expected at least {:g} ({} {} host_link)",
        offloading.bandwidth.value, kSlowestLink.value, gpu.name, gpu.host ? "has a" : "has no"));
  }
  return offloading;
}

/// SGLang's host pool holds `hicache_ratio` times the tokens of the GPU's, unless its size is given
/// (0.5.15, mem_cache/memory_pool_host.py).
HierarchicalCache resolve_hierarchical_cache(const Engine& engine, const EngineOverrides& given,
                                             const Transformer& model, const Gpu& gpu,
                                             const Parallelism& parallel) {
  constexpr double kDefaultRatio = 2.0;  // server_args.py, hicache_ratio
  if (!given.enable_hierarchical_cache.value_or(false)) {
    if (given.hicache_ratio || given.hicache_size) {
      throw UsageError(
          "`hicache_ratio` and `hicache_size`: have no effect without `enable_hierarchical_cache`");
    }
    return {};
  }
  if (given.hicache_ratio && given.hicache_size) {
    throw UsageError("`hicache_ratio`: excludes `hicache_size`; give one of them");
  }
  if (!engine.prefix_caching) {
    throw UsageError("`enable_hierarchical_cache`: requires prefix caching");
  }
  if (engine.window_share.value_or(1.0) < 1.0 || state_bytes_per_sequence(model).value > 0 ||
      parallel.pipeline > 1) {
    throw UsageError(
        "`enable_hierarchical_cache`: not modelled with pools for windows or states, or with "
        "pipeline stages");
  }
  if (!gpu.host) {
    throw UsageError(fmt::format("`enable_hierarchical_cache`: {} has no host_link", gpu.name));
  }
  return {.ratio = given.hicache_ratio.value_or(kDefaultRatio),
          .size = given.hicache_size.value_or(Bytes{}),
          .bandwidth = gpu.host->bandwidth,
          .latency = gpu.host->latency};
}

}  // namespace

bool has_two_expert_kernels(const Transformer& model, const Gpu& gpu) {
  return gpu.compute_capability.starts_with("9.") &&
         std::ranges::any_of(model.layers, [](const Layer& layer) {
           return layer.ffn_format.name == "mxfp4" && bits_of(layer.ffn_format.compute) == 16;
         });
}

BatchOverlap batch_overlap(const Engine& engine, const Gpu& gpu, std::int64_t decode_tokens,
                           std::int64_t prefill_tokens) {
  if (engine.all2all == All2All::allgather_reducescatter) {
    throw UsageError(
        "`enable_dbo`: needs kernels that exchange experts' tokens in the background; expected "
        "`all2all_backend` deepep_high_throughput or deepep_low_latency");
  }
  BatchOverlap overlap{
      .enabled = true, .decode_tokens = decode_tokens, .prefill_tokens = prefill_tokens};
  constexpr int kExchanging = 20;  // DeepEP, Buffer.num_sms; vLLM's VLLM_DBO_COMM_SMS
  if (engine.all2all != All2All::deepep_low_latency && gpu.multiprocessors > kExchanging) {
    overlap.compute_share = 1.0 - static_cast<double>(kExchanging) / gpu.multiprocessors;
  }
  return overlap;
}

std::vector<double> deviating_acceptance(const Speculation& speculation, double deviations) {
  const double off = deviations * speculation.acceptance_deviation;
  std::vector<double> result;
  double before = 1;
  double before_off = 1;
  for (const double all_so_far : speculation.acceptance) {
    const double given = before > 0 ? all_so_far / before : 0;
    before = all_so_far;
    before_off *= std::clamp(given + off, 0.0, 1.0);
    result.push_back(before_off);
  }
  return result;
}

bool has_low_latency_products(const Gpu& gpu) { return gpu.compute_capability.starts_with("10."); }

Layer draft_layer(const Transformer& model, DraftMethod method) {
  Layer layer = model.layers.back();
  if (method != DraftMethod::mtp) return layer;
  layer.output_format = WeightFormat{.name = ""};
  for (WeightFormat* format : {&layer.mixer_format, &layer.ffn_format, &layer.shared_format}) {
    if (format->name == "nvfp4" || format->name == "mxfp4")
      *format = plain_format(model.activation);
  }
  return layer;
}

void resolve_features(Engine& engine, const EngineOverrides& given, const Transformer& model,
                      const Gpu& gpu, const Parallelism& parallel) {
  apply_host_options(engine.host, given);
  engine.speculation = resolve_speculation(given, gpu, parallel);
  engine.lora = resolve_adapters(given, model, gpu, parallel);
  engine.kv_offloading = resolve_kv_offloading(given, gpu, parallel);
  engine.hierarchical_cache = resolve_hierarchical_cache(engine, given, model, gpu, parallel);
  if (engine.kv_offloading.on() && !engine.prefix_caching) {
    throw UsageError(
        "`kv_offloading_size`: requires prefix caching, which finds the offloaded K and V");
  }
  // Their prefixes are only of use with a state, which is not offloaded.
  if (engine.kv_offloading.on() && state_bytes_per_sequence(model).value > 0) {
    throw UsageError("`kv_offloading_size`: not modelled for models with recurrent layers");
  }
  // 0.22, config/vllm.py, VllmConfig.__post_init__: off by default for models that pool.
  if (engine.pooling && engine.memory_rule == MemoryRule::vllm && !given.async_scheduling) {
    engine.async_scheduling = false;
  }
  if (engine.pooling && engine.speculation.on()) {
    throw UsageError("`num_speculative_tokens`: excludes `pooling`, which generates nothing");
  }
  if (!engine.speculation.on()) return;
  // vLLM schedules asynchronously with drafts of EAGLE and MTP since 0.14 (vllm-project/vllm pull
  // 31998; 0.19, config/vllm.py, VllmConfig.__post_init__); SGLang's overlap with drafts (spec v2)
  // and TensorRT-LLM's are likewise theirs.
  if (engine.speculation.reads_hidden_states()) return;
  if (given.async_scheduling.value_or(false)) {
    throw UsageError(fmt::format("`async_scheduling`: must be off with drafts of {}",
                                 name_of(engine.speculation.method)));
  }
  engine.async_scheduling = false;
}

}  // namespace roofcast
