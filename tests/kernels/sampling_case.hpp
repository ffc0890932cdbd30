// Sampling problems with their permitted answers, shared by the CPU and CUDA tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "tests/kernels/reference_tokens.hpp"
#include "tests/kernels/tensors.hpp"

namespace roofcast::kernels::test {

struct SamplingShape {
  std::string name;
  Element element = Element::bf16;
  std::int64_t rows = 5;
  int vocabulary = 1000;
  int top_k = 0;
  float top_p = 1;
  float temperature = 1;
  bool zeros = false;  // logits -0, 0, -0, ...: all equal
};

// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest finds it by this name
inline void PrintTo(const SamplingShape& shape, std::ostream* out) {
  *out << name_of(shape.element) << "_" << shape.name;
}

/// Real vocabularies, of which GPT-2's is odd; every way to truncate, and its limits.
inline std::vector<SamplingShape> sampling_shapes() {
  const std::vector<SamplingShape> kinds = {
      {.name = "greedy", .top_k = 1},
      {.name = "greedy_large", .rows = 3, .vocabulary = 128256, .top_k = 1},
      {.name = "greedy_odd", .rows = 2, .vocabulary = 50257, .top_k = 1},
      {.name = "greedy_one_token", .vocabulary = 1, .top_k = 1},
      {.name = "greedy_cold", .top_k = 1, .temperature = 0},
      {.name = "all"},
      {.name = "all_large", .rows = 3, .vocabulary = 128256},
      {.name = "all_odd", .rows = 2, .vocabulary = 50257},
      {.name = "top_k", .rows = 40, .top_k = 50},
      {.name = "top_2", .rows = 40, .top_k = 2},
      {.name = "top_k_of_all", .top_k = 1000},
      {.name = "top_k_beyond_all", .top_k = 5000},
      {.name = "top_p", .rows = 40, .top_p = 0.9F},
      {.name = "top_p_tiny", .top_p = 1e-6F},
      {.name = "top_k_and_p", .rows = 40, .top_k = 20, .top_p = 0.8F},
      {.name = "large_top_k_and_p", .rows = 2, .vocabulary = 128256, .top_k = 64, .top_p = 0.95F},
      {.name = "hot", .temperature = 3},
      {.name = "cold", .temperature = 0.1F},
      {.name = "greedy_zeros", .top_k = 1, .zeros = true},
      {.name = "top_k_zeros", .top_k = 3, .zeros = true},
      {.name = "nothing", .rows = 0}};
  std::vector<SamplingShape> shapes;
  for (const Element element : {Element::fp32, Element::fp16, Element::bf16}) {
    for (SamplingShape shape : kinds) {
      shape.element = element;
      shapes.push_back(shape);
    }
  }
  return shapes;
}

struct SamplingCase {
  explicit SamplingCase(const SamplingShape& shape_in) : shape(shape_in) {
    // The ends of [0, 1).
    const float ends[] = {0, 0x1.fffffep-1F};
    for (std::size_t r = 0; r < std::min<std::size_t>(2, uniform.size()); ++r) {
      uniform.set(r, ends[r]);
    }
    // A tie for the largest, which the lower index is to win.
    if (logits.size() > 700) {
      logits.set(700, 20);
      logits.set(401, 20);
    }
    for (std::size_t i = 0; shape.zeros && i < logits.size(); ++i) {
      logits.set(i, i % 2 == 0 ? -0.0F : 0.0F);
    }
  }

  SamplingShape shape;
  std::mt19937 random{fresh_seed()};
  Tensor logits{random_tensor(shape.element, count(shape.rows, shape.vocabulary), random, 3)};
  Array<float> uniform{random_factors(count(shape.rows), 0, 1, random)};
  Array<std::int32_t> token{count(shape.rows)};
  std::vector<Storage> workspace{};
};

template <class Place>
Sampling problem(SamplingCase& c, Place& place) {
  Sampling sampling{.rows = c.shape.rows,
                    .vocabulary = c.shape.vocabulary,
                    .element = c.shape.element,
                    .logits = place.at(c.logits),
                    .top_k = c.shape.top_k,
                    .top_p = c.shape.top_p,
                    .temperature = c.shape.temperature,
                    .uniform = c.shape.top_k == 1 ? nullptr : at(place, c.uniform),
                    .token = at(place, c.token)};
  if (c.workspace.empty()) c.workspace.emplace_back(count(workspace_bytes(sampling)));
  sampling.workspace = place.at(c.workspace.front());
  return sampling;
}

/// Relative error of a running fp32 sum of exponentials: one addition per token of the vocabulary,
/// and 32 units for an exponential whose argument of at most 30 is off by one unit.
inline double sampling_error(const SamplingShape& shape) { return (shape.vocabulary + 32) * kUnit; }

/// Greedy sampling has one answer. A random token must be one that the reference draws if uniform
/// and top_p move by the error of the sums that they are compared with.
inline void expect_answer(SamplingCase& c) {
  HostPlace host;
  const Sampling sampling = problem(c, host);
  EXPECT_TRUE(c.token.guard_is_whole());
  EXPECT_TRUE(c.workspace.front().guard_is_whole());
  if (c.shape.top_k == 1) {
    EXPECT_EQ(c.token.values(), sampling_reference(sampling));
    return;
  }
  const double error = sampling_error(c.shape);
  for (std::int64_t row = 0; row < c.shape.rows; ++row) {
    const std::vector<std::int32_t> order = sampling_order(sampling, row);
    const auto place_at = [&](double uniform_error, double top_p_error) {
      return drawn_place(sampling, row, order,
                         std::max(0.0, c.uniform.get(count(row)) + uniform_error),
                         std::clamp(c.shape.top_p + top_p_error, 0.0, 1.0));
    };
    const auto drawn = std::find(order.begin(), order.end(), c.token.get(count(row)));
    ASSERT_NE(drawn, order.end()) << "row " << row << " drew " << c.token.get(count(row));
    EXPECT_GE(drawn - order.begin(), place_at(-error, -error)) << "row " << row;
    EXPECT_LE(drawn - order.begin(), place_at(error, error)) << "row " << row;
  }
}

}  // namespace roofcast::kernels::test
