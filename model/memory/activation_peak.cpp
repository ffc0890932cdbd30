#include "model/memory/activation_peak.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "base/ceil_divide.hpp"
#include "base/quantity.hpp"
#include "model/architecture/experts.hpp"

namespace roofcast {
namespace {

/// Elements per token in the fused experts' two buffers: the first holds gate and up (or the
/// outgoing hidden state), the second their product (or the input), each for every chosen expert
/// (vllm model_executor/layers/fused_moe, workspace13 and workspace2; TensorRT-LLM
/// cutlass_kernels/moe_gemm/moe_kernels.cu, overlapped_gemm1_gemm2_inputs and _outputs).
double expert_elements_per_pair(const MoeFfn& experts, std::int64_t hidden,
                                const Parallelism& parallel) {
  const auto width =
      static_cast<double>(experts.expert_intermediate) / parallel.expert_width_ranks();
  const auto input = static_cast<double>(experts.latent > 0 ? experts.latent : hidden);
  const double first = std::max((experts.gated ? 2.0 : 1.0) * width, input);
  const double second = std::max(width, input);
  return first + second;
}

double expert_elements_per_token(const MoeFfn& experts, std::int64_t hidden,
                                 const Parallelism& parallel) {
  return static_cast<double>(experts.experts_per_token) *
         expert_elements_per_pair(experts, hidden, parallel);
}

/// Elements per token of an expert's two buffers where each expert has room for the same number of
/// tokens: gate and up or the hidden state, and their product (vllm 0.20,
/// fused_moe/experts/batched_deep_gemm_moe.py, workspace_shapes: max(K, N) and N / 2 wide).
double batched_elements_per_token(const MoeFfn& experts, std::int64_t hidden,
                                  const Parallelism& parallel) {
  const auto width =
      static_cast<double>(experts.expert_intermediate) / parallel.expert_width_ranks();
  const auto input = static_cast<double>(experts.latent > 0 ? experts.latent : hidden);
  return std::max(input, (experts.gated ? 2.0 : 1.0) * width) + width;
}

/// Whether experts are multiplied by kernels that widen four-bit weights: Marlin's, or Triton's for
/// mxfp4.
bool is_weight_only(const WeightFormat& format) {
  return format.bits_per_weight < 8 && format.compute == DType::bf16;
}

/// Elements of vLLM's fused experts' two buffers on one rank. Marlin's kernels, unless they are
/// part of an exchange between ranks, are called as they are, without chunks (0.11 and 0.17,
/// fused_marlin_moe.py and its callers in quantization/).
double vllm_expert_elements(const MoeFfn& experts, const WeightFormat& format,
                            const Transformer& model, const Engine& engine,
                            const Parallelism& parallel) {
  const MemoryConstants& memory = engine.memory;
  const int senders = parallel.data * parallel.context;  // ranks with tokens of their own
  const bool whole_experts_apart = senders > 1 && parallel.expert_parallel;
  if (whole_experts_apart && engine.all2all == All2All::deepep_low_latency) {
    const std::int64_t ranks = parallel.expert_ranks();
    const std::int64_t held = ceil_divide(experts.experts + parallel.redundant_experts, ranks);
    const std::int64_t tokens =
        memory.low_latency_tokens > 0 ? memory.low_latency_tokens : engine.max_num_batched_tokens;
    return static_cast<double>(held * ranks * tokens) *
           batched_elements_per_token(experts, model.hidden, parallel);
  }
  std::int64_t tokens = engine.max_num_batched_tokens * senders;
  const bool chunked = memory.expert_chunk > 0 && (whole_experts_apart || !is_weight_only(format));
  if (chunked) tokens = std::min(tokens, memory.expert_chunk);
  if (memory.profiles_whole_chunk && whole_experts_apart) tokens = memory.expert_chunk;
  return static_cast<double>(tokens * experts.experts_per_token) *
         expert_elements_per_pair(experts, model.hidden, parallel);
}

/// Latent attention rebuilds keys and values of a prompt's cached context in chunks; the profile
/// run holds those of the largest, in one layer at a time (0.11 and 0.19,
/// attention/backends/mla/common.py and mla_attention.py, determine_chunked_prefill_workspace_size:
/// tokens of eight sequences of max_model_len or four blocks of each sequence, at most 64 x 1,024
/// and at least a block of each; and what its forward pass allocates without metadata). Sparse
/// attention reads the latent itself, but from 0.16 on the layer allocates as much for it.
double up_projected_elements(const LatentAttention& latent, const Engine& engine, int tensor) {
  const bool sparse = latent.span.kind == AttentionSpan::Kind::sparse;
  if (sparse && !engine.memory.sparse_rebuilds_context) return 0;
  constexpr std::int64_t kMaxTokens = 65536;
  const std::int64_t blocks = engine.max_num_seqs * engine.block_size;
  const std::int64_t tokens =
      std::max(std::min(std::max(8 * engine.max_model_len, 4 * blocks), kMaxTokens), blocks);
  const std::int64_t heads = heads_per_rank(latent.query_heads, tensor);
  return static_cast<double>(tokens * heads) *
         static_cast<double>(latent.nope_dim + latent.value_head_dim);
}

/// Bytes that sparse attention gathers from the caches of prompts. The indexer: keys of as many
/// tokens as 40 prompts of max_model_len have, in fp8 with a scale (0.22,
/// attention/backends/mla/indexer.py, get_max_prefill_buffer_size: 825 MB for DeepSeek-V3.2;
/// sparse_attn_indexer.py, profile branch). FlashMLA's sparse kernels: latents of five prompts in
/// 16 bits, if the cache is narrower (flashmla_sparse.py, get_prefill_workspace_size). Neglects the
/// queries beside them.
double gathered_keys(const LatentAttention& latent, const Engine& engine) {
  if (latent.index_heads == 0) return 0;
  constexpr double kIndexed = 40, kRead = 5, kScale = 4;
  const auto length = static_cast<double>(engine.max_model_len);
  const double keys = kIndexed * length * (static_cast<double>(latent.index_head_dim) + kScale);
  const auto width = static_cast<double>(latent.kv_lora_rank + latent.rope_dim);
  const bool widens = engine.memory.widens_latents && bits_of(engine.kv_cache_dtype) == 8;
  return std::max(keys, widens ? kRead * length * width * 2.0 : 0.0);
}

/// DeepSeek-V4's compressed caches: an indexer's keys as above, of the compressed entries, and the
/// entries, window and new tokens of four prompts in 16 bits (0.22,
/// models/deepseek_v4/attention.py, PREFILL_CHUNK_SIZE).
double gathered_keys(const Attention& attention, const Engine& engine) {
  if (attention.cache_compression == 1) return 0;
  constexpr double kIndexed = 40, kRead = 4, kScale = 4;
  const std::int64_t entries = ceil_divide(engine.max_model_len, attention.cache_compression);
  const double keys = attention.index_heads > 0
                          ? kIndexed * static_cast<double>(entries) *
                                (static_cast<double>(attention.index_head_dim) + kScale)
                          : 0.0;
  const std::int64_t tokens = entries + attention.local_tokens + engine.max_num_batched_tokens;
  return std::max(
      keys, kRead * static_cast<double>(tokens) * static_cast<double>(attention.head_dim) * 2);
}

double gathered_keys(const Layer& layer, const Engine& engine) {
  if (const auto* latent = std::get_if<LatentAttention>(&layer.mixer)) {
    return gathered_keys(*latent, engine);
  }
  if (const auto* attention = std::get_if<Attention>(&layer.mixer)) {
    return gathered_keys(*attention, engine);
  }
  return 0;
}

/// Entries that an indexer of this layer searches in a sequence of max_model_len; 0 without one.
double indexed_entries(const Layer& layer, const Engine& engine) {
  const auto length = static_cast<double>(engine.max_model_len);
  if (const auto* latent = std::get_if<LatentAttention>(&layer.mixer)) {
    return latent->index_heads > 0 ? length : 0.0;
  }
  const auto* attention = std::get_if<Attention>(&layer.mixer);
  if (attention == nullptr || attention->index_heads == 0) return 0;
  return length / static_cast<double>(attention->cache_compression);
}

/// The buffer that is left after the forward pass.
Bytes kept_workspace(const ActivationShape& shape, const MemoryConstants& constants) {
  const Bytes experts = constants.keeps_expert_workspace ? shape.expert_workspace : Bytes{};
  return constants.shares_workspace ? std::max(experts, shape.gathered_keys) : experts;
}

/// Tokens of the largest image that Qwen's processors make (max_pixels 16,777,216 of 32 x 32
/// pixels a token; Qwen2-VL 12,845,056 of 28 x 28), each of four patches.
constexpr double kQwenImageTokens = 16384;
constexpr double kPatchesPerToken = 4;

/// The encoder's pass over the largest image, which vLLM profiles whole before the language model
/// (0.19, gpu_model_runner.py, profile_run): of an encoder's block, whose FFN is four times as wide
/// as its states, the products before and after the activation function and four states are live.
/// Neglects other families, whose images are smaller, so that the sampler's pass takes more: as
/// many are profiled as fit max_num_batched_tokens, of Gemma 3 32 with 4,096 patches each on an
/// H100, 131,072 x (2 x 4,304 + 4 x 1,152) elements or 3.5 GB beside 4.0 for its 1,024 sequences;
/// of Pixtral two with 12,100, 0.6 GB beside 2.0.
double encoder_elements(const Transformer& model, int tensor) {
  if (!model.has_vision || !model.model_type.starts_with("qwen")) return 0;
  const auto hidden = static_cast<double>(model.vision_hidden);
  return kQwenImageTokens * kPatchesPerToken * (2.0 * 4.0 * hidden / tensor + 4.0 * hidden);
}

std::int64_t attention_width(const Layer& layer) {
  if (const auto* a = std::get_if<Attention>(&layer.mixer)) return a->query_heads * a->head_dim;
  if (const auto* a = std::get_if<LatentAttention>(&layer.mixer)) {
    return a->query_heads * (a->nope_dim + a->rope_dim);
  }
  return 0;
}

/// aiconfigurator's coefficients for dense and expert models at TP 1, 2, 4 and more.
double tensorrt_coefficient(bool has_experts, int tensor) {
  constexpr double kDense[] = {11.0, 6.5, 5.0};
  constexpr double kExperts[] = {22.0, 13.0, 10.0};
  const int column = tensor >= 4 ? 2 : (tensor >= 2 ? 1 : 0);
  return has_experts ? kExperts[column] : kDense[column];
}

/// Elements per token that a rank holds for its experts when attention is data-parallel: the
/// gathered and returned states, and the experts' two buffers in the worst case, where every token
/// chose experts of this rank (TensorRT-LLM sizes its workspace this way).
double gathered_elements_per_token(const Transformer& model, const Parallelism& parallel) {
  double elements = 0;
  for (const Layer& layer : model.layers) {
    const auto* moe = std::get_if<MoeFfn>(&layer.ffn);
    if (moe == nullptr) continue;
    elements = std::max(elements, expert_elements_per_token(*moe, model.hidden, parallel) +
                                      2.0 * static_cast<double>(model.hidden));
  }
  return elements;
}

}  // namespace

ActivationShape activation_shape(const Transformer& model, const Engine& engine,
                                 const Parallelism& parallel) {
  const auto tokens = static_cast<double>(engine.max_num_batched_tokens);
  const auto sequences =
      static_cast<double>(std::min(engine.max_num_seqs, engine.max_num_batched_tokens));
  ActivationShape shape;
  shape.element_bytes = bits_of(model.activation) / 8.0;
  // A model that pools is profiled without the sampler's pass (0.22, gpu_model_runner.py,
  // profile_run).
  shape.logits = engine.pooling ? 0.0 : sequences * static_cast<double>(model.vocabulary);
  shape.hidden = tokens * static_cast<double>(model.hidden);
  double expert_elements = 0;
  double up_projected = 0;
  const int senders = parallel.data * parallel.context;  // each with tokens of its own
  for (const Layer& layer : model.layers) {
    shape.gathered_keys = std::max(shape.gathered_keys, Bytes{gathered_keys(layer, engine)});
    if (indexed_entries(layer, engine) > 0) shape.index_scores = engine.memory.index_scores;
    if (const auto* latent = std::get_if<LatentAttention>(&layer.mixer)) {
      up_projected =
          std::max(up_projected, up_projected_elements(*latent, engine, parallel.tensor));
    }
    if (const auto* ffn = std::get_if<DenseFfn>(&layer.ffn)) {
      const auto width = static_cast<double>(ffn->intermediate) / parallel.tensor;
      shape.intermediate = std::max(shape.intermediate, tokens * width);
    } else if (const auto* experts = std::get_if<MoeFfn>(&layer.ffn)) {
      expert_elements = std::max(expert_elements, vllm_expert_elements(*experts, layer.ffn_format,
                                                                       model, engine, parallel));
      if (senders > 1 && engine.all2all != All2All::deepep_low_latency) {
        // Quantised before they are sent if the experts are whole.
        const double width =
            parallel.expert_parallel
                ? std::min(bits_of(layer.ffn_format.compute) / 8.0, shape.element_bytes)
                : shape.element_bytes;
        shape.gathered = std::max(shape.gathered, Bytes{shape.hidden * senders * width});
      }
    }
  }
  shape.up_projected = Bytes{up_projected * shape.element_bytes};
  const bool takes_images = engine.images_per_prompt > 0;
  if (takes_images) {
    shape.encoder_pass = Bytes{encoder_elements(model, parallel.tensor) * shape.element_bytes};
  }
  shape.expert_workspace = Bytes{expert_elements * shape.element_bytes};
  if (takes_images && model.vision_parameters > 0)
    shape.encoder_outputs = Bytes{shape.hidden * shape.element_bytes};
  return shape;
}

Bytes sampler_peak(const ActivationShape& shape, const MemoryConstants& constants) {
  const Bytes logits{constants.logits_bytes * shape.logits + shape.element_bytes * shape.hidden};
  return logits + kept_workspace(shape, constants) + shape.encoder_outputs;
}

Bytes forward_peak(const ActivationShape& shape, const MemoryConstants& constants) {
  const Bytes hidden{constants.forward_hidden * shape.hidden * shape.element_bytes};
  const Bytes dense{constants.forward_intermediate * shape.intermediate * shape.element_bytes};
  const Bytes workspace = constants.shares_workspace
                              ? std::max(shape.expert_workspace, shape.gathered_keys)
                              : shape.expert_workspace;
  // Up to 0.13 the keys are gathered into a buffer of their own, and copied.
  const Bytes copied = constants.shares_workspace ? Bytes{} : 2.0 * shape.gathered_keys;
  const Bytes attention = std::max({shape.up_projected, shape.index_scores, copied});
  return hidden + shape.encoder_outputs +
         std::max(dense + workspace + shape.gathered, attention + kept_workspace(shape, constants));
}

Bytes attention_in_graphs(const Transformer& model, const Engine& engine,
                          const Parallelism& parallel) {
  if (engine.graph_batch_sizes.empty()) return {};
  const ActivationShape shape = activation_shape(model, engine, parallel);
  double entries = 0;
  for (const Layer& layer : model.layers) {
    entries = std::max(entries, indexed_entries(layer, engine));
  }
  constexpr double kWarmUpAndCapture = 2, kScoreBytes = 4;
  const auto largest = static_cast<double>(engine.graph_batch_sizes.back());
  const Bytes decode{kWarmUpAndCapture * kScoreBytes * largest * entries};
  return std::max({decode, shape.up_projected, shape.index_scores});
}

ActivationPeak vllm_activation_peak(const Transformer& model, const Engine& engine,
                                    const Parallelism& parallel) {
  const MemoryConstants& constants = engine.memory;
  const ActivationShape shape = activation_shape(model, engine, parallel);
  const Bytes sampler = sampler_peak(shape, constants);
  const Bytes forward = forward_peak(shape, constants);
  const Bytes compile = engine.cuda_graphs ? constants.compile_peak : Bytes{};
  const Bytes encoder = shape.encoder_pass;
  ActivationPeak peak{.bytes = std::max({sampler, forward, compile, encoder})};
  const int senders = parallel.data * parallel.context;
  const std::string ranks = senders > 1 && shape.expert_workspace.value > 0
                                ? fmt::format("; experts: {:.2f} GiB for the tokens of {} ranks",
                                              to_gib(shape.expert_workspace), senders)
                                : "";
  if (peak.bytes == sampler) {
    peak.detail = fmt::format("sampler pass: {:g} bytes x {} sequences x {} vocabulary + {} tokens",
                              constants.logits_bytes, engine.max_num_seqs, model.vocabulary,
                              engine.max_num_batched_tokens) +
                  ranks;
  } else if (peak.bytes == forward) {
    peak.detail = fmt::format("forward pass of {} tokens: {:g} x FFN + {:g} x hidden elements each",
                              engine.max_num_batched_tokens, constants.forward_intermediate,
                              constants.forward_hidden) +
                  ranks;
  } else if (peak.bytes == encoder) {
    peak.detail = fmt::format("encoder's pass over an image of {:g} tokens", kQwenImageTokens);
  } else {
    peak.detail =
        fmt::format("cold torch.compile (warm start: {:.2f} GiB, the larger of the two passes)",
                    to_gib(std::max(sampler, forward)));
  }
  return peak;
}

ActivationPeak tensorrt_activation_peak(const Transformer& model, const Engine& engine,
                                        const Parallelism& parallel) {
  std::int64_t width = 0;
  for (const Layer& layer : model.layers) width = std::max(width, attention_width(layer));
  // Each rank's experts receive the tokens of all ranks at once (moe_max_num_tokens is
  // max_num_tokens times the ranks by default, tensorrt_llm/_torch/model_config.py), so they are
  // counted separately.
  const bool experts = has_experts(model);
  const bool gathers = experts && parallel.data > 1;
  const auto tokens = static_cast<double>(engine.max_num_batched_tokens);
  const double coefficient = tensorrt_coefficient(experts && !gathers, parallel.tensor);
  const double own = 2.0 * tokens * static_cast<double>(width) * coefficient;
  ActivationPeak peak{.bytes = Bytes{std::max(own, 70.0 * kMiB)},
                      .detail = fmt::format("2 bytes x {} tokens x {} attention width x {:g}",
                                            engine.max_num_batched_tokens, width, coefficient)};
  if (!gathers) return peak;
  const double elements = gathered_elements_per_token(model, parallel);
  peak.bytes += Bytes{2.0 * tokens * parallel.data * elements};
  peak.detail += fmt::format("; experts: 2 bytes x {} tokens of {} ranks x {:g}",
                             engine.max_num_batched_tokens, parallel.data, elements);
  return peak;
}

}  // namespace roofcast
