#include "model/io/model_parts.hpp"

#include <string>

namespace roofcast {

namespace {

// Far beyond any encoder, and small enough that no product below overflows.
constexpr std::int64_t kWidestTower = 100'000;
constexpr std::int64_t kLargestPatch = 1'000;
constexpr std::int64_t kLargestMerge = 16;

std::int64_t linear(std::int64_t inputs, std::int64_t outputs) {
  return inputs * outputs + outputs;
}

std::int64_t plain_linear(std::int64_t inputs, std::int64_t outputs) { return inputs * outputs; }

std::int64_t patch_elements(const Fields& v, std::int64_t channels, std::int64_t frames) {
  const std::int64_t patch = v.size({"patch_size"}, kLargestPatch);
  return channels * frames * patch * patch;
}

/// Encoder layer with biases everywhere and two LayerNorms: SigLIP, CLIP, Qwen3-VL, Llama-4.
std::int64_t biased_layer(std::int64_t hidden, std::int64_t intermediate) {
  const std::int64_t attention = 4 * linear(hidden, hidden);
  const std::int64_t mlp = linear(hidden, intermediate) + linear(intermediate, hidden);
  return attention + mlp + 4 * hidden;
}

// Gemma-3: SigLIP with learned positions, then a norm and one projection matrix.
std::int64_t gemma3_tower(const Fields& v, std::int64_t hidden) {
  const std::int64_t width = v.size({"hidden_size"}, kWidestTower);
  const std::int64_t side = v.size({"image_size"}, 100'000) / v.size({"patch_size"}, kLargestPatch);
  const std::int64_t layers = v.size({"num_hidden_layers"}, kMaxLayers);
  const std::int64_t embed = linear(patch_elements(v, 3, 1), width) + side * side * width;
  const std::int64_t encoder =
      layers * biased_layer(width, v.size({"intermediate_size"}, kWidestFfn)) + 2 * width;
  return embed + encoder + plain_linear(width, hidden) + width;
}

// Llama-4: no bias on the patch embedding, class token and positions, norms before and after the
// encoder, a two-matrix pixel-shuffle adapter and one projection.
std::int64_t llama4_tower(const Fields& v, std::int64_t hidden) {
  const std::int64_t width = v.size({"hidden_size"}, kWidestTower);
  const std::int64_t side = v.size({"image_size"}, 100'000) / v.size({"patch_size"}, kLargestPatch);
  const std::int64_t layers = v.size({"num_hidden_layers"}, kMaxLayers);
  const std::int64_t mlp_input = v.size({"intermediate_size"}, kWidestFfn);
  const std::int64_t adapter = v.size({"projector_input_dim"});
  const std::int64_t adapter_output = v.size({"projector_output_dim"});
  const std::int64_t embed =
      plain_linear(patch_elements(v, 3, 1), width) + width + (side * side + 1) * width + 4 * width;
  const std::int64_t projector = plain_linear(mlp_input, adapter) +
                                 plain_linear(adapter, adapter_output) +
                                 plain_linear(v.size({"vision_output_dim"}), hidden);
  return embed + layers * biased_layer(width, mlp_input) + projector;
}

/// Joins `merge` * `merge` patches and projects them to the language model's width.
std::int64_t qwen_merger(std::int64_t width, std::int64_t merged, std::int64_t outputs,
                         std::int64_t norm) {
  return norm * width + linear(merged, merged) + linear(merged, outputs);
}

// Qwen3-VL and Qwen3.5: like SigLIP, with patches of two frames and mergers that also feed early
// layers.
std::int64_t qwen3_tower(const Fields& v) {
  const std::int64_t width = v.size({"hidden_size"}, kWidestTower);
  const std::int64_t merge = v.size({"spatial_merge_size"}, kLargestMerge);
  const std::int64_t merged = width * merge * merge;
  const std::int64_t outputs = v.size({"out_hidden_size"});
  const std::int64_t patch = patch_elements(v, 3, v.size({"temporal_patch_size"}, kLargestPatch));
  const std::int64_t embed =
      linear(patch, width) + v.size({"num_position_embeddings"}, kLargestVocabulary) * width;
  const std::int64_t encoder = v.size({"depth"}, kMaxLayers) *
                               biased_layer(width, v.size({"intermediate_size"}, kWidestFfn));
  const auto deep = static_cast<std::int64_t>(v.counts("deepstack_visual_indexes").size());
  // Deepstack mergers normalise after joining.
  const std::int64_t deep_mergers =
      deep * (2 * merged + linear(merged, merged) + linear(merged, outputs));
  return embed + encoder + qwen_merger(width, merged, outputs, 2) + deep_mergers;
}

// Qwen2.5-VL: RMS norms, a gated MLP with biases, no position table.
std::int64_t qwen25_tower(const Fields& v) {
  const std::int64_t width = v.size({"hidden_size"}, kWidestTower);
  const std::int64_t intermediate = v.size({"intermediate_size"}, kWidestFfn);
  const std::int64_t merge = v.size_or({"spatial_merge_size"}, 2, kLargestMerge);
  const std::int64_t patch =
      patch_elements(v, 3, v.size_or({"temporal_patch_size"}, 2, kLargestPatch));
  const std::int64_t layer = 4 * linear(width, width) + 2 * linear(width, intermediate) +
                             linear(intermediate, width) + 2 * width;
  const std::int64_t merged = width * merge * merge;
  return plain_linear(patch, width) + v.size({"depth"}, kMaxLayers) * layer +
         qwen_merger(width, merged, v.size({"out_hidden_size"}), 1);
}

// Mistral-3: Pixtral encoder (gated, no biases), a patch merger and two projections.
std::int64_t pixtral_tower(const Fields& v, const Fields& top, std::int64_t hidden) {
  const std::int64_t width = v.size({"hidden_size"}, kWidestTower);
  const std::int64_t merge = top.size({"spatial_merge_size"}, kLargestMerge);
  const std::int64_t layer = 4 * plain_linear(width, width) +
                             3 * plain_linear(width, v.size({"intermediate_size"}, kWidestFfn)) +
                             2 * width;
  const std::int64_t encoder = plain_linear(patch_elements(v, 3, 1), width) + width +
                               v.size({"num_hidden_layers"}, kMaxLayers) * layer;
  const bool bias = top.flag({"multimodal_projector_bias"}, false);
  const std::int64_t projections =
      plain_linear(width, hidden) + plain_linear(hidden, hidden) + (bias ? 2 * hidden : 0);
  return encoder + width + plain_linear(merge * merge * width, width) + projections;
}

// Kimi-VL and Kimi-K2: MoonViT (a patch embedding with biases, a table of positions, SigLIP's
// layers, a norm), then a norm and two matrices over joined patches (vllm 0.26, models/moonvit.py,
// kimi_k25_vit.py). Positions in time are not learned.
std::int64_t moonvit_tower(const Fields& v, std::int64_t hidden) {
  const std::int64_t width = v.size({"hidden_size", "vt_hidden_size"}, kWidestTower);
  const std::int64_t height = v.size_or({"init_pos_emb_height"}, 64, kLargestPatch);
  const std::int64_t positions = height * v.size_or({"init_pos_emb_width"}, 64, kLargestPatch);
  const std::int64_t layers = v.size({"num_hidden_layers", "vt_num_hidden_layers"}, kMaxLayers);
  const std::int64_t intermediate =
      v.size({"intermediate_size", "vt_intermediate_size"}, kWidestFfn);
  const std::int64_t merged = 4 * width;  // merge_kernel_size is 2 x 2
  const std::int64_t embed = linear(patch_elements(v, 3, 1), width) + positions * width;
  const std::int64_t projector = 2 * width + linear(merged, merged) + linear(merged, hidden);
  return embed + layers * biased_layer(width, intermediate) + 2 * width + projector;
}

// Gemma 4: gated layers without biases, four norms each and one of queries and keys, positions
// learned by row and column, a mean and scale of the outputs and one projection matrix
// (transformers, models/gemma4/modeling_gemma4.py).
std::int64_t gemma4_tower(const Fields& v, std::int64_t hidden) {
  const std::int64_t width = v.size({"hidden_size"}, kWidestTower);
  const std::int64_t head = v.size({"head_dim"}, kWidestTower);
  const std::int64_t layer = 4 * plain_linear(width, width) +
                             3 * plain_linear(width, v.size({"intermediate_size"}, kWidestFfn)) +
                             4 * width + 2 * head;
  const std::int64_t embed = plain_linear(patch_elements(v, 3, 1), width) +
                             2 * v.size({"position_embedding_size"}, kLargestVocabulary) * width;
  return embed + v.size({"num_hidden_layers"}, kMaxLayers) * layer + 2 * width +
         plain_linear(width, hidden);
}

// LLaVA-NeXT: CLIP without its last layer (vision_feature_layer -2) and the norm after it, two
// matrices, and an embedding between rows (vllm 0.26, models/clip.py, llava_next.py).
std::int64_t clip_tower(const Fields& v, std::int64_t hidden) {
  const std::int64_t width = v.size({"hidden_size"}, kWidestTower);
  const std::int64_t side = v.size({"image_size"}, 100'000) / v.size({"patch_size"}, kLargestPatch);
  const std::int64_t layers = v.size({"num_hidden_layers"}, kMaxLayers) - 1;
  const std::int64_t embed =
      plain_linear(patch_elements(v, 3, 1), width) + width + (side * side + 1) * width + 2 * width;
  return embed + layers * biased_layer(width, v.size({"intermediate_size"}, kWidestFfn)) +
         linear(width, hidden) + linear(hidden, hidden) + hidden;
}

}  // namespace

std::optional<std::int64_t> vision_parameters(const Fields& top, std::int64_t hidden) {
  const auto vision = top.object("vision_config");
  if (!vision) return 0;
  const std::string outer = top.text({"model_type"});
  const std::string inner = vision->text({"model_type"});
  if (inner == "siglip_vision_model" && outer == "gemma3") return gemma3_tower(*vision, hidden);
  if (inner == "llama4_vision_model") return llama4_tower(*vision, hidden);
  if (outer == "qwen3_vl" || outer == "qwen3_vl_moe" || outer == "qwen3_5" ||
      outer == "qwen3_5_moe") {
    return qwen3_tower(*vision);
  }
  if (outer == "qwen2_5_vl" && vision->has("out_hidden_size")) return qwen25_tower(*vision);
  if (outer == "mistral3" && inner == "pixtral") return pixtral_tower(*vision, top, hidden);
  const bool moonvit = inner == "moonvit" || outer == "kimi_k25";
  if (moonvit && vision->has("patch_size")) return moonvit_tower(*vision, hidden);
  if (inner == "gemma4_vision" && vision->has("patch_size")) return gemma4_tower(*vision, hidden);
  if (outer == "llava_next" && inner == "clip_vision_model") return clip_tower(*vision, hidden);
  return std::nullopt;
}

}  // namespace roofcast
