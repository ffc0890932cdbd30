#include <gtest/gtest.h>

#include "kernels/cuda/gemm.hpp"
#include "tests/kernels/cuda/cuda_device.hpp"
#include "tests/kernels/cuda/cuda_place.hpp"
#include "tests/kernels/gemm_case.hpp"

namespace roofcast::kernels {
namespace {

constexpr int kMultiprocessors = 7;  // few, so that a CTA has several tiles

/// `shapes` for both elements that our tensor-core kernels multiply.
template <class Shape>
std::vector<Shape> for_both(std::vector<Shape> (*shapes)(Element)) {
  std::vector<Shape> both = shapes(Element::fp16);
  for (const Shape& shape : shapes(Element::bf16)) both.push_back(shape);
  return both;
}

// ---- grouped

/// In addition to the shared shapes: every tile with rows and columns beyond its ends, more slices
/// of k than are in flight, more tiles than CTAs, and columns in more than one group.
std::vector<test::GroupedGemmShape> grouped_shapes() {
  std::vector<test::GroupedGemmShape> shapes = for_both(test::grouped_gemm_shapes);
  shapes.push_back({Element::bf16, {3, 20, 0, 9}, 1160, 520});
  shapes.push_back({Element::bf16, {30, 75, 40}, 264, 328});
  shapes.push_back({Element::fp16, {300, 0, 129}, 392, 264});
  shapes.push_back({Element::bf16, std::vector<std::int32_t>(300, 1), 8, 8});
  return shapes;
}

class GroupedGemmCuda : public testing::TestWithParam<test::GroupedGemmShape> {};
TEST_P(GroupedGemmCuda, AgreesWithTheReference) {
  SKIP_WITHOUT_CUDA_DEVICE();
  test::GroupedGemmCase c(GetParam());
  test::DevicePlace place;
  cuda::launch_grouped_gemm(problem(c, place), kMultiprocessors, nullptr);
  place.copy_back();
  test::expect_answer(c, test::fp32_sum_error(c.shape.k));
}
INSTANTIATE_TEST_SUITE_P(Shapes, GroupedGemmCuda, testing::ValuesIn(grouped_shapes()),
                         [](const auto& shape) { return std::to_string(shape.index); });

TEST(GroupedGemmCuda, SaysWhatItCannotDo) {
  EXPECT_FALSE(cuda::supports_grouped_gemm({.element = Element::fp32, .experts = 8}));
  EXPECT_TRUE(cuda::supports_grouped_gemm({.element = Element::bf16, .experts = 512}));
  EXPECT_FALSE(cuda::supports_grouped_gemm({.element = Element::bf16, .experts = 513}));
  EXPECT_THROW(cuda::launch_grouped_gemm({}, 1, nullptr), std::invalid_argument);
}

// ---- dense, with the same kernel

std::vector<test::GemmShape> dense_shapes() {
  std::vector<test::GemmShape> shapes;
  for (const test::GemmShape& shape : for_both(test::plain_gemm_shapes)) {
    if (cuda::supports_dense_gemm(
            {.element = shape.element, .result = shape.result, .n = shape.n, .k = shape.k})) {
      shapes.push_back(shape);
    }
  }
  return shapes;
}

class DenseGemmCuda : public testing::TestWithParam<test::GemmShape> {};
TEST_P(DenseGemmCuda, AgreesWithTheReference) {
  SKIP_WITHOUT_CUDA_DEVICE();
  test::GemmCase c(GetParam());
  test::DevicePlace place;
  cuda::launch_dense_gemm(problem(c, place), kMultiprocessors, nullptr);
  place.copy_back();
  test::expect_answer(c, test::fp32_sum_error(c.shape.k));
}
INSTANTIATE_TEST_SUITE_P(Shapes, DenseGemmCuda, testing::ValuesIn(dense_shapes()),
                         testing::PrintToStringParamName());

// ---- int4

/// In addition to the shared shapes: every tile with outputs, tokens and k beyond its ends, each
/// group, and enough outputs that few tokens use the wide tile (4 * 7 tiles of 32).
std::vector<test::Int4GemmShape> int4_shapes() {
  std::vector<test::Int4GemmShape> shapes = for_both(test::int4_gemm_shapes);
  for (const int group : {32, 64, 128}) {
    shapes.push_back({Element::bf16, 3, 200, 128 * 13, group});
    shapes.push_back({Element::bf16, 2, 1000, 128 * 5, group});
    shapes.push_back({Element::fp16, 13, 70, 128 * 9, group});
    shapes.push_back({Element::bf16, 75, 150, 128 * 7, group});
  }
  shapes.push_back({Element::bf16, 40, 40, 32 * 33, 32});
  return shapes;
}

class Int4GemmCuda : public testing::TestWithParam<test::Int4GemmShape> {};
TEST_P(Int4GemmCuda, AgreesWithTheReference) {
  SKIP_WITHOUT_CUDA_DEVICE();
  test::Int4GemmCase c(GetParam());
  test::DevicePlace place;
  cuda::launch_int4_gemm(problem(c, place), kMultiprocessors, nullptr);
  place.copy_back();
  test::expect_answer(c, test::fp32_sum_error(c.shape.k));
}
INSTANTIATE_TEST_SUITE_P(Shapes, Int4GemmCuda, testing::ValuesIn(int4_shapes()),
                         testing::PrintToStringParamName());

TEST(Int4GemmCuda, SaysWhatItCannotDo) {
  EXPECT_FALSE(cuda::supports_int4_gemm({.element = Element::fp32}));
  EXPECT_THROW(cuda::launch_int4_gemm({}, 1, nullptr), std::invalid_argument);
}

}  // namespace
}  // namespace roofcast::kernels
