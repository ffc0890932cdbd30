// The weights of a model as a list of matrices, from which parameter counts, weight bytes per rank,
// FLOPs per token and the GEMMs of a step are all derived. Sources of the formulas:
// model/README.md, and at each family in weights.cpp and mixer_weights.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "model/architecture/parallelism.hpp"
#include "model/architecture/transformer.hpp"

namespace roofcast {

/// The part of a model to which a weight belongs: the rows of every weight table shown to a user.
enum class Part {
  embedding,
  positions,
  attention,    // attention and latent-attention projections, indexer, qk-norms, sinks
  state_mixer,  // Mamba-2, gated delta net, lightning attention
  dense_ffn,
  experts,
  shared_experts,
  router,
  norms,
  lm_head,
};

std::string_view name_of(Part part);

/// How tensor parallelism splits a weight.
enum class Split {
  replicated,  // every rank holds the whole (norms, routers, latent down-projections)
  output,      // output dimension divided by TP (column-parallel)
  kv_output,   // like output; the K and V part is replicated once TP exceeds the KV heads
  input,       // input dimension divided by TP (row-parallel, followed by an all-reduce)
  expert,      // whole experts over the expert ranks, else each expert's width over TP x CP x DP
  vocabulary,  // rows of the vocabulary divided by TP (embedding, LM head)
};

/// One kind of matrix (or vector) of a layer, or of the embedding and output ends.
struct Weight {
  std::string name{};  // "qkv_proj", "o_proj", "gate_up_proj", "experts.down_proj", ...
  Part part = Part::attention;
  std::int64_t outputs = 0;      // N of the GEMM
  std::int64_t inputs = 0;       // K of the GEMM; 1 for a vector (bias, norm gain)
  std::int64_t copies = 1;       // experts; 1 otherwise
  std::int64_t copies_used = 1;  // per token: experts_per_token; 1 otherwise
  std::int64_t kv_heads = 0;     // for kv_output: number of heads in `kv_outputs`
  std::int64_t kv_outputs = 0;   // for kv_output: how many of the outputs are K and V
  /// Indivisible pieces of the split dimension (query heads, gate and up pairs); 0: elements.
  std::int64_t pieces = 0;
  Split split = Split::replicated;
  /// For expert: how one expert is split if experts are not spread over ranks.
  Split expert_split = Split::output;
  bool multiplies = true;  // false: a vector or a lookup table, no GEMM
  WeightFormat format{};

  std::int64_t parameters() const { return outputs * inputs * copies; }
  std::int64_t parameters_used() const { return outputs * inputs * copies_used; }
};

/// The weights of one layer. `hidden` is the model width, `activation` the dtype of norms and
/// routers.
std::vector<Weight> layer_weights(const Layer& layer, std::int64_t hidden, DType activation);

/// Embedding, learned positions, final norm, LM head (absent when tied).
std::vector<Weight> end_weights(const Transformer& model);

/// The matrix that turns the last hidden state into logits, whether stored separately or tied to
/// the input embedding.
Weight lm_head_matrix(const Transformer& model);

/// A weight after sharding: what one rank holds (the largest share if it does not divide evenly).
/// `copies_used` is still that of the whole model: which rank's experts a token chooses is not
/// known here, so callers divide a batch's token-expert pairs by Parallelism::expert_ranks().
Weight shard(const Weight& weight, const Parallelism& parallel);

struct ParameterCount {
  std::int64_t total = 0;   // text model, excluding next-token-prediction blocks and vision tower
  std::int64_t active = 0;  // used for one token, counting both embeddings
  std::int64_t active_without_input_embedding = 0;  // the figure relevant to FLOPs
};

ParameterCount count_parameters(const Transformer& model);

struct PartBytes {
  Part part = Part::attention;
  std::string format{};  // WeightFormat name
  Bytes bytes{};
};

/// Stored bytes by part and format, of the whole model (Parallelism{}) or of the fullest rank of
/// the fullest pipeline stage. Excludes a vision tower; see vision_bytes.
std::vector<PartBytes> weight_bytes_by_part(const Transformer& model, const Parallelism& parallel);

/// Vision encoder and projector on one of `tensor` ranks, 16-bit. Engines split its matrices as the
/// language model's (vLLM's mm_encoder_tp_mode "weights", the default; SGLang's VisionAttention),
/// except in Mistral's own format. Neglects patch embedding and norms, which every rank holds.
Bytes vision_bytes(const Transformer& model, int tensor = 1);

/// Sum of weight_bytes_by_part plus the vision tower. If the
/// model has exact checkpoint bytes, these replace the formula on one GPU, and on more they scale
/// the fullest rank's share (exact over formula).
Bytes weight_bytes(const Transformer& model, const Parallelism& parallel);

/// The same for the fullest rank of every pipeline stage, summed over the stages: less than
/// weight_bytes() times their number where some stages hold fewer layers, or no embedding.
Bytes weight_bytes_of_stages(const Transformer& model, const Parallelism& parallel);

/// FLOPs of one token's matrix multiplications, 2 * active matmul parameters. Excludes attention
/// over the context (attention_flops.hpp); includes the LM head if `with_lm_head`.
Flops matmul_flops_per_token(const Transformer& model, bool with_lm_head);

/// First layer (inclusive) and last (exclusive) of pipeline stage `stage`. Layers are divided as in
/// vLLM (remainder to the middle stages, from the second-last backwards).
struct LayerRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
};
LayerRange pipeline_stage(std::int64_t layers, int stages, int stage);

}  // namespace roofcast
