// The small engine in 16 bits against the forward pass in double precision. Rounding may flip a
// near tie, so tokens are not compared directly: each generated token must be nearly the most
// likely one after those before it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "calibrate/runtime/serve.hpp"
#include "kernels/element.hpp"
#include "tests/calibrate/runtime/reference_model.hpp"
#include "tests/calibrate/runtime/tiny_models.hpp"
#include "tests/kernels/tensors.hpp"

namespace roofcast::test {

/// Sizes that the tensor-core kernels accept: heads of 64, matrices of multiples of 8.
inline runtime::RunnableModel rounded_dense(kernels::Element element) {
  const runtime::RunnableLayer layer{.attention = {.query_heads = 4, .kv_heads = 2, .head_dim = 64},
                                     .intermediate = 192};
  return {.name = "rounded dense",
          .element = element,
          .hidden = 128,
          .vocabulary = 320,
          .layers = {layer, layer}};
}

/// Each token uses all eight experts, so that no near tie decides the choice.
inline runtime::RunnableModel rounded_experts(kernels::Element element) {
  runtime::RunnableModel model = rounded_dense(element);
  model.name = "rounded experts";
  for (runtime::RunnableLayer& layer : model.layers) {
    layer.intermediate = 0;
    layer.experts = {.count = 8, .per_token = 8, .intermediate = 64};
  }
  return model;
}

inline double root_mean_square(const std::vector<double>& values) {
  const double squares = std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
  return std::sqrt(squares / static_cast<double>(values.size()));
}

/// Two logits may each be off by accumulated rounding: up to twelve tensors per layer (products,
/// rotation, attention, activation, sums and norms) and three more, each rounded independently by
/// up to rounding_error() of its size, which add up as squares. Eight such deviations practically
/// never occur, while the logits of a random token are three sizes below the largest.
inline double max_behind(const runtime::RunnableModel& model, const std::vector<double>& logits) {
  constexpr double kDeviations = 8;
  constexpr double kRoundingsOfLayer = 12;
  const double roundings = kRoundingsOfLayer * static_cast<double>(model.layers.size()) + 3;
  return 2 * kDeviations * std::sqrt(roundings) * kernels::test::rounding_error(model.element) *
         root_mean_square(logits);
}

/// Three requests with prompts in chunks of up to 16 tokens, one of them starting among decodes.
inline void expect_likely_tokens(kernels::Backend& backend, const runtime::RunnableModel& model) {
  constexpr std::uint64_t kSeed = 11;
  constexpr std::int64_t kTokens = 64;
  constexpr int kPage = 16;
  runtime::Executor executor(
      backend, model,
      {.rows = kTokens, .sequences = 8, .context = kTokens, .pages = 32, .page_size = kPage},
      kSeed);
  Engine engine;
  engine.name = "test";
  engine.max_model_len = kTokens;
  engine.max_num_seqs = 8;
  engine.max_num_batched_tokens = 16;
  engine.block_size = kPage;
  engine.cuda_graphs = false;
  Workload workload;
  workload.requests.push_back({.arrival = 0, .input_tokens = 7, .output_tokens = 6});
  workload.requests.push_back({.arrival = 0, .input_tokens = 23, .output_tokens = 4});
  workload.requests.push_back({.arrival = 1000, .input_tokens = 1, .output_tokens = 9});
  const runtime::ServedRun run =
      runtime::serve(executor, workload, {.engine = engine, .spans = {{}}, .seed = 3});

  ASSERT_EQ(run.sequences.size(), workload.requests.size());
  ReferenceModel reference(model, kSeed);
  for (const auto& [id, tokens] : run.sequences) {
    const Request& request = workload.requests[static_cast<std::size_t>(id)];
    ASSERT_EQ(static_cast<std::int64_t>(tokens.size()),
              request.input_tokens + request.output_tokens);
    for (auto next = tokens.begin() + request.input_tokens; next != tokens.end(); ++next) {
      const std::vector<double> logits = reference.logits({tokens.begin(), next});
      const double largest = *std::max_element(logits.begin(), logits.end());
      EXPECT_GE(logits.at(static_cast<std::size_t>(*next)), largest - max_behind(model, logits))
          << "request " << id << ", token " << next - tokens.begin();
    }
  }
}

}  // namespace roofcast::test
