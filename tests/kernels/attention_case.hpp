// Attention problems with reference answers, shared by the CPU and CUDA tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "tests/kernels/paged_tokens.hpp"
#include "tests/kernels/reference_attention.hpp"
#include "tests/kernels/tensors.hpp"

namespace roofcast::kernels::test {

struct AttentionShape {
  std::string name;  // unique among the shapes of an element
  Element element = Element::bf16;
  Element cache = Element::bf16;
  int query_heads = 4;
  int kv_heads = 2;
  int head_dim = 64;
  int page_size = 16;
  int window = 0;
  std::vector<std::int32_t> new_tokens{};  // of each sequence; empty in decode
  std::vector<std::int32_t> length{};
  int stride_extra = 0;  // elements between the query rows
};

// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest finds it by this name
inline void PrintTo(const AttentionShape& shape, std::ostream* out) {
  *out << name_of(shape.element) << "_" << shape.name;
}

/// `shapes` with queries of one element, and caches of the same element unless the shape asks for
/// fp8.
inline std::vector<AttentionShape> of_element(std::vector<AttentionShape> shapes, Element element) {
  for (AttentionShape& shape : shapes) {
    shape.element = element;
    if (shape.cache != Element::fp8_e4m3) shape.cache = element;
  }
  return shapes;
}

inline std::vector<AttentionShape> prefill_shapes(Element element) {
  constexpr Element kFp8 = Element::fp8_e4m3;
  return of_element(
      {{.name = "one_token", .new_tokens = {1}, .length = {1}},
       {.name = "one_prompt", .new_tokens = {100}, .length = {100}},
       {.name = "ragged", .new_tokens = {1, 37, 0, 64, 5}, .length = {1, 37, 20, 64, 133}},
       {.name = "chunk_behind_prefix", .new_tokens = {48}, .length = {304}},
       {.name = "window", .window = 33, .new_tokens = {70, 9, 3}, .length = {70, 200, 34}},
       {.name = "window_of_one", .window = 1, .new_tokens = {20}, .length = {40}},
       {.name = "one_kv_head",
        .query_heads = 8,
        .kv_heads = 1,
        .head_dim = 128,
        .new_tokens = {65, 2},
        .length = {65, 190}},
       {.name = "no_sharing",
        .query_heads = 3,
        .kv_heads = 3,
        .new_tokens = {33, 40},
        .length = {33, 90}},
       {.name = "group_of_five", .query_heads = 10, .new_tokens = {17}, .length = {49}},
       {.name = "wide_head",
        .query_heads = 2,
        .kv_heads = 1,
        .head_dim = 256,
        .new_tokens = {40},
        .length = {72}},
       {.name = "narrow_head", .head_dim = 16, .new_tokens = {29}, .length = {61}},
       {.name = "odd_head", .head_dim = 80, .new_tokens = {29}, .length = {61}},
       {.name = "pages_of_one", .page_size = 1, .new_tokens = {18}, .length = {67}},
       {.name = "pages_of_256", .page_size = 256, .new_tokens = {18, 30}, .length = {257, 30}},
       {.name = "rows_apart", .new_tokens = {18, 5}, .length = {40, 5}, .stride_extra = 256},
       {.name = "fp8", .cache = kFp8, .new_tokens = {37, 64, 5}, .length = {37, 64, 133}},
       {.name = "fp8_window", .cache = kFp8, .window = 20, .new_tokens = {50}, .length = {90}},
       {.name = "nothing", .new_tokens = {}, .length = {}}},
      element);
}

inline std::vector<AttentionShape> decode_shapes(Element element) {
  constexpr Element kFp8 = Element::fp8_e4m3;
  return of_element(
      {{.name = "one_token", .length = {1}},
       {.name = "page_edges", .length = {15, 16, 17, 31, 32, 33}},
       {.name = "ragged", .query_heads = 8, .head_dim = 128, .length = {1, 700, 64, 257, 100}},
       {.name = "one_long", .query_heads = 4, .kv_heads = 1, .length = {5000}},
       {.name = "one_long_among_short", .length = {3, 2000, 9, 1}},
       {.name = "window", .window = 100, .length = {99, 100, 101, 600}},
       {.name = "window_of_one", .window = 1, .length = {1, 40}},
       {.name = "group_of_eight", .query_heads = 16, .head_dim = 128, .length = {130, 64}},
       {.name = "group_of_24", .query_heads = 24, .kv_heads = 1, .length = {200, 61}},
       {.name = "group_of_seven", .query_heads = 14, .length = {77}},
       {.name = "no_sharing", .query_heads = 3, .kv_heads = 3, .length = {33, 90}},
       {.name = "wide_head", .query_heads = 2, .kv_heads = 1, .head_dim = 256, .length = {72, 300}},
       {.name = "narrow_head", .head_dim = 16, .length = {61}},
       {.name = "odd_head", .head_dim = 80, .length = {61, 200}},
       {.name = "pages_of_one", .page_size = 1, .length = {67, 1}},
       {.name = "pages_of_256", .page_size = 256, .length = {255, 256, 257}},
       {.name = "rows_apart", .length = {40, 5}, .stride_extra = 256},
       {.name = "fp8", .cache = kFp8, .head_dim = 128, .length = {1, 500, 33}},
       {.name = "fp8_window", .cache = kFp8, .window = 20, .length = {90, 10}},
       {.name = "nothing", .length = {}}},
      element);
}

inline std::int32_t sum_of(const std::vector<std::int32_t>& values) {
  return std::accumulate(values.begin(), values.end(), 0);
}

inline std::int32_t largest_of(const std::vector<std::int32_t>& values) {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

/// Queries of deviation 2 give scores of deviation 2, so that some tokens weigh a hundred times as
/// much as others.
inline constexpr float kQueryDeviation = 2;

struct AttentionCase {
  explicit AttentionCase(const AttentionShape& shape_in) : shape(shape_in) {
    for (const std::int32_t tokens : shape.new_tokens) {
      first_query.push_back(first_query.back() + tokens);
    }
  }

  std::int64_t rows() const {
    return shape.new_tokens.empty() ? static_cast<std::int64_t>(shape.length.size())
                                    : sum_of(shape.new_tokens);
  }
  std::int64_t query_row() const { return std::int64_t{shape.query_heads} * shape.head_dim; }
  std::int64_t stride() const { return query_row() + shape.stride_extra; }
  std::int64_t cache_row() const { return std::int64_t{shape.kv_heads} * shape.head_dim; }
  /// fp8 is used almost to its largest number.
  float key_scale() const { return shape.cache == Element::fp8_e4m3 ? 0.03F : 1; }
  float value_scale() const { return shape.cache == Element::fp8_e4m3 ? 0.9F : 1; }

  AttentionShape shape;
  std::mt19937 random{fresh_seed()};
  PageLayout layout{shape.length, shape.page_size, random};
  std::vector<std::int32_t> first_query{0};
  Array<std::int32_t> page_table{layout.entries()};
  Array<std::int32_t> length{shape.length};
  Tensor query{random_tensor(shape.element, count(rows(), stride()), random, kQueryDeviation)};
  Tensor keys{paged_tokens(shape.cache, layout, shape.length, cache_row(), 1, key_scale(), random)};
  Tensor values{
      paged_tokens(shape.cache, layout, shape.length, cache_row(), kSpike, value_scale(), random)};
  Tensor output{shape.element, count(rows(), query_row())};
};

struct PrefillCase : AttentionCase {
  explicit PrefillCase(const AttentionShape& shape_in) : AttentionCase(shape_in) {}
  Array<std::int32_t> first_rows{first_query};
};

struct DecodeCase : AttentionCase {
  explicit DecodeCase(const AttentionShape& shape_in) : AttentionCase(shape_in) {}
  std::vector<Storage> workspace{};  // one, once the problem is known
};

template <class Place>
PagedCache cache_of(AttentionCase& c, Place& place) {
  return {.element = c.shape.cache,
          .page_size = c.shape.page_size,
          .kv_heads = c.shape.kv_heads,
          .head_dim = c.shape.head_dim,
          .keys = place.at(c.keys),
          .values = place.at(c.values),
          .page_table = at(place, c.page_table),
          .pages_per_sequence = c.layout.pages_per_sequence(),
          .key_scale = c.key_scale(),
          .value_scale = c.value_scale()};
}

template <class Place>
PrefillAttention problem(PrefillCase& c, Place& place) {
  return {.element = c.shape.element,
          .sequences = static_cast<int>(c.shape.length.size()),
          .query_heads = c.shape.query_heads,
          .scale = 1 / std::sqrt(static_cast<float>(c.shape.head_dim)),
          .window = c.shape.window,
          .query = place.at(c.query),
          .query_stride = c.shape.stride_extra == 0 ? 0 : c.stride(),
          .output = place.at(c.output),
          .first_query = at(place, c.first_rows),
          .length = at(place, c.length),
          .cache = cache_of(c, place),
          .tokens = c.rows(),
          .longest_query = largest_of(c.shape.new_tokens),
          .longest_length = largest_of(c.shape.length)};
}

template <class Place>
DecodeAttention problem(DecodeCase& c, Place& place) {
  DecodeAttention attention{.element = c.shape.element,
                            .sequences = static_cast<int>(c.shape.length.size()),
                            .query_heads = c.shape.query_heads,
                            .scale = 1 / std::sqrt(static_cast<float>(c.shape.head_dim)),
                            .window = c.shape.window,
                            .query = place.at(c.query),
                            .query_stride = c.shape.stride_extra == 0 ? 0 : c.stride(),
                            .output = place.at(c.output),
                            .length = at(place, c.length),
                            .cache = cache_of(c, place),
                            .longest_length = largest_of(c.shape.length)};
  if (c.workspace.empty()) c.workspace.emplace_back(count(workspace_bytes(attention)));
  attention.workspace = place.at(c.workspace.front());
  return attention;
}

/// Errors of a kernel other than fp32 arithmetic.
struct AttentionTolerance {
  /// Relative rounding error of a probability before it is multiplied by a value:
  /// rounding_error(element) if tensor cores do the multiplication.
  double probability = 0;
  /// Absolute rounding error: 2^-25, half the step of subnormal fp16, if probabilities are stored
  /// in fp16.
  double subnormal_probability = 0;
};

struct AttentionSize {
  std::int64_t tokens;  // most that a query sees
  int key_dim;
  int value_dim;
};

/// A probability's relative error is the absolute error of its score: key_dim additions and four
/// more operations (two factors, subtracting the maximum, the exponential's argument), each one
/// unit of the score's magnitude, plus four units for the exponential itself. It counts twice, in
/// the sum of values and in the sum that divides it. Both sums take `tokens` additions, and a
/// factor for each new maximum, of which there are fewer than `tokens`.
inline void expect_close(const Tensor& output, const AttentionAnswer& expected,
                         const AttentionSize& size, const AttentionTolerance& tolerance) {
  const auto tokens = static_cast<double>(size.tokens);
  expect_close(output, expected.output.values, [&](std::size_t i) {
    const double score = expected.score_magnitude[i / static_cast<std::size_t>(size.value_dim)];
    const double exponential = ((size.key_dim + 4) * score + 4) * kUnit;
    const double relative = tolerance.probability + 2 * exponential + 2 * (2 * tokens + 1) * kUnit;
    return relative * expected.output.magnitudes[i] +
           tolerance.subnormal_probability * kMeanValue * tokens;
  });
}

inline AttentionSize size_of_case(const AttentionCase& c) {
  return {.tokens = largest_of(c.shape.length),
          .key_dim = c.shape.head_dim,
          .value_dim = c.shape.head_dim};
}

inline void expect_answer(PrefillCase& c, const AttentionTolerance& tolerance = {}) {
  HostPlace host;
  expect_close(c.output, attention_reference(problem(c, host)), size_of_case(c), tolerance);
}

inline void expect_answer(DecodeCase& c, const AttentionTolerance& tolerance = {}) {
  HostPlace host;
  expect_close(c.output, attention_reference(problem(c, host)), size_of_case(c), tolerance);
  EXPECT_TRUE(c.workspace.front().guard_is_whole());
}

// ---- latent attention

struct LatentShape {
  std::string name;
  Element element = Element::bf16;
  int query_heads = 16;
  int latent = 512;
  int rotary = 64;
  int page_size = 64;
  std::vector<std::int32_t> length{};
};

// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest finds it by this name
inline void PrintTo(const LatentShape& shape, std::ostream* out) {
  *out << name_of(shape.element) << "_" << shape.name;
}

inline std::vector<LatentShape> latent_shapes(Element element) {
  std::vector<LatentShape> shapes{
      {.name = "one_token", .length = {1}},
      {.name = "ragged", .length = {63, 1, 64, 65, 200}},
      {.name = "long", .length = {1500}},
      {.name = "many_heads", .query_heads = 128, .length = {100, 17}},
      {.name = "odd_heads", .query_heads = 20, .length = {70}},
      {.name = "small_pages", .page_size = 1, .length = {90}},
      {.name = "small", .query_heads = 4, .latent = 64, .rotary = 16, .length = {50, 3}},
      {.name = "nothing", .length = {}}};
  for (LatentShape& shape : shapes) shape.element = element;
  return shapes;
}

struct LatentCase {
  explicit LatentCase(const LatentShape& shape_in) : shape(shape_in) {}

  std::int64_t sequences() const { return static_cast<std::int64_t>(shape.length.size()); }
  int row() const { return shape.latent + shape.rotary; }

  LatentShape shape;
  std::mt19937 random{fresh_seed()};
  PageLayout layout{shape.length, shape.page_size, random};
  Array<std::int32_t> page_table{layout.entries()};
  Array<std::int32_t> length{shape.length};
  Tensor query{random_tensor(shape.element, count(sequences(), shape.query_heads, row()), random,
                             kQueryDeviation)};
  Tensor cache{paged_tokens(shape.element, layout, shape.length, row(), 1, 1, random)};
  Tensor output{shape.element, count(sequences(), shape.query_heads, shape.latent)};
  std::vector<Storage> workspace{};
};

template <class Place>
LatentDecode problem(LatentCase& c, Place& place) {
  LatentDecode attention{.element = c.shape.element,
                         .sequences = static_cast<int>(c.sequences()),
                         .query_heads = c.shape.query_heads,
                         .latent = c.shape.latent,
                         .rotary = c.shape.rotary,
                         .page_size = c.shape.page_size,
                         .scale = 1 / std::sqrt(static_cast<float>(c.row())),
                         .query = place.at(c.query),
                         .output = place.at(c.output),
                         .cache = place.at(c.cache),
                         .page_table = at(place, c.page_table),
                         .pages_per_sequence = c.layout.pages_per_sequence(),
                         .length = at(place, c.length),
                         .longest_length = largest_of(c.shape.length)};
  if (c.workspace.empty()) c.workspace.emplace_back(count(workspace_bytes(attention)));
  attention.workspace = place.at(c.workspace.front());
  return attention;
}

inline void expect_answer(LatentCase& c, const AttentionTolerance& tolerance = {}) {
  HostPlace host;
  expect_close(
      c.output, attention_reference(problem(c, host)),
      {.tokens = largest_of(c.shape.length), .key_dim = c.row(), .value_dim = c.shape.latent},
      tolerance);
  EXPECT_TRUE(c.workspace.front().guard_is_whole());
}

}  // namespace roofcast::kernels::test
