// Models small enough for a fast forward pass in double precision.
#pragma once

#include <ostream>

#include "calibrate/runtime/runnable_model.hpp"

namespace roofcast::runtime {

// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest finds it by this name
inline void PrintTo(const RunnableModel& model, std::ostream* out) { *out << model.name; }

}  // namespace roofcast::runtime

namespace roofcast::test {

/// Two layers of grouped-query attention with gated blocks, fp32.
inline runtime::RunnableModel tiny_dense() {
  runtime::RunnableLayer layer{.attention = {.query_heads = 4, .kv_heads = 2, .head_dim = 16},
                               .intermediate = 48};
  return {.name = "tiny dense",
          .element = kernels::Element::fp32,
          .hidden = 32,
          .vocabulary = 101,
          .layers = {layer, layer}};
}

/// Like GPT-2: as many KV heads as query heads, a plain block, no rotation.
inline runtime::RunnableModel tiny_gpt2() {
  runtime::RunnableLayer layer{.attention = {.query_heads = 2, .kv_heads = 2, .head_dim = 16},
                               .intermediate = 64,
                               .gated = false};
  return {.name = "tiny gpt2",
          .element = kernels::Element::fp32,
          .hidden = 32,
          .vocabulary = 67,
          .rotary = false,
          .layers = {layer, layer}};
}

/// One layer sees 5 tokens, the other all of them.
inline runtime::RunnableModel tiny_windowed() {
  runtime::RunnableModel model = tiny_dense();
  model.name = "tiny windowed";
  model.layers[0].attention.window = 5;
  return model;
}

/// Two of six experts and a shared one, and a layer of experts alone.
inline runtime::RunnableModel tiny_experts() {
  runtime::RunnableModel model = tiny_dense();
  model.name = "tiny experts";
  for (runtime::RunnableLayer& layer : model.layers) {
    layer.experts = {.count = 6, .per_token = 2, .intermediate = 16};
  }
  model.layers[1].intermediate = 0;
  return model;
}

}  // namespace roofcast::test
