// Operators that select rows (embedding, gather) with reference answers, shared by the CPU and CUDA
// tests.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <random>
#include <vector>

#include "tests/kernels/reference_tokens.hpp"
#include "tests/kernels/tensors.hpp"

namespace roofcast::kernels::test {

/// `rows` rows of `hidden` elements selected from `of`.
struct RowsShape {
  Element element;
  std::int64_t rows;
  int hidden;
  int of;
};

// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest finds it by this name
inline void PrintTo(const RowsShape& shape, std::ostream* out) {
  *out << name_of(shape.element) << "_" << shape.rows << "x" << shape.hidden << "_of_" << shape.of;
}

/// The narrowest row, one that no warp divides, rows of real models, one row, none.
inline std::vector<RowsShape> rows_shapes() {
  std::vector<RowsShape> shapes;
  for (const Element element : {Element::fp32, Element::fp16, Element::bf16}) {
    shapes.push_back({element, 33, 8, 50});
    shapes.push_back({element, 7, 1000, 20});
    shapes.push_back({element, 100, 768, 30});
    shapes.push_back({element, 3, 8192, 5});
    shapes.push_back({element, 1, 2880, 1});
    shapes.push_back({element, 0, 64, 10});
  }
  return shapes;
}

struct RowsCase {
  explicit RowsCase(const RowsShape& shape_in) : shape(shape_in) {}

  RowsShape shape;
  std::mt19937 random{fresh_seed()};
  Array<std::int32_t> row{random_indices(count(shape.rows), shape.of, random)};
  Tensor table{random_tensor(shape.element, count(shape.of, shape.hidden), random)};
  Tensor output{shape.element, count(shape.rows, shape.hidden)};
};

struct EmbeddingCase : RowsCase {
  using RowsCase::RowsCase;
};
struct GatherCase : RowsCase {
  using RowsCase::RowsCase;
};

template <class Place>
Embedding problem(EmbeddingCase& c, Place& place) {
  return {.element = c.shape.element,
          .tokens = c.shape.rows,
          .hidden = c.shape.hidden,
          .vocabulary = c.shape.of,
          .token = at(place, c.row),
          .table = place.at(c.table),
          .output = place.at(c.output)};
}

template <class Place>
GatherRows problem(GatherCase& c, Place& place) {
  return {.element = c.shape.element,
          .rows = c.shape.rows,
          .hidden = c.shape.hidden,
          .row = at(place, c.row),
          .input = place.at(c.table),
          .output = place.at(c.output)};
}

inline void expect_answer(EmbeddingCase& c) {
  HostPlace host;
  EXPECT_EQ(c.output.values(), embedding_reference(problem(c, host)));
  EXPECT_TRUE(c.output.guard_is_whole());
}

inline void expect_answer(GatherCase& c) {
  HostPlace host;
  EXPECT_EQ(c.output.values(), gather_reference(problem(c, host)));
  EXPECT_TRUE(c.output.guard_is_whole());
}

}  // namespace roofcast::kernels::test
