// A model as the small engine runs it: the sizes of its matrices and attention, layer by layer, in
// one number format. Taken from model/architecture/transformer.hpp; what does not change the work
// much (biases, norms of queries and keys, learned positions) is left out and named.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/element.hpp"
#include "model/architecture/transformer.hpp"

namespace roofcast::runtime {

struct RunnableAttention {
  int query_heads = 0;
  int kv_heads = 0;
  int head_dim = 0;
  int window = 0;  // tokens seen, the own one included; 0: all

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

struct RunnableLayer {
  RunnableAttention attention{};
  int intermediate = 0;  // dense block, or the shared experts beside the routed ones; 0: none
  bool gated = true;     // two matrices into the block and their product, or one and gelu
  RunnableExperts experts{};
};

struct RunnableModel {
  std::string name{};
  kernels::Element element = kernels::Element::bf16;  // weights, activations, cache
  int hidden = 0;
  int vocabulary = 0;
  bool rotary = true;  // positions; a model with learned ones runs without any
  std::vector<RunnableLayer> layers{};
  std::vector<std::string> left_out{};  // for the user to read
};

/// The first `layers` layers of the model (nothing: all). Throws Error naming what the engine
/// cannot run: recurrent mixers, latent attention, attention spans other than full and sliding.
RunnableModel runnable_model(const Transformer& model, kernels::Element element,
                             std::optional<int> layers);

/// The element for a model's activations. Throws Error for a format without kernels.
kernels::Element element_of(DType activation);

/// Parameters of the matrices that one token multiplies, embedding table excluded.
double multiplied_parameters(const RunnableModel& model);

/// Bytes of all weights as the engine holds them.
double weight_bytes(const RunnableModel& model);

/// Bytes of the weights that a step of `tokens` tokens reads once: all but the embedding table, and
/// of E experts those that any token picks, E * (1 - (1 - k / E)^tokens) in the mean when tokens
/// pick independently (as model/step/step_work.cpp).
double step_weight_bytes(const RunnableModel& model, std::int64_t tokens);

/// Bytes of the keys and values of one token, all layers.
double kv_bytes_per_token(const RunnableModel& model);

/// Bytes of the keys and values that the next token of a sequence of `tokens` tokens attends to: of
/// a layer with a window, those within it.
double attended_kv_bytes(const RunnableModel& model, double tokens);

}  // namespace roofcast::runtime
