// RMSNorm problems with reference answers, shared by the CPU and CUDA tests.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <ostream>
#include <random>
#include <vector>

#include "kernels/rms_norm.hpp"
#include "tests/kernels/reference.hpp"
#include "tests/kernels/tensors.hpp"

namespace roofcast::kernels::test {

struct RmsNormShape {
  Element element;
  std::int64_t rows;
  int hidden;
  bool with_residual = true;
};

// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest finds it by this name
inline void PrintTo(const RmsNormShape& shape, std::ostream* out) {
  const char* names[] = {"fp32", "fp16", "bf16"};
  *out << names[static_cast<int>(shape.element)] << "_" << shape.rows << "x" << shape.hidden
       << (shape.with_residual ? "_residual" : "");
}

/// Head-size norms, hidden sizes of real models, the largest row, a row that no warp divides, one
/// row.
inline std::vector<RmsNormShape> rms_norm_shapes() {
  std::vector<RmsNormShape> shapes;
  for (const Element element : {Element::fp32, Element::fp16, Element::bf16}) {
    for (const int hidden : {8, 128, 1000, 2880, 4096, 8192, 16384, kMaxHidden}) {
      shapes.push_back({element, 7, hidden});
    }
    shapes.push_back({element, 1, 5120});
    shapes.push_back({element, 3, 4096, false});
    shapes.push_back({element, 0, 4096});
  }
  return shapes;
}

struct RmsNormCase {
  explicit RmsNormCase(const RmsNormShape& shape_in)
      : shape(shape_in),
        random(fresh_seed()),
        size(static_cast<std::size_t>(shape.rows) * static_cast<std::size_t>(shape.hidden)),
        input(random_tensor(shape.element, size, random)),
        residual(random_tensor(shape.element, size, random)),
        weight(random_tensor(shape.element, static_cast<std::size_t>(shape.hidden), random)),
        residual_out(shape.element, size),
        output(shape.element, size) {}

  RmsNormShape shape;
  std::mt19937 random;
  std::size_t size;
  Tensor input, residual, weight, residual_out, output;
};

/// The case as a reference problem, with its answer.
inline RmsNormResult answer(const RmsNormCase& c, double epsilon) {
  return rms_norm_reference(
      {.element = c.shape.element,
       .rows = c.shape.rows,
       .hidden = c.shape.hidden,
       .epsilon = epsilon,
       .input = c.input.values(),
       .residual = c.shape.with_residual ? c.residual.values() : std::vector<double>{},
       .weight = c.weight.values()});
}

/// Allowed error: the output's own rounding, and fp32 arithmetic: a chain of hidden / 16 additions
/// (the CPU's sixteen lanes; the GPU's are shorter), each 2^-24, halved by the square root, and a
/// dozen more operations. Subnormal fp16 rounds to steps of 2^-24.
inline double allowed_error(const RmsNormShape& shape, double value) {
  const double arithmetic = (shape.hidden / 32.0 + 12) * 0x1p-24;
  const double subnormal = shape.element == Element::fp16 ? 0x1p-25 : 0;
  return std::abs(value) * (rounding_error(shape.element) + arithmetic) + subnormal;
}

inline void expect_answer(const RmsNormCase& c, double epsilon) {
  const RmsNormResult expected = answer(c, epsilon);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < c.size; ++i) {
    const double value = expected.output[i];
    const double error = std::abs(c.output.get(i) - value);
    if (error <= allowed_error(c.shape, value)) continue;  // false for NaN
    if (wrong++ == 0) {
      ADD_FAILURE() << "output " << i << " is " << c.output.get(i) << ", expected " << value;
    }
  }
  EXPECT_EQ(wrong, 0U) << "of " << c.size;
  if (c.shape.with_residual) {
    EXPECT_EQ(c.residual_out.values(), expected.residual_out);
  }
  EXPECT_TRUE(c.output.guard_is_whole());
  EXPECT_TRUE(c.residual_out.guard_is_whole());
}

}  // namespace roofcast::kernels::test
