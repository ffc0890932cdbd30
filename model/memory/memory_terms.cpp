#include "model/memory/memory_terms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>
#include <variant>

#include "base/ceil_divide.hpp"
#include "model/architecture/experts.hpp"
#include "model/architecture/weights.hpp"
#include "model/memory/activation_peak.hpp"

namespace roofcast {
namespace {

/// Smaller rounding differences between exact files and the count get no row.
constexpr Bytes kNegligible{1.0};

Bytes sum(const std::vector<MemoryTerm>& terms) {
  Bytes total;
  for (const MemoryTerm& term : terms) total += term.bytes;
  return total;
}

std::string per_rank_note(const Parallelism& parallel) {
  if (parallel.tensor == 1 && parallel.pipeline == 1 && !parallel.expert_parallel) return "";
  std::string note = fmt::format(", share of TP {}", parallel.tensor);
  if (parallel.pipeline > 1) note += fmt::format(", fullest of {} stages", parallel.pipeline);
  if (parallel.expert_parallel) {
    note += fmt::format(", experts over {} ranks", parallel.expert_ranks());
  }
  return note;
}

std::int64_t rotary_width(const Layer& layer) {
  if (const auto* a = std::get_if<Attention>(&layer.mixer)) return a->head_dim;
  if (const auto* a = std::get_if<LatentAttention>(&layer.mixer)) return a->rope_dim;
  return 0;
}

/// The cosine and sine table that vLLM builds once for every position the model allows
/// (RotaryEmbedding.cos_sin_cache) and counts as weights. Neglects partial rotary widths.
MemoryTerm rotary_table(const Transformer& model) {
  std::int64_t width = 0;
  for (const Layer& layer : model.layers) width = std::max(width, rotary_width(layer));
  const bool has_table = model.learned_positions == 0;
  const double elements =
      has_table ? static_cast<double>(model.max_context) * static_cast<double>(width) : 0.0;
  return {.name = "weights.rotary_table",
          .detail = fmt::format("cos and sin of {} positions x {}", model.max_context, width),
          .bytes = Bytes{elements * bits_of(model.activation) / 8.0}};
}

void add_if_any(std::vector<MemoryTerm>& terms, MemoryTerm term) {
  if (term.bytes.value != 0) terms.push_back(std::move(term));
}

std::int64_t layers_of_stage(const Deployment& deployment) {
  const auto layers = static_cast<std::int64_t>(deployment.model.layers.size());
  const std::int64_t stages = deployment.parallel.pipeline;
  return ceil_divide(layers, stages);
}

Bytes graph_bytes(const Deployment& deployment) {
  if (!deployment.engine.cuda_graphs) return {};
  const MemoryConstants& constants = deployment.engine.memory;
  return constants.graphs_base +
         constants.graphs_per_layer * static_cast<double>(layers_of_stage(deployment));
}

/// Ranks that a layer's collectives span: data-parallel ones exchange the tokens of experts.
int communicating_ranks(const Deployment& deployment) {
  const Parallelism& parallel = deployment.parallel;
  return parallel.tensor * (has_experts(deployment.model) ? parallel.data : 1);
}

MemoryTerm non_torch_term(const Deployment& deployment) {
  const int communicating = communicating_ranks(deployment);
  const bool several = communicating > 1;
  const MemoryConstants& constants = deployment.engine.memory;
  const auto ranks = static_cast<unsigned>(std::max(2, communicating));
  const auto doublings = static_cast<double>(std::bit_width(ranks) - 2);
  const std::string source(constants.source);
  return {.name = "non_torch",
          .detail = several ? "CUDA context growth, cuBLAS, NCCL buffers: " + source
                            : "CUDA context growth, cuBLAS workspaces: " + source,
          .bytes = several ? constants.non_torch_multi + constants.non_torch_doubling * doublings
                           : constants.non_torch_single};
}

/// vLLM, worker start-up: requests ceil(total * utilisation) and subtracts what the profile run
/// took and, in some versions, an estimate of the CUDA graphs; the rest is KV cache.
/// --kv-cache-memory-bytes sets the KV budget and ignores the utilisation.
MemoryDivision divide_for_vllm(const Deployment& deployment) {
  const Engine& engine = deployment.engine;
  MemoryDivision division{.total = deployment.gpu.memory_visible};
  division.before = weight_terms(deployment);
  if (!engine.weight_bytes) add_if_any(division.before, rotary_table(deployment.model));
  const ActivationPeak peak = vllm_activation_peak(deployment.model, engine, deployment.parallel);
  division.before.push_back(
      {.name = "activation_peak", .detail = peak.detail, .bytes = peak.bytes});
  division.before.push_back(non_torch_term(deployment));
  const Bytes graphs = graph_bytes(deployment);
  if (engine.memory.subtracts_graphs) {
    add_if_any(division.before, {.name = "cuda_graphs",
                                 .detail = "estimate, subtracted before the cache is sized",
                                 .bytes = graphs});
  }
  const Bytes requested{std::ceil(division.total.value * engine.gpu_memory_utilization)};
  const Bytes taken = sum(division.before);
  division.kv_budget = engine.kv_cache_memory.value_or(requested - taken);
  Bytes reserve = division.total - taken - division.kv_budget;
  if (!engine.memory.subtracts_graphs && graphs.value > 0) {
    const Bytes room = std::clamp(reserve, Bytes{}, graphs);
    division.after.push_back(
        {.name = "cuda_graphs",
         .detail = fmt::format("about {:.2f} GiB, captured later from the reserve{}",
                               to_gib(graphs), room < graphs ? ": more than is left" : ""),
         .bytes = room});
    reserve -= room;
  }
  const std::string why =
      engine.kv_cache_memory
          ? std::string("left over by the given KV budget")
          : fmt::format("left to others: (1 - {:g}) of the GPU", engine.gpu_memory_utilization);
  if (reserve.value < 0) {
    division.after.push_back({.name = "shortfall",
                              .detail = "missing: the given KV budget exceeds what is left",
                              .bytes = reserve});
  } else {
    division.after.push_back({.name = "reserve", .detail = why, .bytes = reserve});
  }
  return division;
}

/// State of one sequence on the pipeline stage with the most recurrent layers, in fp32 (SGLang
/// 0.5.15, configs/mamba_utils.py, mamba2_state_dtype; a config that states another format is
/// neglected).
Bytes state_of_fullest_stage(const Deployment& deployment) {
  const auto layers = static_cast<std::int64_t>(deployment.model.layers.size());
  Bytes fullest;
  for (int stage = 0; stage < deployment.parallel.pipeline; ++stage) {
    const LayerRange range = pipeline_stage(layers, deployment.parallel.pipeline, stage);
    Transformer part = deployment.model;
    part.layers.assign(deployment.model.layers.begin() + range.first,
                       deployment.model.layers.begin() + range.last);
    part.state_dtype = DType::fp32;
    fullest = std::max(fullest, state_bytes_per_sequence(part, deployment.parallel.tensor));
  }
  return fullest;
}

/// SGLang's pool of recurrent states takes ratio / (1 + ratio) of what is left, one slot of it for
/// padding (0.5.15, kv_cache_configurator.py, _handle_max_mamba_cache).
void take_state_pool(const Deployment& deployment, MemoryDivision& division) {
  const Engine& engine = deployment.engine;
  if (engine.state_slots == 0) return;
  const Bytes slot = state_of_fullest_stage(deployment);
  const double ratio = engine.mamba_full_memory_ratio;
  const Bytes pool = std::max(Bytes{}, division.kv_budget) * (ratio / (1.0 + ratio));
  const auto padded = static_cast<std::int64_t>(std::floor(pool / slot));
  division.state_slots = std::max<std::int64_t>(0, padded - 1);
  const Bytes taken = slot * static_cast<double>(padded);
  division.before.push_back(
      {.name = "state_pool",
       .detail = fmt::format("recurrent states: {} slots x {:.0f} bytes, {} for each request",
                             *division.state_slots, slot.value, engine.state_slots),
       .bytes = taken});
  division.kv_budget = division.kv_budget - taken;
}

/// SGLang (model_runner, profile_max_num_token): KV = free after loading
/// - free at start * (1 - mem_fraction_static). Activations and CUDA graphs live in that reserve.
MemoryDivision divide_for_sglang(const Deployment& deployment) {
  const Engine& engine = deployment.engine;
  MemoryDivision division{.total = deployment.gpu.memory_visible};
  MemoryTerm context = non_torch_term(deployment);
  context.detail = "CUDA context and NCCL, allocated before free memory is measured";
  const Bytes free_at_start = division.total - context.bytes;
  division.before = weight_terms(deployment);
  division.before.push_back(context);
  const Bytes reserve = free_at_start * (1.0 - engine.gpu_memory_utilization);
  division.kv_budget = division.total - sum(division.before) - reserve;
  take_state_pool(deployment, division);
  division.after.push_back(
      {.name = "reserve",
       .detail = fmt::format("activations and CUDA graphs: (1 - {:g}) of the free memory at start",
                             engine.gpu_memory_utilization),
       .bytes = reserve});
  return division;
}

/// TensorRT-LLM: KV = free_gpu_memory_fraction of what is free after weights and activations.
MemoryDivision divide_for_tensorrt(const Deployment& deployment) {
  const Engine& engine = deployment.engine;
  MemoryDivision division{.total = deployment.gpu.memory_visible};
  division.before = weight_terms(deployment);
  const ActivationPeak peak =
      tensorrt_activation_peak(deployment.model, engine, deployment.parallel);
  division.before.push_back(
      {.name = "activation_peak", .detail = peak.detail, .bytes = peak.bytes});
  division.before.push_back(non_torch_term(deployment));
  const Bytes free = division.total - sum(division.before);
  division.kv_budget = free.value > 0 ? free * engine.gpu_memory_utilization : free;
  division.after.push_back(
      {.name = "reserve",
       .detail = fmt::format("(1 - {:g}) of the free memory", engine.gpu_memory_utilization),
       .bytes = free - division.kv_budget});
  return division;
}

/// The textbook rule: nominal memory minus weights minus a fixed overhead is KV cache.
MemoryDivision divide_for_textbook(const Deployment& deployment) {
  const Engine& engine = deployment.engine;
  MemoryDivision division{.total = deployment.gpu.memory};
  division.before = weight_terms(deployment);
  division.before.push_back(
      {.name = "overhead", .detail = "fixed, per GPU", .bytes = engine.overhead});
  const Bytes usable = division.total * engine.gpu_memory_utilization;
  division.kv_budget = usable - sum(division.before);
  add_if_any(division.after,
             {.name = "reserve",
              .detail = fmt::format("(1 - {:g}) of the GPU", engine.gpu_memory_utilization),
              .bytes = division.total - usable});
  return division;
}

}  // namespace

Transformer with_draft_layer(const Deployment& deployment) {
  Transformer model = deployment.model;
  const bool drafts = deployment.engine.speculation.reads_hidden_states();
  if (drafts && deployment.parallel.pipeline == 1) model.layers.push_back(model.layers.back());
  return model;
}

std::vector<MemoryTerm> weight_terms(const Deployment& deployment) {
  const Parallelism& parallel = deployment.parallel;
  const std::string share = per_rank_note(parallel);
  if (deployment.engine.weight_bytes) {
    const double ranks = parallel.tensor * parallel.pipeline;
    return {{.name = "weights",
             .detail = "checkpoint size as given" + share,
             .bytes = *deployment.engine.weight_bytes / ranks}};
  }
  std::vector<MemoryTerm> terms;
  for (const PartBytes& part : weight_bytes_by_part(deployment.model, parallel)) {
    terms.push_back({.name = "weights." + std::string(name_of(part.part)),
                     .detail = part.format + share,
                     .bytes = part.bytes});
  }
  add_if_any(terms, {.name = "weights.vision",
                     .detail = "encoder and projector, 16-bit, on every rank",
                     .bytes = vision_bytes(deployment.model)});
  const Bytes difference = weight_bytes(deployment.model, parallel) - sum(terms);
  if (std::abs(difference.value) > kNegligible.value) {
    terms.push_back({.name = "weights.not_itemised",
                     .detail = "difference between checkpoint files and the count above",
                     .bytes = difference});
  }
  if (deployment.engine.speculation.reads_hidden_states()) {
    Bytes draft;
    for (const PartBytes& part : weight_bytes_by_part(with_draft_layer(deployment), parallel)) {
      draft += part.bytes;
    }
    for (const PartBytes& part : weight_bytes_by_part(deployment.model, parallel)) {
      draft = draft - part.bytes;
    }
    add_if_any(terms, {.name = "weights.draft",
                       .detail = "one layer that drafts, as the model's last" + share,
                       .bytes = draft});
  }
  return terms;
}

MemoryDivision divide_memory(const Deployment& deployment) {
  switch (deployment.engine.memory_rule) {
    case MemoryRule::vllm:
      return divide_for_vllm(deployment);
    case MemoryRule::sglang:
      return divide_for_sglang(deployment);
    case MemoryRule::tensorrt_llm:
      return divide_for_tensorrt(deployment);
    case MemoryRule::textbook:
      break;
  }
  return divide_for_textbook(deployment);
}

}  // namespace roofcast
