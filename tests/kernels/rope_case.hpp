// RoPE and KV write problems, both on the rows of a fused QKV product, with reference answers,
// shared by the CPU and CUDA tests.
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

// ---- RoPE

struct RopeShape {
  Element element;
  std::int64_t tokens;
  int query_heads;
  int kv_heads;
  int head_dim;
};

// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest finds it by this name
inline void PrintTo(const RopeShape& shape, std::ostream* out) {
  *out << name_of(shape.element) << "_" << shape.tokens << "x" << shape.query_heads << "_"
       << shape.kv_heads << "x" << shape.head_dim;
}

inline std::vector<RopeShape> rope_shapes() {
  std::vector<RopeShape> shapes;
  for (const Element element : {Element::fp32, Element::fp16, Element::bf16}) {
    shapes.push_back({element, 9, 4, 2, 64});
    shapes.push_back({element, 33, 32, 8, 128});
    shapes.push_back({element, 3, 7, 1, 256});
    shapes.push_back({element, 1, 1, 1, 16});
    shapes.push_back({element, 5, 3, 3, 96});
    shapes.push_back({element, 0, 4, 2, 64});
  }
  return shapes;
}

struct RopeCase {
  explicit RopeCase(const RopeShape& shape_in) : shape(shape_in) {}

  static constexpr int kPositions = 5000;

  int query_row() const { return shape.query_heads * shape.head_dim; }
  int key_row() const { return shape.kv_heads * shape.head_dim; }
  /// Queries, keys and values of one token; the values must stay unchanged.
  int stride() const { return query_row() + 2 * key_row(); }

  RopeShape shape;
  std::mt19937 random{fresh_seed()};
  RopeTable table{rope_table(kPositions, shape.head_dim, 10000)};
  Array<float> cosine{table.cosine};
  Array<float> sine{table.sine};
  Array<std::int32_t> position{random_indices(count(shape.tokens), kPositions, random)};
  Tensor rows{random_tensor(shape.element, count(shape.tokens, stride()), random)};
  Tensor rows_before{rows};
};

/// The problem on `rows`, which may be a copy.
template <class Place>
Rope problem(RopeCase& c, Tensor& rows, Place& place) {
  auto* query = static_cast<std::byte*>(place.at(rows));
  return {.element = c.shape.element,
          .tokens = c.shape.tokens,
          .query_heads = c.shape.query_heads,
          .kv_heads = c.shape.kv_heads,
          .head_dim = c.shape.head_dim,
          .stride = c.stride(),
          .query = query,
          .key = query + count(c.query_row()) * size_of(c.shape.element),
          .position = at(place, c.position),
          .cosine = at(place, c.cosine),
          .sine = at(place, c.sine)};
}

template <class Place>
Rope problem(RopeCase& c, Place& place) {
  return problem(c, c.rows, place);
}

/// Two products and their sum: at most three units of the terms' magnitude.
inline void expect_answer(RopeCase& c) {
  HostPlace host;
  const RopeAnswer expected = rope_reference(problem(c, c.rows_before, host));
  std::vector<double> values = c.rows_before.values();
  std::vector<double> magnitudes(values.size(), 0);
  const auto put = [&](const Sums& sums, std::int64_t t, int row, int offset) {
    const auto from = static_cast<std::ptrdiff_t>(t * row);
    const auto to = static_cast<std::ptrdiff_t>(t * c.stride() + offset);
    std::copy_n(sums.values.begin() + from, row, values.begin() + to);
    std::copy_n(sums.magnitudes.begin() + from, row, magnitudes.begin() + to);
  };
  for (std::int64_t t = 0; t < c.shape.tokens; ++t) {
    put(expected.query, t, c.query_row(), 0);
    put(expected.key, t, c.key_row(), c.query_row());
  }
  expect_close(c.rows, values, [&](std::size_t i) { return 3 * kUnit * magnitudes[i]; });
}

// ---- KV write

struct KvWriteShape {
  Element element;
  Element cache;
  std::int64_t tokens;
  int kv_heads;
  int head_dim;
  int page_size;
};

// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest finds it by this name
inline void PrintTo(const KvWriteShape& shape, std::ostream* out) {
  *out << name_of(shape.element) << "_" << name_of(shape.cache) << "_" << shape.tokens << "x"
       << shape.kv_heads << "x" << shape.head_dim << "_page" << shape.page_size;
}

inline std::vector<KvWriteShape> kv_write_shapes() {
  std::vector<KvWriteShape> shapes;
  for (const Element element : {Element::fp32, Element::fp16, Element::bf16}) {
    for (const Element cache : {element, Element::fp8_e4m3}) {
      shapes.push_back({element, cache, 33, 8, 128, 16});
      shapes.push_back({element, cache, 5, 2, 64, 1});
      shapes.push_back({element, cache, 70, 1, 256, 64});
      shapes.push_back({element, cache, 1, 3, 16, 256});
      shapes.push_back({element, cache, 0, 2, 64, 16});
    }
  }
  return shapes;
}

struct KvWriteCase {
  explicit KvWriteCase(const KvWriteShape& shape_in) : shape(shape_in) {
    std::vector<std::int64_t> order(count(slots()));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    for (std::size_t t = 0; t < slot.size(); ++t) slot.set(t, order[t]);
  }

  /// Twice the pages that the tokens need.
  std::int64_t slots() const { return 2 * (shape.tokens / shape.page_size + 1) * shape.page_size; }
  int row() const { return shape.kv_heads * shape.head_dim; }
  int stride() const { return 4 * row(); }  // as in a fused row: queries, a key, a value
  bool narrow() const { return shape.cache == Element::fp8_e4m3; }

  KvWriteShape shape;
  std::mt19937 random{fresh_seed()};
  Array<std::int64_t> slot{count(shape.tokens)};
  /// Large enough that some fp8 keys saturate and some are subnormal.
  Tensor rows{random_tensor(shape.element, count(shape.tokens, stride()), random, 50)};
  Tensor keys{shape.cache, count(slots(), row())};
  Tensor values{shape.cache, count(slots(), row())};
};

/// The scales are powers of two, so that division by them is exact and rounding is unambiguous.
template <class Place>
KvWrite problem(KvWriteCase& c, Place& place) {
  const auto* query = static_cast<const std::byte*>(place.at(c.rows));
  const std::size_t row_bytes = count(c.row()) * size_of(c.shape.element);
  return {.element = c.shape.element,
          .tokens = c.shape.tokens,
          .stride = c.stride(),
          .key = query + 2 * row_bytes,
          .value = query + 3 * row_bytes,
          .slot = at(place, c.slot),
          .cache = {.element = c.shape.cache,
                    .page_size = c.shape.page_size,
                    .kv_heads = c.shape.kv_heads,
                    .head_dim = c.shape.head_dim,
                    .keys = place.at(c.keys),
                    .values = place.at(c.values),
                    .key_scale = c.narrow() ? 0.25F : 1,
                    .value_scale = c.narrow() ? 4.0F : 1}};
}

/// Exactly the expected bits are written, and nothing else.
inline void expect_written(const KvWriteCase& c, const Tensor& cache,
                           const std::vector<double>& expected) {
  std::vector<bool> taken(count(c.slots()));
  for (std::size_t t = 0; t < count(c.shape.tokens); ++t) {
    taken[count(c.slot.get(t))] = true;
    for (std::size_t i = 0; i < count(c.row()); ++i) {
      ASSERT_EQ(cache.get(count(c.slot.get(t), c.row()) + i), expected[t * count(c.row()) + i])
          << "token " << t << ", element " << i;
    }
  }
  for (std::size_t i = 0; i < cache.size(); ++i) {
    ASSERT_TRUE(taken[i / count(c.row())] || cache.is_poison(i)) << "element " << i;
  }
  EXPECT_TRUE(cache.guard_is_whole());
}

inline void expect_answer(KvWriteCase& c) {
  HostPlace host;
  const KvWriteAnswer expected = kv_write_reference(problem(c, host));
  expect_written(c, c.keys, expected.keys);
  expect_written(c, c.values, expected.values);
}

}  // namespace roofcast::kernels::test
