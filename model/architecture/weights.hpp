// The weights of a model as a list of matrices: the one place from which parameter counts, weight
// bytes per rank, FLOPs per token and the GEMMs of a step are all derived.
// Sources of the formulas: model/README.md, and at each family in weights.cpp, mixer_weights.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "model/architecture/parallelism.hpp"
#include "model/architecture/transformer.hpp"

namespace roofcast {

/// The part of a model that a weight belongs to: the rows of every weight table shown to a user.
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

/// What tensor parallelism does to a weight.
enum class Split {
  replicated,  // every rank holds all of it (norms, routers, latent down-projections)
  output,      // output dimension divided by TP (column-parallel)
  kv_output,   // as output; the K and V part is replicated once TP exceeds the KV heads
  input,       // input dimension divided by TP (row-parallel, followed by an all-reduce)
  expert,      // whole experts over the expert ranks, else each expert's width over TP x DP
  vocabulary,  // rows of the vocabulary divided by TP (embedding, LM head)
};

/// One kind of matrix (or vector) of one layer, or of the model's ends.
struct Weight {
  std::string name{};  // "qkv_proj", "o_proj", "gate_up_proj", "experts.down_proj", ...
  Part part = Part::attention;
  std::int64_t outputs = 0;      // N of the GEMM
  std::int64_t inputs = 0;       // K of the GEMM; 1 for a vector (bias, norm gain)
  std::int64_t copies = 1;       // experts; 1 otherwise
  std::int64_t copies_used = 1;  // per token: experts_per_token; 1 otherwise
  std::int64_t kv_heads = 0;     // for kv_output: how many heads `kv_outputs` are divided into
  std::int64_t kv_outputs = 0;   // for kv_output: how many of the outputs are K and V
  /// Indivisible pieces of the split dimension (query heads, gate and up pairs); 0: elements.
  std::int64_t pieces = 0;
  Split split = Split::replicated;
  /// For expert: how one expert is split where experts are not spread over ranks.
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

/// The matrix that turns the last hidden state into logits, whether stored of its own or tied to
/// the input embedding.
Weight lm_head_matrix(const Transformer& model);

/// A weight after sharding: what one rank holds (the largest share where it does not divide).
/// `copies_used` stays that of the whole model: which rank's experts a token picks is not known
/// here, so a caller divides the token-expert pairs of a batch by Parallelism::expert_ranks().
Weight shard(const Weight& weight, const Parallelism& parallel);

struct ParameterCount {
  std::int64_t total = 0;   // text model, without next-token-prediction blocks and vision tower
  std::int64_t active = 0;  // used for one token, both embeddings counted
  std::int64_t active_without_input_embedding = 0;  // the FLOP-relevant figure
};

ParameterCount count_parameters(const Transformer& model);

struct PartBytes {
  Part part = Part::attention;
  std::string format{};  // WeightFormat name
  Bytes bytes{};
};

/// Bytes stored, by part and format, of the whole model (Parallelism{}) or of the fullest rank
/// of the fullest pipeline stage. A vision tower is in none of the parts; see vision_bytes.
std::vector<PartBytes> weight_bytes_by_part(const Transformer& model, const Parallelism& parallel);

/// Vision encoder and projector, replicated on each rank, 16-bit.
Bytes vision_bytes(const Transformer& model);

/// Sum of weight_bytes_by_part plus the vision tower (replicated on each rank, 16-bit).
/// Exact checkpoint bytes win over the formula when the model has them: as they are on one GPU,
/// on more as a correction factor (exact over formula) of the fullest rank's share.
Bytes weight_bytes(const Transformer& model, const Parallelism& parallel);

/// FLOPs of the matrix multiplications of one token, 2 * active matmul parameters; attention over
/// the context excluded (see attention_flops), LM head included when `with_lm_head`.
Flops matmul_flops_per_token(const Transformer& model, bool with_lm_head);

/// FLOPs of attention scores and values for one token that attends to `context` tokens (itself
/// included), summed over all layers: 4 * heads * head_dim * attended per attention layer;
/// absorbed latent attention 2 * heads * (2 * kv_lora_rank + rope_dim) * attended.
/// A sparse layer also scans all of its context with its indexer: 2 * index_heads * index_head_dim.
Flops attention_flops_per_token(const Transformer& model, std::int64_t context);

/// FLOPs of one layer's scores and values for one query token over `attended` cached tokens;
/// 0 for layers without attention. The indexer is not in it.
Flops attention_flops(const Layer& layer, std::int64_t attended);

/// FLOPs that recurrent mixers spend on their state per token, whatever the context.
Flops state_flops_per_token(const Transformer& model);

/// First layer (inclusive) and last (exclusive) of pipeline stage `stage`: layers divided as evenly
/// as vLLM does (remainder to the middle stages, from the second last backwards).
struct LayerRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
};
LayerRange pipeline_stage(std::int64_t layers, int stages, int stage);

}  // namespace roofcast
