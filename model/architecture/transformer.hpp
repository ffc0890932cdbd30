// The shape of a language model, layer by layer, from its config.json: enough to count parameters,
// bytes and FLOPs, without weight values. Every layer is a token mixer (attention or a recurrent
// state) followed by a feed-forward block; either may be absent (Nemotron-H counts them as separate
// layers).
// Vocabulary: reference names are Hugging Face's; sizes are in elements unless the name says bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/units.hpp"
#include "model/architecture/dtype.hpp"
#include "model/architecture/sampling.hpp"

namespace roofcast {

/// Which tokens an attention layer attends to: earlier ones, but for encoders. Two layers with
/// equal spans read the same number of cached tokens for a given sequence.
struct AttentionSpan {
  enum class Kind {
    full,     // all earlier tokens
    sliding,  // the last `tokens` tokens, including the current one
    chunked,  // the tokens of the current chunk of `tokens` (Llama-4 local layers)
    sparse,   // the `tokens` best earlier ones, chosen by an indexer (DeepSeek-V3.2)
    both,     // the whole input, earlier and later tokens (BERT): nothing is cached
  };
  Kind kind = Kind::full;
  std::int64_t tokens = 0;  // unused for full and both

  bool operator==(const AttentionSpan&) const = default;
};

/// Cached tokens that the next token of a sequence with `context` cached tokens attends to,
/// including itself: context + 1 for full attention, at most the window otherwise.
std::int64_t attended_tokens(const AttentionSpan& span, std::int64_t context);

/// Multi-head, grouped-query or multi-query attention with a KV cache per head.
struct Attention {
  std::int64_t query_heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;        // of queries and keys
  std::int64_t value_head_dim = 0;  // equals head_dim in nearly all models
  AttentionSpan span{};
  bool qkv_bias = false;
  bool output_bias = false;
  bool output_gate = false;           // Qwen3-Next: the query projection is doubled
  std::int64_t qk_norm_elements = 0;  // 2 * head_dim when per head, q + k width when full width
  std::int64_t sink_elements = 0;     // gpt-oss: one per query head
  bool keys_are_values = false;       // DeepSeek-V4: one projection, one cache for both
  bool caches_both = false;           // with keys_are_values: still two caches, as engines run
                                      // Gemma-4's global layers (only its keys are rotated)
  bool reuses_earlier_cache = false;  // cross-layer sharing: computes no K/V and stores none
  /// Tokens per cached entry: 1, or the compression ratio of DeepSeek-V4's compressed caches.
  std::int64_t cache_compression = 1;
  /// Tokens kept uncompressed in addition to a compressed cache (DeepSeek-V4: its window of 128);
  /// 0: none.
  std::int64_t local_tokens = 0;
  // Low-rank query and grouped low-rank output projections (DeepSeek-V4); 0: one plain matrix.
  std::int64_t q_lora_rank = 0;
  std::int64_t output_lora_rank = 0;  // per group
  std::int64_t output_groups = 1;
  // Indexer that chooses what a sparse span reads; one key of `index_head_dim` is cached per
  // (compressed) entry. Its projections are listed in Layer::extra.
  std::int64_t index_heads = 0;
  std::int64_t index_head_dim = 0;

  bool operator==(const Attention&) const = default;
};

/// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434 section 2.1): per token the cache
/// holds one latent of kv_lora_rank + rope_dim elements, shared by all heads.
struct LatentAttention {
  std::int64_t query_heads = 0;
  std::int64_t q_lora_rank = 0;  // 0: queries are projected directly
  std::int64_t kv_lora_rank = 0;
  std::int64_t nope_dim = 0;  // per head, without position
  std::int64_t rope_dim = 0;  // per head, rotary; shared by all heads in the cache
  std::int64_t value_head_dim = 0;
  AttentionSpan span{};          // sparse for DeepSeek-V3.2 and GLM-5
  std::int64_t index_heads = 0;  // lightning indexer (DeepSeek-V3.2); 0: none
  std::int64_t index_head_dim = 0;
  bool bias = false;
  bool output_gate = false;  // Kimi-K3: of every value element

  bool operator==(const LatentAttention&) const = default;
};

/// The work of a vision encoder on an image, which it cuts into patches.
struct VisionEncoder {
  std::int64_t layers = 0;
  std::int64_t width = 0;              // of a patch's state
  std::int64_t intermediate = 0;       // of a layer's FFN
  std::int64_t patch_parameters = 0;   // of all layers' matrices, which every patch meets
  std::int64_t token_parameters = 0;   // of the projector's, which every joined patch meets
  std::int64_t patches_per_token = 0;  // joined for the language model; 0: shape not known
  std::int64_t tile_patches = 0;       // a patch attends to its tile of this many; 0: to its image
  std::int64_t windowed_layers = 0;    // in which a patch attends to a window only,
  std::int64_t window_patches = 0;     // of this many
};

/// Mamba-2 mixer (arXiv 2405.21060): constant state per sequence.
struct Mamba2 {
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t state = 0;
  std::int64_t groups = 0;
  std::int64_t conv_kernel = 0;
  bool conv_bias = true;
  bool projection_bias = false;

  bool operator==(const Mamba2&) const = default;
};

/// Gated delta net (Qwen3-Next, Qwen3.5): linear attention with constant state per sequence.
struct GatedDeltaNet {
  std::int64_t key_heads = 0;
  std::int64_t value_heads = 0;
  std::int64_t key_dim = 0;
  std::int64_t value_dim = 0;
  std::int64_t conv_kernel = 0;
  /// Kimi delta attention: rank of its decay and output gates, with one decay per key element
  /// instead of one per head; 0: the full-width gates of Qwen3-Next.
  std::int64_t gate_rank = 0;
  bool full_output_gate = false;  // Kimi-K3: with gate_rank, the output gate is not of low rank

  bool operator==(const GatedDeltaNet&) const = default;
};

/// Lightning attention (MiniMax-Text-01): linear attention, state heads * head_dim^2.
struct LightningAttention {
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;

  bool operator==(const LightningAttention&) const = default;
};

/// monostate: the layer mixes no tokens (a feed-forward sub-block of Nemotron-H, a no-op).
using Mixer = std::variant<std::monostate, Attention, LatentAttention, Mamba2, GatedDeltaNet,
                           LightningAttention>;

struct DenseFfn {
  std::int64_t intermediate = 0;
  bool gated = true;  // three matrices (SwiGLU, GeGLU) instead of two
  bool bias = false;

  bool operator==(const DenseFfn&) const = default;
};

struct MoeFfn {
  std::int64_t experts = 0;
  std::int64_t experts_per_token = 0;
  std::int64_t expert_intermediate = 0;
  bool gated = true;
  std::int64_t shared_intermediate = 0;  // all shared experts together; 0: none
  bool shared_gate = false;              // Qwen: one sigmoid gate vector of `hidden` elements
  bool router_bias = false;              // one per expert: gpt-oss, or a score correction (V3)
  bool expert_bias = false;              // gpt-oss: biases in every expert matrix
  std::int64_t latent = 0;               // Nemotron-3, Kimi-K3: the experts' input; 0: hidden

  bool operator==(const MoeFfn&) const = default;
};

/// A weight that no struct above describes (a per-layer embedding's projections, a compressor,
/// a linear replacement of attention): counted with its layer and replicated on every rank.
struct ExtraWeight {
  std::string name{};
  std::int64_t outputs = 0;
  std::int64_t inputs = 1;  // 1: a vector
  bool multiplies = true;   // false: a vector or a lookup table
  bool of_ffn = false;      // belongs to the feed-forward block instead of the mixer
  WeightFormat format{};

  bool operator==(const ExtraWeight&) const = default;
};

/// monostate: no feed-forward block.
using Ffn = std::variant<std::monostate, DenseFfn, MoeFfn>;

struct Layer {
  Mixer mixer{};
  Ffn ffn{};
  std::int64_t norm_elements = 0;  // gains (and biases) of the layer's norms, excluding qk-norms
  WeightFormat mixer_format{};
  WeightFormat output_format{.name = ""};  // latent attention's output projection: output_format_of
  WeightFormat ffn_format{};               // dense FFN, or the routed experts
  WeightFormat shared_format{};            // shared experts
  std::vector<ExtraWeight> extra{};

  bool operator==(const Layer&) const = default;
};

/// That of the mixer unless it has one of its own.
inline const WeightFormat& output_format_of(const Layer& layer) {
  return layer.output_format.name.empty() ? layer.mixer_format : layer.output_format;
}

/// A whole model. Layers are in order; neighbours are often identical and then compare equal.
struct Transformer {
  std::string name{};          // as requested: catalogue name or path
  std::string model_type{};    // config.json's model_type
  std::string architecture{};  // config.json's architectures[0]
  std::int64_t hidden = 0;
  std::int64_t vocabulary = 0;
  std::int64_t max_context = 0;  // longest sequence the config allows; 0: not stated
  // A second embedding table of `vocabulary` rows that feeds every layer (Gemma-3n, Gemma-4 E):
  // elements per layer and row; 0: none. Its projections are in Layer::extra and `extra`.
  std::int64_t per_layer_embedding = 0;
  std::int64_t learned_positions = 0;  // rows of a learned position table (GPT-2); 0: none
  bool tied_embeddings = false;        // the LM head reuses the input embedding
  bool lm_head_bias = false;
  std::vector<Layer> layers{};
  std::int64_t final_norm_elements = 0;
  std::vector<ExtraWeight> extra{};  // weights outside any layer, counted with the embedding
  WeightFormat embedding_format{};
  WeightFormat lm_head_format{};
  DType activation = DType::bf16;   // dtype of activations, norms and routers
  DType state_dtype = DType::bf16;  // recurrent (SSM) state; fp32 if the config states it
  SamplingKind sampling = SamplingKind::plain;  // default of generation_config.json
  std::optional<DType> kv_cache_dtype{};        // as the checkpoint specifies; else `activation`
  std::int64_t vision_parameters = 0;  // encoder and projector of a multimodal model, 16-bit
  /// The encoder's depth and width as the config names them, num_hidden_layers and hidden_size; 0:
  /// not named, or no encoder (`has_vision`).
  bool has_vision = false;
  std::int64_t vision_layers = 0;
  std::int64_t vision_hidden = 0;
  VisionEncoder vision{};
  std::int64_t next_token_layers = 0;  // multi-token-prediction blocks, not counted in `layers`
  std::optional<Bytes> checkpoint_bytes{};  // exact, if safetensors or GGUF files were present
  std::vector<std::string> notes{};         // assumptions and omissions, for the user to read
  std::string source{};                     // where the values come from
};

/// Whether its layers attend in both directions (BERT), so that it keeps no K and V and generates
/// nothing: it pools.
bool is_encoder(const Transformer& model);

}  // namespace roofcast
