#include "model/memory/memory_terms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>
#include <variant>

#include "base/ceil_divide.hpp"
#include "model/architecture/adapters.hpp"
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
  if (parallel.stage_ranks() == parallel.data && parallel.pipeline == 1 &&
      !parallel.expert_parallel) {
    return "";
  }
  std::string note = fmt::format(", share of TP {}", parallel.tensor);
  if (parallel.pipeline > 1) note += fmt::format(", fullest of {} stages", parallel.pipeline);
  if (parallel.expert_parallel) {
    note += fmt::format(", experts over {} ranks", parallel.expert_ranks());
  } else if (parallel.context > 1) {
    note += fmt::format(", experts' widths over {} ranks", parallel.expert_width_ranks());
  }
  return note;
}

std::int64_t rotary_width(const Layer& layer) {
  if (const auto* a = std::get_if<Attention>(&layer.mixer)) return a->head_dim;
  if (const auto* a = std::get_if<LatentAttention>(&layer.mixer)) return a->rope_dim;
  return 0;
}

/// The cosine and sine table that vLLM builds once for every position the model allows
/// (RotaryEmbedding.cos_sin_cache) and counts as weights. Neglects partial rotary widths except
/// DeepSeek-V4's, which has two tables, of layers with compressed caches and of others, in fp32
/// (0.22, rotary_embedding/deepseek_scaling_rope.py, DeepseekV4ScalingRotaryEmbedding).
MemoryTerm rotary_table(const Transformer& model) {
  if (has_compressed_cache(model)) {
    constexpr std::int64_t kRotaryWidth = 64;
    return {.name = "weights.rotary_table",
            .detail = fmt::format("cos and sin of {} positions x {}, twice in fp32",
                                  model.max_context, kRotaryWidth),
            .bytes = Bytes{2.0 * 4.0 * static_cast<double>(model.max_context * kRotaryWidth)}};
  }
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

/// Bytes of W_UK and W_UV of one layer on one rank, where the engine keeps them beside kv_b_proj:
/// heads x latent x (nope + value) elements. vLLM dequantises them into the activations' format
/// (0.19, mla_attention.py, process_weights_after_loading: 512 x 32,768 x 2 bytes a layer of
/// DeepSeek-V3 on one rank). So does SGLang (0.5.15, deepseek_common/deepseek_weight_loader.py,
/// post_load_weights: w_kc and w_vc) with fp8 in blocks of 128 x 128 (on NVIDIA GPUs; elsewhere it
/// gives them one scale), AWQ and int8; fp8 with per-tensor or per-channel scales stays, and 16-bit
/// weights are copied.
Bytes absorbed_bytes(const Layer& layer, const Deployment& deployment) {
  const auto* latent = std::get_if<LatentAttention>(&layer.mixer);
  if (latent == nullptr) return {};
  const double stored = layer.mixer_format.bits_per_weight;
  const double activation = bits_of(deployment.model.activation);
  double bits = 0;
  switch (deployment.engine.memory.absorbed) {
    case AbsorbedCopies::none:
      break;
    case AbsorbedCopies::dequantised:
      bits = stored < activation ? activation : 0;
      break;
    case AbsorbedCopies::of_whole_scales: {
      const std::string& format = layer.mixer_format.name;
      const bool amd = deployment.gpu.compute_capability.starts_with("gfx");
      bits = format == "fp8" || (format == "fp8_block" && amd) ? 8 : activation;
      break;
    }
  }
  const std::int64_t heads = heads_per_rank(latent->query_heads, deployment.parallel.tensor);
  const std::int64_t width = latent->nope_dim + latent->value_head_dim;
  return Bytes{static_cast<double>(heads * latent->kv_lora_rank * width) * bits / 8.0};
}

/// The same of all layers of the pipeline stage with the most.
Bytes absorbed_bytes(const Deployment& deployment) {
  const auto layers = static_cast<std::int64_t>(deployment.model.layers.size());
  Bytes fullest;
  for (int stage = 0; stage < deployment.parallel.pipeline; ++stage) {
    const LayerRange range = pipeline_stage(layers, deployment.parallel.pipeline, stage);
    Bytes of_stage;
    for (std::int64_t i = range.first; i < range.last; ++i) {
      of_stage += absorbed_bytes(deployment.model.layers[static_cast<std::size_t>(i)], deployment);
    }
    fullest = std::max(fullest, of_stage);
  }
  return fullest;
}

std::int64_t round_up(std::int64_t value, std::int64_t step) {
  return ceil_divide(value, step) * step;
}

/// vLLM pads mxfp4 experts for its kernels: their width on a rank to a multiple of 128 with
/// Marlin's, which GPUs without fp4 arithmetic run, of 64 with Triton's on Hopper, and of 256, from
/// 0.27 on 128, with those of TensorRT-LLM on Blackwell; the hidden size to one of 256, but not
/// with Triton's (0.11, quantization/mxfp4.py,
/// Mxfp4MoEMethod.create_weights; since 0.18 fused_moe/oracle/mxfp4.py,
/// mxfp4_round_up_hidden_size_and_intermediate_size; vllm-project/vllm pull 50000 of 2026-07-30).
/// gpt-oss-120b on an H200 with Marlin's: 66.14 GiB printed (0.22.0), 60.8 without.
Bytes expert_padding(const Deployment& deployment) {
  const Transformer& model = deployment.model;
  const Gpu& gpu = deployment.gpu;
  if (deployment.engine.memory_rule != MemoryRule::vllm ||
      gpu.compute_capability.starts_with("gfx")) {
    return {};
  }
  const bool triton = deployment.engine.moe_backend == MoeBackend::triton;
  const bool blackwell = gpu.compute_capability.starts_with("10.");
  const std::int64_t input_step = triton ? 1 : 256;
  std::int64_t width_step = triton ? 64 : 128;
  if (blackwell) width_step = deployment.engine.memory.fp4_width_step;
  Bytes padding;
  for (const Layer& layer : model.layers) {
    const auto* experts = std::get_if<MoeFfn>(&layer.ffn);
    if (experts == nullptr || layer.ffn_format.name != "mxfp4") continue;
    const std::int64_t input = experts->latent > 0 ? experts->latent : model.hidden;
    const std::int64_t width =
        ceil_divide(experts->expert_intermediate, deployment.parallel.expert_width_ranks());
    const double padded =
        static_cast<double>(round_up(input, input_step) * round_up(width, width_step)) /
        static_cast<double>(input * width);
    double elements = 0;
    for (const Weight& whole : layer_weights(layer, model.hidden, model.activation)) {
      if (whole.split != Split::expert || !whole.multiplies) continue;
      elements += static_cast<double>(shard(whole, deployment.parallel).parameters());
    }
    padding += Bytes{elements * layer.ffn_format.bits_per_weight / 8.0 * (padded - 1.0)};
  }
  return padding / static_cast<double>(deployment.parallel.pipeline);
}

/// Room for LoRA adapters: max_loras of them of rank max_rank, in the activations' format.
Bytes adapter_bytes(const Deployment& deployment) {
  const LoraServing& lora = deployment.engine.lora;
  const auto layers = static_cast<std::int64_t>(deployment.model.layers.size());
  const LayerRange range = pipeline_stage(layers, deployment.parallel.pipeline, 0);
  const AdapterShape shape = adapter_shape(deployment.model, deployment.parallel, range);
  const double bytes = bits_of(deployment.model.activation) / 8.0;
  return Bytes{shape.elements * static_cast<double>(lora.max_rank * lora.max_loras) * bytes};
}

std::int64_t layers_of_stage(const Deployment& deployment) {
  const auto layers = static_cast<std::int64_t>(deployment.model.layers.size());
  const std::int64_t stages = deployment.parallel.pipeline;
  return ceil_divide(layers, stages);
}

Bytes graph_bytes(const Deployment& deployment) {
  if (!deployment.engine.cuda_graphs) return {};
  const MemoryConstants& constants = deployment.engine.memory;
  Bytes bytes = constants.graphs_base +
                constants.graphs_per_layer * static_cast<double>(layers_of_stage(deployment));
  if (constants.subtracts_graphs) {
    bytes += attention_in_graphs(deployment.model, deployment.engine, deployment.parallel);
  }
  return bytes;
}

/// Ranks that a layer's collectives span: data-parallel ones exchange the tokens of experts, those
/// that divide prompts K and V.
int communicating_ranks(const Deployment& deployment) {
  const Parallelism& parallel = deployment.parallel;
  return parallel.tensor * parallel.context * (has_experts(deployment.model) ? parallel.data : 1);
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

/// Tokens of ATOM's warm-up: as many of the longest sequences as fit a rank's share of the step, or
/// the beginning of one (0.1.2, model_engine/model_runner.py, warmup_model).
std::int64_t warm_up_tokens(const Deployment& deployment) {
  const Engine& engine = deployment.engine;
  const std::int64_t most =
      std::max<std::int64_t>(1, engine.max_num_batched_tokens / deployment.parallel.data);
  if (engine.max_model_len >= most) return most;
  return std::min(most / engine.max_model_len, engine.max_num_seqs) * engine.max_model_len;
}

/// ATOM (model_engine/model_runner.py, get_num_blocks): KV = total * utilisation - weights - peak,
/// from 0.1.2 on less an estimate of the graphs and a margin, up to 0.1.1 less what is held outside
/// PyTorch. Neglects that it takes no more than is free, and the fp32 scales that it keeps beside
/// K and V of each head (8 bytes a token, 3 % of 128 elements in fp8).
MemoryDivision divide_for_atom(const Deployment& deployment) {
  const Engine& engine = deployment.engine;
  const MemoryConstants& constants = engine.memory;
  MemoryDivision division{.total = deployment.gpu.memory_visible};
  division.before = weight_terms(deployment);
  if (!engine.weight_bytes) add_if_any(division.before, rotary_table(deployment.model));
  Engine warm_up = engine;
  warm_up.max_num_batched_tokens = warm_up_tokens(deployment);
  const ActivationPeak peak = vllm_activation_peak(deployment.model, warm_up, deployment.parallel);
  division.before.push_back(
      {.name = "activation_peak", .detail = peak.detail, .bytes = peak.bytes});
  add_if_any(division.before, non_torch_term(deployment));
  if (engine.cuda_graphs) {
    add_if_any(division.before,
               {.name = "cuda_graphs",
                .detail = fmt::format("estimate: {:g} of the peak", constants.graphs_of_peak),
                .bytes = peak.bytes * constants.graphs_of_peak});
  }
  const double kept = 1.0 - engine.gpu_memory_utilization + constants.margin;
  division.kv_budget = division.total * (1.0 - kept) - sum(division.before);
  division.after.push_back(
      {.name = "reserve",
       .detail = constants.margin > 0
                     ? fmt::format("left to others: (1 - {:g}) of the GPU and a margin of {:g}",
                                   engine.gpu_memory_utilization, constants.margin)
                     : fmt::format("left to others: (1 - {:g}) of the GPU",
                                   engine.gpu_memory_utilization),
       .bytes = division.total * kept});
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
  const Speculation& drafts = deployment.engine.speculation;
  if (drafts.reads_hidden_states() && deployment.parallel.pipeline == 1) {
    model.layers.push_back(draft_layer(model, drafts.method));
  }
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
  Bytes left_out;  // by models that pool (0.22, models/adapters.py, as_embedding_model)
  for (const PartBytes& part : weight_bytes_by_part(deployment.model, parallel)) {
    if (deployment.engine.pooling && part.part == Part::lm_head) {
      left_out += part.bytes;
      continue;
    }
    terms.push_back({.name = "weights." + std::string(name_of(part.part)),
                     .detail = part.format + share,
                     .bytes = part.bytes});
  }
  // 0.22, models/interfaces.py, _mark_tower_model: without images the tower is not loaded.
  const Bytes vision = vision_bytes(deployment.model, parallel.tensor);
  const bool loads_encoder = deployment.engine.images_per_prompt > 0;
  if (loads_encoder) {
    add_if_any(terms, {.name = "weights.vision",
                       .detail = "encoder and projector, 16-bit" + share,
                       .bytes = vision});
  }
  const Bytes difference = weight_bytes(deployment.model, parallel) - left_out - sum(terms) -
                           (loads_encoder ? Bytes{} : vision);
  if (std::abs(difference.value) > kNegligible.value) {
    terms.push_back({.name = "weights.not_itemised",
                     .detail = "difference between checkpoint files and the count above",
                     .bytes = difference});
  }
  add_if_any(terms, {.name = "weights.expert_padding",
                     .detail = "mxfp4 experts, padded for their kernels" + share,
                     .bytes = expert_padding(deployment)});
  add_if_any(terms, {.name = "weights.absorbed",
                     .detail = "latent attention's W_UK and W_UV, kept beside kv_b_proj",
                     .bytes = absorbed_bytes(deployment)});
  const LoraServing& lora = deployment.engine.lora;
  add_if_any(terms, {.name = "weights.lora",
                     .detail = fmt::format("room for {} adapters of rank {}", lora.max_loras,
                                           lora.max_rank),
                     .bytes = adapter_bytes(deployment)});
  const Speculation& drafts = deployment.engine.speculation;
  if (drafts.method == DraftMethod::draft_model && drafts.draft_weights.value > 0) {
    terms.push_back({.name = "weights.draft",
                     .detail = "the draft model" + share,
                     .bytes = drafts.draft_weights / static_cast<double>(parallel.tensor)});
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
    case MemoryRule::atom:
      return divide_for_atom(deployment);
    case MemoryRule::textbook:
      break;
  }
  return divide_for_textbook(deployment);
}

}  // namespace roofcast
