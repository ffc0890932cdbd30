// GEMM problems of all three forms with reference answers, shared by the CPU and CUDA tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <random>
#include <vector>

#include "tests/kernels/reference_gemm.hpp"
#include "tests/kernels/tensors.hpp"

namespace roofcast::kernels::test {

// ---- dense

struct GemmShape {
  Element element;
  Element result;
  GemmScale scale;
  std::int64_t m;
  int n;
  int k;
};

// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest finds it by this name
inline void PrintTo(const GemmShape& shape, std::ostream* out) {
  *out << name_of(shape.element) << "_" << name_of(shape.result) << "_" << shape.m << "x" << shape.n
       << "x" << shape.k << (shape.scale == GemmScale::block ? "_blocks" : "");
}

/// One row, few rows, rows and columns that no tile divides, odd sizes, no rows.
inline std::vector<GemmShape> plain_gemm_shapes(Element element) {
  std::vector<GemmShape> shapes;
  const auto add = [&](std::int64_t m, int n, int k, Element result) {
    shapes.push_back({element, result, GemmScale::none, m, n, k});
  };
  add(1, 1, 1, element);
  add(1, 768, 1000, element);
  add(2, 129, 64, element);
  add(3, 17, 5, element);
  add(4, 1000, 256, element);
  add(7, 96, 130, element);
  add(16, 256, 512, element);
  add(33, 64, 1024, element);
  add(128, 128, 64, element);
  add(300, 72, 96, element);
  add(0, 64, 64, element);
  if (element != Element::fp32) add(5, 80, 200, Element::fp32);
  return shapes;
}

/// fp8 and int8 with one factor per tensor, fp8 with one per block, the weight's last block ragged.
inline std::vector<GemmShape> scaled_gemm_shapes() {
  using enum Element;
  std::vector<GemmShape> shapes;
  for (const Element element : {fp8_e4m3, int8}) {
    const auto add = [&](std::int64_t m, int n, int k, Element result) {
      shapes.push_back({element, result, GemmScale::tensor, m, n, k});
    };
    add(1, 128, 256, bf16);
    add(16, 64, 64, fp16);
    add(33, 48, 1024, bf16);
    add(65, 112, 144, fp32);
    add(0, 64, 64, bf16);
    if (element == int8) add(17, 96, 256, int8);
  }
  shapes.push_back({fp8_e4m3, bf16, GemmScale::block, 1, 128, 128});
  shapes.push_back({fp8_e4m3, bf16, GemmScale::block, 40, 256, 384});
  shapes.push_back({fp8_e4m3, fp32, GemmScale::block, 5, 576, 512});
  shapes.push_back({fp8_e4m3, bf16, GemmScale::block, 24, 192, 512});
  return shapes;
}

/// Keeps fp8 away from its subnormal numbers, and makes int8 use its range.
inline float operand_deviation(Element element) {
  if (element == Element::int8) return 40;
  return element == Element::fp8_e4m3 ? 16 : 1;
}

struct GemmCase {
  explicit GemmCase(const GemmShape& shape_in)
      : shape(shape_in),
        random(fresh_seed()),
        input(random_tensor(shape.element, count(shape.m, shape.k), random,
                            operand_deviation(shape.element))),
        weight(random_tensor(shape.element, count(shape.n, shape.k), random,
                             operand_deviation(shape.element))),
        input_scale(random_factors(factors(shape.m, 1), 0.01F, 0.1F, random)),
        weight_scale(random_factors(factors(shape.n, kScaleBlock), 0.01F, 0.1F, random)),
        output(shape.result, count(shape.m, shape.n)) {}

  /// Factors for `rows` of k elements, one per block of `side` rows and kScaleBlock of k.
  std::size_t factors(std::int64_t rows, int side) const {
    if (shape.scale != GemmScale::block) return 1;
    return count((rows + side - 1) / side, shape.k / kScaleBlock);
  }

  GemmShape shape;
  std::mt19937 random;
  Tensor input, weight;
  Array<float> input_scale, weight_scale;
  Tensor output;
};

template <class Place>
Gemm problem(GemmCase& c, Place& place) {
  const bool scaled = c.shape.scale != GemmScale::none;
  return {.element = c.shape.element,
          .result = c.shape.result,
          .scale = c.shape.scale,
          .m = c.shape.m,
          .n = c.shape.n,
          .k = c.shape.k,
          .input = place.at(c.input),
          .weight = place.at(c.weight),
          .output = place.at(c.output),
          .input_scale = scaled ? at(place, c.input_scale) : nullptr,
          .weight_scale = scaled ? at(place, c.weight_scale) : nullptr};
}

/// Error of a sum of k products relative to the sum of their absolute values: k additions, each of
/// which may truncate one unit of fp32, which includes the rounding of fp32 products.
inline double fp32_sum_error(int k) { return k * kUnit; }

/// `sum_error` is relative as above; int8 sums are exact. The factors take three more operations.
inline void expect_answer(GemmCase& c, double sum_error) {
  HostPlace host;
  const Sums expected = gemm_reference(problem(c, host));
  std::vector<double> values = expected.values;
  if (c.shape.result == Element::int8) {  // saturates
    for (double& value : values) value = std::clamp(value, -128.0, 127.0);
  }
  const double relative = (c.shape.element == Element::int8 ? 0 : sum_error) + 3 * kUnit;
  expect_close(c.output, values, [&](std::size_t i) { return expected.magnitudes[i] * relative; });
}

// ---- grouped

struct GroupedGemmShape {
  Element element;
  std::vector<std::int32_t> rows;  // of each expert
  int n;
  int k;
};

// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest finds it by this name
inline void PrintTo(const GroupedGemmShape& shape, std::ostream* out) {
  *out << name_of(shape.element) << "_" << shape.n << "x" << shape.k << "_rows";
  for (const std::int32_t rows : shape.rows) *out << "_" << rows;
}

/// Even, skewed, experts without rows at both ends and in between, no rows at all, one expert.
inline std::vector<GroupedGemmShape> grouped_gemm_shapes(Element element) {
  return {{element, {4, 4, 4, 4}, 128, 64},    {element, {0, 70, 0, 1, 17, 0}, 96, 256},
          {element, {1, 1, 1, 1, 1}, 72, 200}, {element, {0, 0, 0}, 64, 64},
          {element, {33}, 256, 128},           {element, {0, 0, 130}, 64, 64}};
}

struct GroupedGemmCase {
  explicit GroupedGemmCase(const GroupedGemmShape& shape_in)
      : shape(shape_in), random(fresh_seed()) {
    for (std::size_t e = 0; e < shape.rows.size(); ++e) {
      first_row.set(e + 1, first_row.get(e) + shape.rows[e]);
    }
    const auto used = count(first_row.get(shape.rows.size()), shape.k);
    std::normal_distribution<float> normal;
    for (std::size_t i = 0; i < used; ++i) input.set(i, normal(random));
  }

  static constexpr int kSpareRows = 3;  // of the upper bound: to be left alone

  std::int64_t rows() const {
    std::int64_t sum = kSpareRows;
    for (const std::int32_t one : shape.rows) sum += one;
    return sum;
  }

  GroupedGemmShape shape;
  std::mt19937 random;
  Array<std::int32_t> first_row{std::vector<std::int32_t>(shape.rows.size() + 1)};
  Tensor input{shape.element, count(rows(), shape.k)};
  Tensor weight{random_tensor(shape.element,
                              count(static_cast<std::int64_t>(shape.rows.size()), shape.n, shape.k),
                              random)};
  Tensor output{shape.element, count(rows(), shape.n)};
};

template <class Place>
GroupedGemm problem(GroupedGemmCase& c, Place& place) {
  return {.element = c.shape.element,
          .experts = static_cast<int>(c.shape.rows.size()),
          .rows = c.rows(),
          .n = c.shape.n,
          .k = c.shape.k,
          .input = place.at(c.input),
          .weight = place.at(c.weight),
          .output = place.at(c.output),
          .first_row = at(place, c.first_row)};
}

inline void expect_answer(GroupedGemmCase& c, double sum_error) {
  HostPlace host;
  const Sums expected = grouped_gemm_reference(problem(c, host));
  expect_close(c.output, expected.values,
               [&](std::size_t i) { return expected.magnitudes[i] * sum_error; });
}

// ---- int4

struct Int4GemmShape {
  Element element;
  std::int64_t m;
  int n;
  int k;
  int group;
};

// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest finds it by this name
inline void PrintTo(const Int4GemmShape& shape, std::ostream* out) {
  *out << name_of(shape.element) << "_" << shape.m << "x" << shape.n << "x" << shape.k << "_g"
       << shape.group;
}

inline std::vector<Int4GemmShape> int4_gemm_shapes(Element element) {
  return {{element, 1, 256, 512, 128}, {element, 1, 130, 1024, 64}, {element, 4, 48, 96, 32},
          {element, 7, 33, 384, 128},  {element, 16, 128, 256, 32}, {element, 17, 64, 128, 128},
          {element, 0, 64, 128, 64}};
}

struct Int4GemmCase {
  explicit Int4GemmCase(const Int4GemmShape& shape_in) : shape(shape_in), random(fresh_seed()) {
    for (std::size_t i = 0; i < weight.size(); ++i) {
      weight.set(i, static_cast<std::uint8_t>(random() & 0xffU));
    }
  }

  Int4GemmShape shape;
  std::mt19937 random;
  Tensor input{random_tensor(shape.element, count(shape.m, shape.k), random)};
  Array<std::uint8_t> weight{count(shape.n, shape.k / 2)};
  Tensor scale{random_tensor(shape.element, count(shape.n, shape.k / shape.group), random, 0.1F)};
  Tensor output{shape.element, count(shape.m, shape.n)};
};

template <class Place>
Int4Gemm problem(Int4GemmCase& c, Place& place) {
  return {.element = c.shape.element,
          .m = c.shape.m,
          .n = c.shape.n,
          .k = c.shape.k,
          .group = c.shape.group,
          .input = place.at(c.input),
          .weight = at(place, c.weight),
          .scale = place.at(c.scale),
          .output = place.at(c.output)};
}

/// A kernel that rounds nibble times scale to the element before multiplying has a `sum_error`
/// larger by rounding_error(element).
inline void expect_answer(Int4GemmCase& c, double sum_error) {
  HostPlace host;
  const Sums expected = int4_gemm_reference(problem(c, host));
  const double relative = sum_error + 2 * kUnit;  // the scale's multiplication
  expect_close(c.output, expected.values,
               [&](std::size_t i) { return expected.magnitudes[i] * relative; });
}

}  // namespace roofcast::kernels::test
