// A whole forward pass in double precision without cache, pages, batches or chunks, with which the
// small engine's tokens are compared. Weights are those of random_weights().
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "calibrate/runtime/device_weights.hpp"
#include "tests/calibrate/runtime/reference_backend.hpp"

namespace roofcast::test {

using Rows = std::vector<std::vector<double>>;

class ReferenceModel {
 public:
  ReferenceModel(const runtime::RunnableModel& model, std::uint64_t seed)
      : model_(model), weights_(runtime::random_weights(backend_, model, seed)) {}

  /// Logits after the last token.
  std::vector<double> logits(const std::vector<std::int32_t>& tokens) {
    Rows states;
    for (const std::int32_t token : tokens) {
      states.push_back(row(weights_.embedding, static_cast<std::size_t>(token), hidden()));
    }
    for (std::size_t i = 0; i < model_.layers.size(); ++i) {
      add(states, attention(normed(states, weights_.layers[i].attention_norm), i));
      const Rows input = normed(states, weights_.layers[i].block_norm);
      if (model_.layers[i].intermediate > 0) add(states, block(input, i));
      if (model_.layers[i].experts.count > 0) add(states, experts(input, i));
    }
    const Rows last = normed({states.back()}, weights_.final_norm);
    return times(last.front(), weights_.lm_head, 0, static_cast<std::size_t>(model_.vocabulary));
  }

  /// The prompt followed by `count` greedy tokens.
  std::vector<std::int32_t> generate(std::vector<std::int32_t> tokens, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::vector<double> values = logits(tokens);
      const auto largest = std::max_element(values.begin(), values.end());
      tokens.push_back(static_cast<std::int32_t>(largest - values.begin()));
    }
    return tokens;
  }

 private:
  std::size_t hidden() const { return static_cast<std::size_t>(model_.hidden); }

  std::vector<double> row(const kernels::Memory& matrix, std::size_t index,
                          std::size_t width) const {
    return kernels::values_of(model_.element, matrix.data(),
                              static_cast<std::int64_t>(index * width),
                              static_cast<std::int64_t>(width));
  }

  /// Rows `first` to `first + outputs` of the matrix, times the vector.
  std::vector<double> times(const std::vector<double>& vector, const kernels::Memory& matrix,
                            std::size_t first, std::size_t outputs) const {
    std::vector<double> result(outputs);
    for (std::size_t n = 0; n < outputs; ++n) {
      const std::vector<double> weights = row(matrix, first + n, vector.size());
      result[n] = std::inner_product(vector.begin(), vector.end(), weights.begin(), 0.0);
    }
    return result;
  }

  /// Of a plain matrix, which is one part.
  std::vector<double> times(const std::vector<double>& vector, const runtime::Matrix& matrix,
                            std::size_t first, std::size_t outputs) const {
    return times(vector, matrix.parts.front().data, first, outputs);
  }

  Rows normed(const Rows& states, const kernels::Memory& gains) const {
    const std::vector<double> gain = row(gains, 0, hidden());
    Rows result = states;
    for (std::vector<double>& state : result) {
      double squares = 0;
      for (const double value : state) squares += value * value;
      const double rms = std::sqrt(squares / static_cast<double>(hidden()) + 1e-5);
      for (std::size_t i = 0; i < state.size(); ++i) state[i] *= gain[i] / rms;
    }
    return result;
  }

  static void add(Rows& states, const Rows& more) {
    for (std::size_t t = 0; t < states.size(); ++t) {
      for (std::size_t i = 0; i < states[t].size(); ++i) states[t][i] += more[t][i];
    }
  }

  /// Rotates a head in place, as RoFormer does with base 10,000.
  void rotate(std::vector<double>& values, std::size_t head, std::size_t position,
              std::size_t size) const {
    if (!model_.rotary) return;
    for (std::size_t i = 0; i < size / 2; ++i) {
      const double angle =
          static_cast<double>(position) *
          std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(size));
      double& a = values[head * size + i];
      double& b = values[head * size + i + size / 2];
      const double turned = a * std::cos(angle) - b * std::sin(angle);
      b = b * std::cos(angle) + a * std::sin(angle);
      a = turned;
    }
  }

  Rows attention(const Rows& input, std::size_t layer) const {
    const runtime::RunnableAttention& sizes = model_.layers[layer].attention;
    const auto size = static_cast<std::size_t>(sizes.head_dim);
    const auto heads = static_cast<std::size_t>(sizes.query_heads);
    const auto kv_heads = static_cast<std::size_t>(sizes.kv_heads);
    const auto& weights = weights_.layers[layer];
    Rows queries, keys, values, result;
    for (std::size_t t = 0; t < input.size(); ++t) {
      queries.push_back(times(input[t], weights.qkv, 0, heads * size));
      keys.push_back(times(input[t], weights.qkv, heads * size, kv_heads * size));
      values.push_back(times(input[t], weights.qkv, (heads + kv_heads) * size, kv_heads * size));
      for (std::size_t h = 0; h < heads; ++h) rotate(queries[t], h, t, size);
      for (std::size_t h = 0; h < kv_heads; ++h) rotate(keys[t], h, t, size);
    }
    for (std::size_t t = 0; t < input.size(); ++t) {
      std::vector<double> attended(heads * size, 0.0);
      const auto window = static_cast<std::size_t>(sizes.window);
      const std::size_t first = window > 0 && t + 1 > window ? t + 1 - window : 0;
      for (std::size_t h = 0; h < heads; ++h) {
        const std::size_t group = h / (heads / kv_heads);
        std::vector<double> scores;
        for (std::size_t s = first; s <= t; ++s) {
          double dot = 0;
          for (std::size_t i = 0; i < size; ++i) {
            dot += queries[t][h * size + i] * keys[s][group * size + i];
          }
          scores.push_back(std::exp(dot / std::sqrt(static_cast<double>(size))));
        }
        const double sum = std::accumulate(scores.begin(), scores.end(), 0.0);
        for (std::size_t s = first; s <= t; ++s) {
          for (std::size_t i = 0; i < size; ++i) {
            attended[h * size + i] += scores[s - first] / sum * values[s][group * size + i];
          }
        }
      }
      result.push_back(times(attended, weights.attention_output, 0, hidden()));
    }
    return result;
  }

  static double silu(double x) { return x / (1 + std::exp(-x)); }
  static double gelu(double x) {  // the tanh form
    constexpr double kRootTwoOverPi = 0.7978845608028654;
    return 0.5 * x * (1 + std::tanh(kRootTwoOverPi * (x + 0.044715 * x * x * x)));
  }

  /// Into the block, through its nonlinearity, and out; the matrices start at these rows.
  std::vector<double> feed_forward(const std::vector<double>& input, const kernels::Memory& in,
                                   std::size_t in_row, const kernels::Memory& out,
                                   std::size_t out_row, std::size_t width, bool gated) const {
    const std::vector<double> up = times(input, in, in_row, gated ? 2 * width : width);
    std::vector<double> middle(width);
    for (std::size_t i = 0; i < width; ++i) {
      middle[i] = gated ? silu(up[i]) * up[width + i] : gelu(up[i]);
    }
    return times(middle, out, out_row, hidden());
  }

  Rows block(const Rows& input, std::size_t layer) const {
    const auto& sizes = model_.layers[layer];
    const auto& weights = weights_.layers[layer];
    Rows result;
    for (const std::vector<double>& state : input) {
      result.push_back(feed_forward(state, weights.block_in.parts.front().data, 0,
                                    weights.block_out.parts.front().data, 0,
                                    static_cast<std::size_t>(sizes.intermediate), sizes.gated));
    }
    return result;
  }

  Rows experts(const Rows& input, std::size_t layer) const {
    const auto& sizes = model_.layers[layer].experts;
    const auto& weights = weights_.layers[layer];
    const auto width = static_cast<std::size_t>(sizes.intermediate);
    Rows result;
    for (const std::vector<double>& state : input) {
      const std::vector<double> logits =
          times(state, weights.router, 0, static_cast<std::size_t>(sizes.count));
      std::vector<std::size_t> order(logits.size());
      std::iota(order.begin(), order.end(), 0U);
      std::stable_sort(order.begin(), order.end(),
                       [&](std::size_t a, std::size_t b) { return logits[a] > logits[b]; });
      order.resize(static_cast<std::size_t>(sizes.per_token));
      double sum = 0;
      for (const std::size_t e : order) sum += std::exp(logits[e]);
      std::vector<double> mixed(hidden(), 0.0);
      for (const std::size_t e : order) {
        const std::vector<double> answer =
            feed_forward(state, weights.experts_in, e * 2 * width, weights.experts_out,
                         e * hidden(), width, true);
        for (std::size_t i = 0; i < mixed.size(); ++i) {
          mixed[i] += std::exp(logits[e]) / sum * answer[i];
        }
      }
      result.push_back(mixed);
    }
    return result;
  }

  ReferenceBackend backend_;
  const runtime::RunnableModel& model_;
  runtime::DeviceWeights weights_;
};

}  // namespace roofcast::test
