// A model as our small engine runs it: the sizes of its matrices and attention, layer by layer, in
// one number format. Derived from model/architecture/transformer.hpp; parts that hardly change the
// work (biases, norms of queries and keys, learned positions) are left out and listed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/element.hpp"
#include "kernels/quantized_gemm.hpp"
#include "model/architecture/transformer.hpp"

namespace roofcast::runtime {

struct RunnableAttention {
  int query_heads = 0;
  int kv_heads = 0;
  int head_dim = 0;
  int window = 0;  // tokens attended to, including the current one; 0: all

  int query_width() const { return query_heads * head_dim; }
  int kv_width() const { return kv_heads * head_dim; }
  /// Columns of the fused product: queries, keys, values.
  int qkv_width() const { return query_width() + 2 * kv_width(); }
};

/// Experts of a layer; `count` 0: a dense layer.
struct RunnableExperts {
  int count = 0;
  int per_token = 0;
  int intermediate = 0;
};

/// How a matrix is stored; nullopt: in the model's element.
using MatrixFormat = std::optional<kernels::QuantizedFormat>;

/// Of one layer. Matrices that are multiplied together are one product if their formats are equal.
struct LayerFormats {
  MatrixFormat query{}, key{}, value{}, attention_output{};
  MatrixFormat gate{}, up{}, block_out{};
};

struct RunnableLayer {
  RunnableAttention attention{};
  int intermediate = 0;  // dense block, or the shared experts of a routed layer; 0: none
  bool gated = true;     // two input matrices whose outputs are multiplied; false: one, with gelu
  RunnableExperts experts{};
  LayerFormats formats{};
};

struct RunnableModel {
  std::string name{};
  kernels::Element element =
      kernels::Element::bf16;  // activations, cache, weights of no other format
  int hidden = 0;
  int vocabulary = 0;
  MatrixFormat lm_head_format{};
  // Epsilon of Llama and GPT-2, and RoPE's base from its paper, unless the file has others: they do
  // not change the work.
  float norm_epsilon = 1e-5F;
  double rope_base = 10000.0;
  bool rotary = true;  // rotary positions; models with learned ones run without positions
  std::vector<RunnableLayer> layers{};
  std::vector<std::string> left_out{};  // for the user
};

/// The format in which a CPU multiplies a stored one; nullopt if it is plain or has no kernel.
MatrixFormat quantized_format_of(const WeightFormat& format);

/// Whether any matrix is quantised.
bool is_quantized(const RunnableModel& model);

/// "q8_0", or several, largest first: "q4_k, q6_k"; the element's name where all are plain.
std::string weight_format_text(const RunnableModel& model);

/// The first `layers` layers of the model (unset: all). Layers keep a quantised format that has a
/// kernel; all other matrices have the element. Throws Error naming what the engine cannot run:
/// recurrent mixers, latent attention, attention spans other than full and sliding, rows that are
/// not whole blocks of their format.
RunnableModel runnable_model(const Transformer& model, kernels::Element element,
                             std::optional<int> layers);

/// The element for a model's activations. Throws Error if there are no kernels for the format.
kernels::Element element_of(DType activation);

/// Parameters of the matrices that one token multiplies, without the embedding table.
double multiplied_parameters(const RunnableModel& model);

/// Bytes of all weights as the engine holds them.
double weight_bytes(const RunnableModel& model);

/// Bytes of the weights that a step of `tokens` tokens reads once: all except the embedding table,
/// and of E experts those that any token picks: E * (1 - (1 - k / E)^tokens) on average if tokens
/// pick independently (as in model/step/step_work.cpp).
double step_weight_bytes(const RunnableModel& model, std::int64_t tokens);

/// Bytes of one token's keys and values in all layers.
double kv_bytes_per_token(const RunnableModel& model);

/// Bytes of the keys and values that the next token of a sequence of `tokens` tokens attends to; in
/// a layer with a window only those within it.
double attended_kv_bytes(const RunnableModel& model, double tokens);

}  // namespace roofcast::runtime
