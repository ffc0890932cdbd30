// Routing and combine problems with reference answers, shared by the CPU and CUDA tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <ostream>
#include <random>
#include <vector>

#include "tests/kernels/reference_tokens.hpp"
#include "tests/kernels/tensors.hpp"

namespace roofcast::kernels::test {

struct RoutingShape {
  Element element;
  std::int64_t tokens;
  int experts;
  int top_k;
};

// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest finds it by this name
inline void PrintTo(const RoutingShape& shape, std::ostream* out) {
  *out << name_of(shape.element) << "_" << shape.tokens << "_top" << shape.top_k << "of"
       << shape.experts;
}

/// Mixtral, Qwen3, DeepSeek-V3, gpt-oss; the bounds of the contract; a number of experts that no
/// warp divides; one token; none.
inline std::vector<RoutingShape> routing_shapes() {
  std::vector<RoutingShape> shapes;
  for (const Element element : {Element::fp32, Element::fp16, Element::bf16}) {
    shapes.push_back({element, 100, 8, 2});
    shapes.push_back({element, 65, 128, 8});
    shapes.push_back({element, 33, 256, 8});
    shapes.push_back({element, 300, 32, 4});
    shapes.push_back({element, 7, kMaxExperts, kMaxChoices});
    shapes.push_back({element, 31, 60, 4});
    shapes.push_back({element, 1, 64, 6});
    shapes.push_back({element, 40, 3, 3});
    shapes.push_back({element, 5, 1, 1});
    shapes.push_back({element, 0, 8, 2});
  }
  return shapes;
}

struct RoutingCase {
  explicit RoutingCase(const RoutingShape& shape_in) : shape(shape_in) {
    // One token to which all experts are equal, and one that would wrap an unsigned key.
    for (std::size_t e = 0; shape.tokens > 1 && e < count(shape.experts); ++e) {
      logits.set(e, 0.5F);
      logits.set(count(shape.experts) + e, -1 - static_cast<float>(e % 5));
    }
  }

  RoutingShape shape;
  std::mt19937 random{fresh_seed()};
  Tensor logits{random_tensor(shape.element, count(shape.tokens, shape.experts), random, 2)};
  Array<std::int32_t> first_row{count(shape.experts + 1)};
  Array<std::int32_t> source{count(shape.tokens, shape.top_k)};
  Array<std::int32_t> place{count(shape.tokens, shape.top_k)};
  Tensor weight{Element::fp32, count(shape.tokens, shape.top_k)};
  std::vector<Storage> workspace{};
};

template <class Place>
Routing problem(RoutingCase& c, Place& place) {
  Routing routing{.tokens = c.shape.tokens,
                  .experts = c.shape.experts,
                  .top_k = c.shape.top_k,
                  .element = c.shape.element,
                  .logits = place.at(c.logits),
                  .first_row = at(place, c.first_row),
                  .source = at(place, c.source),
                  .place = at(place, c.place),
                  .weight = static_cast<float*>(place.at(c.weight))};
  if (c.workspace.empty()) c.workspace.emplace_back(count(workspace_bytes(routing)));
  routing.workspace = place.at(c.workspace.front());
  return routing;
}

/// Choices and their order compare stored numbers, so they have one answer. A weight is an
/// exponential over a sum of at most 32: twice 16 units for the exponential, whose argument of at
/// most 16 is off by one unit, and 32 additions.
inline void expect_answer(RoutingCase& c) {
  HostPlace host;
  const RoutingAnswer expected = routing_reference(problem(c, host));
  EXPECT_EQ(c.first_row.values(), expected.first_row);
  EXPECT_EQ(c.source.values(), expected.source);
  EXPECT_EQ(c.place.values(), expected.place);
  expect_close(c.weight, expected.weight,
               [&](std::size_t i) { return (2 * 16 + 32) * kUnit * expected.weight[i]; });
  EXPECT_TRUE(c.first_row.guard_is_whole());
  EXPECT_TRUE(c.source.guard_is_whole());
  EXPECT_TRUE(c.place.guard_is_whole());
  EXPECT_TRUE(c.workspace.front().guard_is_whole());
}

// ---- combine

struct CombineShape {
  Element element;
  std::int64_t tokens;
  int top_k;
  int hidden;
};

// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest finds it by this name
inline void PrintTo(const CombineShape& shape, std::ostream* out) {
  *out << name_of(shape.element) << "_" << shape.tokens << "_top" << shape.top_k << "_x"
       << shape.hidden;
}

inline std::vector<CombineShape> combine_shapes() {
  std::vector<CombineShape> shapes;
  for (const Element element : {Element::fp32, Element::fp16, Element::bf16}) {
    shapes.push_back({element, 33, 2, 1000});
    shapes.push_back({element, 17, 8, 2880});
    shapes.push_back({element, 3, kMaxChoices, 64});
    shapes.push_back({element, 1, 1, 8});
    shapes.push_back({element, 0, 4, 64});
  }
  return shapes;
}

struct CombineCase {
  explicit CombineCase(const CombineShape& shape_in) : shape(shape_in) {
    std::vector<std::int32_t> order(place.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    for (std::size_t i = 0; i < order.size(); ++i) place.set(i, order[i]);
  }

  std::int64_t pairs() const { return shape.tokens * shape.top_k; }

  CombineShape shape;
  std::mt19937 random{fresh_seed()};
  Tensor input{random_tensor(shape.element, count(pairs(), shape.hidden), random)};
  Array<std::int32_t> place{count(pairs())};
  Array<float> weight{random_factors(count(pairs()), 0, 1, random)};
  Tensor output{shape.element, count(shape.tokens, shape.hidden)};
};

template <class Place>
Combine problem(CombineCase& c, Place& place) {
  return {.element = c.shape.element,
          .tokens = c.shape.tokens,
          .top_k = c.shape.top_k,
          .hidden = c.shape.hidden,
          .input = place.at(c.input),
          .place = at(place, c.place),
          .weight = at(place, c.weight),
          .output = place.at(c.output)};
}

/// One product and one addition per choice.
inline void expect_answer(CombineCase& c) {
  HostPlace host;
  const Sums expected = combine_reference(problem(c, host));
  expect_close(c.output, expected.values,
               [&](std::size_t i) { return 2 * c.shape.top_k * kUnit * expected.magnitudes[i]; });
}

}  // namespace roofcast::kernels::test
