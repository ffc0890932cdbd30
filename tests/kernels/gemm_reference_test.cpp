#include <gtest/gtest.h>

#include <vector>

#include "tests/kernels/reference_gemm.hpp"

namespace roofcast::kernels {
namespace {

TEST(GemmReference, MultipliesRowsByRows) {
  const std::vector<float> input = {1, 2, 3, 4, 5, 6};    // [2, 3]
  const std::vector<float> weight = {1, 0, -1, 2, 1, 0};  // [2, 3]
  const Sums sums = gemm_reference({.element = Element::fp32,
                                    .result = Element::fp32,
                                    .m = 2,
                                    .n = 2,
                                    .k = 3,
                                    .input = input.data(),
                                    .weight = weight.data()});
  EXPECT_EQ(sums.values, (std::vector<double>{1 - 3, 2 + 2, 4 - 6, 8 + 5}));
  EXPECT_EQ(sums.magnitudes, (std::vector<double>{1 + 3, 2 + 2, 4 + 6, 8 + 5}));
}

TEST(GemmReference, ScalesWholeTensors) {
  const std::vector<std::int8_t> input = {100, -100};
  const std::vector<std::int8_t> weight = {100, 127};
  const float input_scale = 0.5F;
  const float weight_scale = 0.25F;
  const Sums sums = gemm_reference({.element = Element::int8,
                                    .result = Element::fp32,
                                    .scale = GemmScale::tensor,
                                    .m = 1,
                                    .n = 1,
                                    .k = 2,
                                    .input = input.data(),
                                    .weight = weight.data(),
                                    .input_scale = &input_scale,
                                    .weight_scale = &weight_scale});
  EXPECT_EQ(sums.values[0], -2700 / 8.0);  // (10000 - 12700) / 8
  EXPECT_EQ(sums.magnitudes[0], 22700 / 8.0);
}

TEST(GemmReference, ScalesBlocksOfOneByOrBy128) {
  // All ones; m = 2, k = 256 and n = 129 have 2 x 2 input and 2 x 2 weight factors.
  const Fp8E4M3 one = from_float<Fp8E4M3>(1);
  const std::vector<Fp8E4M3> input(2 * 256, one);
  const std::vector<Fp8E4M3> weight(129 * 256, one);
  const std::vector<float> input_scale = {1, 2, 10, 20};  // k block 0 of both rows, then block 1
  const std::vector<float> weight_scale = {1, 3, 5, 7};   // n block 0 along k, then n block 1
  const Sums sums = gemm_reference({.element = Element::fp8_e4m3,
                                    .scale = GemmScale::block,
                                    .m = 2,
                                    .n = 129,
                                    .k = 256,
                                    .input = input.data(),
                                    .weight = weight.data(),
                                    .input_scale = input_scale.data(),
                                    .weight_scale = weight_scale.data()});
  EXPECT_EQ(sums.values[0], 128 * (1 * 1 + 10 * 3));
  EXPECT_EQ(sums.values[127], 128 * (1 * 1 + 10 * 3));
  EXPECT_EQ(sums.values[128], 128 * (1 * 5 + 10 * 7));
  EXPECT_EQ(sums.values[129], 128 * (2 * 1 + 20 * 3));
  EXPECT_EQ(sums.values[257], 128 * (2 * 5 + 20 * 7));
}

TEST(GroupedGemmReference, GivesEachRowItsExpert) {
  const std::vector<float> input = {1, 2, 3, 99};   // [4, 1]
  const std::vector<float> weight = {10, 20, 100};  // three experts of [1, 1]
  const std::vector<std::int32_t> first_row = {0, 2, 2, 3};
  const Sums sums = grouped_gemm_reference({.element = Element::fp32,
                                            .experts = 3,
                                            .rows = 4,
                                            .n = 1,
                                            .k = 1,
                                            .input = input.data(),
                                            .weight = weight.data(),
                                            .first_row = first_row.data()});
  // Two rows of the first expert, none of the second; the fourth row belongs to no expert.
  EXPECT_EQ(sums.values, (std::vector<double>{10, 20, 300}));
}

TEST(Int4GemmReference, ReadsTheLowNibbleFirst) {
  // Two groups of 32: the first byte of each holds the values of k = 0 and 1, the rest is 8 - 8.
  std::vector<float> input(64, 0);
  input[0] = 1;
  input[1] = 10;
  input[32] = 100;
  std::vector<std::uint8_t> weight(32, 0x88);
  weight[0] = 0xf0;   // 0 - 8 and 15 - 8
  weight[16] = 0x89;  // 9 - 8 and 0
  const std::vector<float> scale = {0.5F, 2};
  const Sums sums = int4_gemm_reference({.element = Element::fp32,
                                         .m = 1,
                                         .n = 1,
                                         .k = 64,
                                         .group = 32,
                                         .input = input.data(),
                                         .weight = weight.data(),
                                         .scale = scale.data()});
  EXPECT_EQ(sums.values[0], 0.5 * (1 * -8 + 10 * 7) + 2 * 100);
  EXPECT_EQ(sums.magnitudes[0], 0.5 * (1 * 8 + 10 * 7) + 2 * 100);
}

}  // namespace
}  // namespace roofcast::kernels
