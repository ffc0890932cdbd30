#include "model/io/model_parts.hpp"

#include <algorithm>
#include <string>

namespace roofcast {

namespace {

// Far beyond any encoder, and small enough that no product below overflows.
constexpr std::int64_t kWidestTower = 100'000;
constexpr std::int64_t kLargestPatch = 1'000;
constexpr std::int64_t kLargestMerge = 16;
constexpr std::int64_t kLargestWindow = 100'000;

/// The encoder with a tower of `layers` layers of `layer` matrix elements each.
VisionEncoder encoder_of(std::int64_t layers, std::int64_t layer, std::int64_t width,
                         std::int64_t intermediate) {
  return {.layers = layers,
          .width = width,
          .intermediate = intermediate,
          .patch_parameters = layers * layer};
}

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
VisionTower gemma3_tower(const Fields& v, const Fields& top, std::int64_t hidden) {
  const std::int64_t width = v.size({"hidden_size"}, kWidestTower);
  const std::int64_t side = v.size({"image_size"}, 100'000) / v.size({"patch_size"}, kLargestPatch);
  const std::int64_t layers = v.size({"num_hidden_layers"}, kMaxLayers);
  const std::int64_t embed = linear(patch_elements(v, 3, 1), width) + side * side * width;
  const std::int64_t intermediate = v.size({"intermediate_size"}, kWidestFfn);
  const std::int64_t layer = biased_layer(width, intermediate);
  VisionEncoder encoder = encoder_of(layers, layer, width, intermediate);
  encoder.token_parameters = plain_linear(width, hidden);
  encoder.tile_patches = side * side;
  encoder.patches_per_token =
      std::max<std::int64_t>(1, side * side / top.size_or({"mm_tokens_per_image"}, 256));
  return {.parameters = embed + layers * layer + 2 * width + plain_linear(width, hidden) + width,
          .encoder = encoder};
}

// Llama-4: no bias on the patch embedding, class token and positions, norms before and after the
// encoder, a two-matrix pixel-shuffle adapter and one projection.
VisionTower llama4_tower(const Fields& v, std::int64_t hidden) {
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
  VisionEncoder encoder = encoder_of(layers, biased_layer(width, mlp_input), width, mlp_input);
  encoder.token_parameters = projector;
  encoder.tile_patches = side * side;
  encoder.patches_per_token = 4;  // pixel_shuffle_ratio 0.5
  return {.parameters = embed + encoder.patch_parameters + projector, .encoder = encoder};
}

/// Joins `merge` * `merge` patches and projects them to the language model's width.
std::int64_t qwen_merger(std::int64_t width, std::int64_t merged, std::int64_t outputs,
                         std::int64_t norm) {
  return norm * width + linear(merged, merged) + linear(merged, outputs);
}

// Qwen3-VL and Qwen3.5: like SigLIP, with patches of two frames and mergers that also feed early
// layers.
VisionTower qwen3_tower(const Fields& v) {
  const std::int64_t width = v.size({"hidden_size"}, kWidestTower);
  const std::int64_t merge = v.size({"spatial_merge_size"}, kLargestMerge);
  const std::int64_t merged = width * merge * merge;
  const std::int64_t outputs = v.size({"out_hidden_size"});
  const std::int64_t patch = patch_elements(v, 3, v.size({"temporal_patch_size"}, kLargestPatch));
  const std::int64_t embed =
      linear(patch, width) + v.size({"num_position_embeddings"}, kLargestVocabulary) * width;
  const std::int64_t intermediate = v.size({"intermediate_size"}, kWidestFfn);
  VisionEncoder encoder = encoder_of(v.size({"depth"}, kMaxLayers),
                                     biased_layer(width, intermediate), width, intermediate);
  const auto deep = static_cast<std::int64_t>(v.counts("deepstack_visual_indexes").size());
  // Deepstack mergers normalise after joining.
  const std::int64_t deep_mergers =
      deep * (2 * merged + linear(merged, merged) + linear(merged, outputs));
  encoder.token_parameters = qwen_merger(width, merged, outputs, 2) + deep_mergers;
  encoder.patches_per_token = merge * merge;
  return {.parameters = embed + encoder.patch_parameters + encoder.token_parameters,
          .encoder = encoder};
}

// Qwen2.5-VL: RMS norms, a gated MLP with biases, no position table.
VisionTower qwen25_tower(const Fields& v) {
  const std::int64_t width = v.size({"hidden_size"}, kWidestTower);
  const std::int64_t intermediate = v.size({"intermediate_size"}, kWidestFfn);
  const std::int64_t merge = v.size_or({"spatial_merge_size"}, 2, kLargestMerge);
  const std::int64_t patch =
      patch_elements(v, 3, v.size_or({"temporal_patch_size"}, 2, kLargestPatch));
  const std::int64_t layer = 4 * linear(width, width) + 2 * linear(width, intermediate) +
                             linear(intermediate, width) + 2 * width;
  const std::int64_t merged = width * merge * merge;
  VisionEncoder encoder = encoder_of(v.size({"depth"}, kMaxLayers), layer, width, intermediate);
  encoder.token_parameters = qwen_merger(width, merged, v.size({"out_hidden_size"}), 1);
  encoder.patches_per_token = merge * merge;
  // All other layers attend within windows of 112 x 112 pixels.
  const auto whole = static_cast<std::int64_t>(v.counts("fullatt_block_indexes").size());
  encoder.windowed_layers = std::max<std::int64_t>(0, encoder.layers - whole);
  const std::int64_t side =
      v.size_or({"window_size"}, 112, kLargestWindow) / v.size({"patch_size"}, kLargestPatch);
  encoder.window_patches = std::max<std::int64_t>(1, side * side);
  return {.parameters =
              plain_linear(patch, width) + encoder.patch_parameters + encoder.token_parameters,
          .encoder = encoder};
}

// Mistral-3: Pixtral encoder (gated, no biases), a patch merger and two projections.
VisionTower pixtral_tower(const Fields& v, const Fields& top, std::int64_t hidden) {
  const std::int64_t width = v.size({"hidden_size"}, kWidestTower);
  const std::int64_t merge = top.size({"spatial_merge_size"}, kLargestMerge);
  const std::int64_t intermediate = v.size({"intermediate_size"}, kWidestFfn);
  const std::int64_t layer =
      4 * plain_linear(width, width) + 3 * plain_linear(width, intermediate) + 2 * width;
  VisionEncoder encoder =
      encoder_of(v.size({"num_hidden_layers"}, kMaxLayers), layer, width, intermediate);
  const bool bias = top.flag({"multimodal_projector_bias"}, false);
  const std::int64_t projections =
      plain_linear(width, hidden) + plain_linear(hidden, hidden) + (bias ? 2 * hidden : 0);
  encoder.token_parameters = plain_linear(merge * merge * width, width) + projections;
  encoder.patches_per_token = merge * merge;
  return {.parameters = plain_linear(patch_elements(v, 3, 1), width) + width +
                        encoder.patch_parameters + width + encoder.token_parameters,
          .encoder = encoder};
}

// Kimi-VL and Kimi-K2: MoonViT (a patch embedding with biases, a table of positions, SigLIP's
// layers, a norm), then a norm and two matrices over joined patches (vllm 0.26, models/moonvit.py,
// kimi_k25_vit.py). Positions in time are not learned.
VisionTower moonvit_tower(const Fields& v, std::int64_t hidden) {
  const std::int64_t width = v.size({"hidden_size", "vt_hidden_size"}, kWidestTower);
  const std::int64_t height = v.size_or({"init_pos_emb_height"}, 64, kLargestPatch);
  const std::int64_t positions = height * v.size_or({"init_pos_emb_width"}, 64, kLargestPatch);
  const std::int64_t layers = v.size({"num_hidden_layers", "vt_num_hidden_layers"}, kMaxLayers);
  const std::int64_t intermediate =
      v.size({"intermediate_size", "vt_intermediate_size"}, kWidestFfn);
  const std::int64_t merged = 4 * width;  // merge_kernel_size is 2 x 2
  const std::int64_t embed = linear(patch_elements(v, 3, 1), width) + positions * width;
  const std::int64_t projector = 2 * width + linear(merged, merged) + linear(merged, hidden);
  VisionEncoder encoder =
      encoder_of(layers, biased_layer(width, intermediate), width, intermediate);
  encoder.token_parameters = projector;
  encoder.patches_per_token = 4;
  return {.parameters = embed + encoder.patch_parameters + 2 * width + projector,
          .encoder = encoder};
}

// Gemma 4: gated layers without biases, four norms each and one of queries and keys, positions
// learned by row and column, a mean and scale of the outputs and one projection matrix
// (transformers, models/gemma4/modeling_gemma4.py).
VisionTower gemma4_tower(const Fields& v, std::int64_t hidden) {
  const std::int64_t width = v.size({"hidden_size"}, kWidestTower);
  const std::int64_t head = v.size({"head_dim"}, kWidestTower);
  const std::int64_t intermediate = v.size({"intermediate_size"}, kWidestFfn);
  const std::int64_t layer =
      4 * plain_linear(width, width) + 3 * plain_linear(width, intermediate) + 4 * width + 2 * head;
  const std::int64_t embed = plain_linear(patch_elements(v, 3, 1), width) +
                             2 * v.size({"position_embedding_size"}, kLargestVocabulary) * width;
  VisionEncoder encoder =
      encoder_of(v.size({"num_hidden_layers"}, kMaxLayers), layer, width, intermediate);
  encoder.token_parameters = plain_linear(width, hidden);
  const std::int64_t pooled = v.size_or({"pooling_kernel_size"}, 3, kLargestMerge);
  encoder.patches_per_token = pooled * pooled;
  return {.parameters = embed + encoder.patch_parameters + 2 * width + encoder.token_parameters,
          .encoder = encoder};
}

// LLaVA-NeXT: CLIP without its last layer (vision_feature_layer -2) and the norm after it, two
// matrices, and an embedding between rows (vllm 0.26, models/clip.py, llava_next.py).
VisionTower clip_tower(const Fields& v, std::int64_t hidden) {
  const std::int64_t width = v.size({"hidden_size"}, kWidestTower);
  const std::int64_t side = v.size({"image_size"}, 100'000) / v.size({"patch_size"}, kLargestPatch);
  const std::int64_t layers = v.size({"num_hidden_layers"}, kMaxLayers) - 1;
  const std::int64_t embed =
      plain_linear(patch_elements(v, 3, 1), width) + width + (side * side + 1) * width + 2 * width;
  const std::int64_t intermediate = v.size({"intermediate_size"}, kWidestFfn);
  VisionEncoder encoder =
      encoder_of(layers, biased_layer(width, intermediate), width, intermediate);
  encoder.token_parameters = linear(width, hidden) + linear(hidden, hidden);
  encoder.tile_patches = side * side;
  encoder.patches_per_token = 1;
  return {.parameters = embed + encoder.patch_parameters + encoder.token_parameters + hidden,
          .encoder = encoder};
}

}  // namespace

std::optional<VisionTower> vision_tower(const Fields& top, std::int64_t hidden) {
  const auto vision = top.object("vision_config");
  if (!vision) return VisionTower{};
  const std::string outer = top.text({"model_type"});
  const std::string inner = vision->text({"model_type"});
  if (inner == "siglip_vision_model" && outer == "gemma3")
    return gemma3_tower(*vision, top, hidden);
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
