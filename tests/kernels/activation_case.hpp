// Activation problems with reference answers, shared by the CPU and CUDA tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <random>
#include <vector>

#include "tests/kernels/reference_tokens.hpp"
#include "tests/kernels/tensors.hpp"

namespace roofcast::kernels::test {

struct ActivationShape {
  ActivationKind kind;
  Element element;
  std::int64_t rows;
  int width;
};

// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest finds it by this name
inline void PrintTo(const ActivationShape& shape, std::ostream* out) {
  const char* names[] = {"silu_mul", "gelu_mul", "gelu"};
  *out << names[static_cast<int>(shape.kind)] << "_" << name_of(shape.element) << "_" << shape.rows
       << "x" << shape.width;
}

inline std::vector<ActivationShape> activation_shapes() {
  std::vector<ActivationShape> shapes;
  for (const ActivationKind kind :
       {ActivationKind::silu_mul, ActivationKind::gelu_mul, ActivationKind::gelu}) {
    for (const Element element : {Element::fp32, Element::fp16, Element::bf16}) {
      shapes.push_back({kind, element, 33, 8});
      shapes.push_back({kind, element, 5, 1000});
      shapes.push_back({kind, element, 3, 14336});
      shapes.push_back({kind, element, 1, 3072});
      shapes.push_back({kind, element, 0, 64});
    }
  }
  return shapes;
}

struct ActivationCase {
  explicit ActivationCase(const ActivationShape& shape_in) : shape(shape_in) {
    // Where exponentials overflow, and where a wrong sign or a NaN would come from.
    const float edges[] = {0, -0.0F, 100, -100, 1e3F, -1e3F};
    for (std::size_t i = 0; i < std::min<std::size_t>(6, input.size()); ++i) input.set(i, edges[i]);
  }

  int columns() const { return shape.width * (shape.kind == ActivationKind::gelu ? 1 : 2); }

  ActivationShape shape;
  std::mt19937 random{fresh_seed()};
  Tensor input{random_tensor(shape.element, count(shape.rows, columns()), random, 3)};
  Tensor output{shape.element, count(shape.rows, shape.width)};
};

template <class Place>
Activation problem(ActivationCase& c, Place& place) {
  return {.kind = c.shape.kind,
          .element = c.shape.element,
          .rows = c.shape.rows,
          .width = c.shape.width,
          .input = place.at(c.input),
          .output = place.at(c.output)};
}

/// For x f(x) with f between 0 and 1 the error is a few units of |x|. 16 units allow for an
/// exponential that is off by 2 + 1.2 |x| units (the GPU's fast one) where f is not negligible, |x|
/// < 8, and for the cancellation in 1 + tanh. The factor from the other half scales the error.
inline void expect_answer(ActivationCase& c) {
  HostPlace host;
  const std::size_t width = count(c.shape.width);
  expect_close(c.output, activation_reference(problem(c, host)), [&](std::size_t i) {
    const std::size_t at = i / width * count(c.columns()) + i % width;
    const double factor = c.shape.kind == ActivationKind::gelu ? 1 : c.input.get(at + width);
    return 16 * kUnit * std::abs(c.input.get(at) * factor);
  });
}

}  // namespace roofcast::kernels::test
