#include <gtest/gtest.h>

#include "kernels/gemm.hpp"
#include "tests/kernels/refusal.hpp"

namespace roofcast::kernels {
namespace {

using test::expect_refused;

alignas(16) char gemm_memory[64];
alignas(16) char gemm_output[64];
alignas(16) const float factor = 1;
alignas(16) const std::int32_t first_row[] = {0, 1};

const Gemm plain{.element = Element::bf16,
                 .result = Element::bf16,
                 .m = 3,
                 .n = 5,
                 .k = 7,
                 .input = gemm_memory,
                 .weight = gemm_memory,
                 .output = gemm_output};

Gemm narrow(Element element, GemmScale scale, int n, int k) {
  return {.element = element,
          .result = Element::bf16,
          .scale = scale,
          .m = 3,
          .n = n,
          .k = k,
          .input = gemm_memory,
          .weight = gemm_memory,
          .output = gemm_output,
          .input_scale = &factor,
          .weight_scale = &factor};
}

TEST(Gemm, CountsItsFlopsAndBytes) {
  Gemm gemm{.element = Element::bf16, .result = Element::bf16, .m = 4, .n = 10, .k = 100};
  EXPECT_EQ(flops(gemm), 8000);  // 2 * 4 * 10 * 100
  // 2 bytes each: weight 10 * 100, input 4 * 100, output 4 * 10.
  EXPECT_EQ(bytes_moved(gemm), 2 * 1440);
  gemm.element = Element::fp8_e4m3;
  gemm.result = Element::fp32;
  EXPECT_EQ(bytes_moved(gemm), 1000 + 400 + 4 * 40);
}

TEST(Gemm, CountsBeyondThirtyTwoBits) {
  const Gemm gemm{.m = 1 << 20, .n = 1 << 17, .k = 1 << 14};
  EXPECT_EQ(flops(gemm), 0x1p52);
}

TEST(Gemm, TakesAnyShapeOfPlainElementsAndNoRows) {
  EXPECT_EQ(test::refusal(plain), "");
  Gemm gemm = plain;
  gemm.m = 0;
  gemm.result = Element::fp32;
  EXPECT_EQ(test::refusal(gemm), "");
}

TEST(Gemm, RefusesBadShapesAndPointers) {
  expect_refused(
      plain, [](Gemm& g) { g.m = -1; }, "GEMM: m must be 0 to 2^31 - 1");
  expect_refused(
      plain, [](Gemm& g) { g.m = std::int64_t{1} << 31; }, "m must be 0 to 2^31 - 1");
  expect_refused(
      plain, [](Gemm& g) { g.n = 0; }, "n and k must be positive");
  expect_refused(
      plain, [](Gemm& g) { g.k = -7; }, "n and k must be positive");
  expect_refused(
      plain, [](Gemm& g) { g.weight = nullptr; }, "must be given");
  expect_refused(
      plain, [](Gemm& g) { g.output = gemm_memory; }, "must not be the input");
  expect_refused(
      plain, [](Gemm& g) { g.output = gemm_output + 2; }, "aligned to 16 bytes");
}

TEST(Gemm, RefusesResultsThatTheOperandsDoNotAllow) {
  expect_refused(
      plain, [](Gemm& g) { g.result = Element::fp16; }, "the result must be");
  expect_refused(
      plain, [](Gemm& g) { g.result = Element::int8; }, "the result must be");
  Gemm eight = narrow(Element::int8, GemmScale::tensor, 16, 32);
  eight.result = Element::int8;
  EXPECT_EQ(test::refusal(eight), "");
  eight.element = Element::fp8_e4m3;
  EXPECT_NE(test::refusal(eight), "");
}

TEST(Gemm, RefusesScalesThatDoNotFitTheElement) {
  expect_refused(
      plain, [](Gemm& g) { g.scale = GemmScale::tensor; }, "take no scale");
  expect_refused(
      plain, [](Gemm& g) { g.input_scale = &factor; }, "must be null");
  const Gemm fp8 = narrow(Element::fp8_e4m3, GemmScale::tensor, 16, 32);
  expect_refused(
      fp8, [](Gemm& g) { g.scale = GemmScale::none; }, "need a scale");
  expect_refused(
      fp8, [](Gemm& g) { g.weight_scale = nullptr; }, "weight_scale must be given");
  expect_refused(
      fp8, [](Gemm& g) { g.k = 24; }, "multiples of 16");
  expect_refused(
      fp8, [](Gemm& g) { g.n = 8; }, "multiples of 16");
  // The weight's last block may be ragged (576 = 4.5 * 128), the input's may not.
  const Gemm block = narrow(Element::fp8_e4m3, GemmScale::block, 576, 256);
  expect_refused(
      block, [](Gemm& g) { g.k = 192; }, "k must be a multiple of 128");
  expect_refused(
      block, [](Gemm& g) { g.element = Element::int8; }, "block scales are for fp8");
}

const GroupedGemm grouped{.element = Element::bf16,
                          .experts = 1,
                          .rows = 1,
                          .n = 8,
                          .k = 16,
                          .input = gemm_memory,
                          .weight = gemm_memory,
                          .output = gemm_output,
                          .first_row = first_row};

TEST(GroupedGemm, CountsTheExpertsThatAreUsed) {
  const GroupedGemm gemm{.element = Element::bf16, .experts = 8, .rows = 100, .n = 16, .k = 32};
  EXPECT_EQ(flops(gemm), 102400);  // 2 * 100 * 16 * 32
  // 2 bytes each: 3 experts of 16 * 32, input 100 * 32, output 100 * 16.
  EXPECT_EQ(bytes_moved(gemm, 3), 2 * (1536 + 3200 + 1600));
}

TEST(GroupedGemm, RefusesWhatItsContractDoesNotCover) {
  using G = GroupedGemm;
  expect_refused(
      grouped, [](G& g) { g.element = Element::int8; }, "grouped GEMM: the element");
  expect_refused(
      grouped, [](G& g) { g.experts = 0; }, "experts must be positive");
  expect_refused(
      grouped, [](G& g) { g.rows = -1; }, "rows must be 0 to 2^31 - 1");
  expect_refused(
      grouped, [](G& g) { g.k = 0; }, "n and k must be positive");
  expect_refused(
      grouped, [](G& g) { g.n = 4; }, "multiples of 16 bytes");
  expect_refused(
      grouped, [](G& g) { g.k = 12; }, "multiples of 16 bytes");
  expect_refused(
      grouped, [](G& g) { g.first_row = nullptr; }, "first_row must be given");
  expect_refused(
      grouped, [](G& g) { g.output = gemm_memory; }, "must not be the input");
  expect_refused(
      grouped, [](G& g) { g.weight = gemm_memory + 4; }, "aligned to 16 bytes");
}

const Int4Gemm four{.element = Element::bf16,
                    .m = 1,
                    .n = 3,
                    .k = 256,
                    .group = 128,
                    .input = gemm_memory,
                    .weight = reinterpret_cast<const std::uint8_t*>(gemm_memory),
                    .scale = gemm_memory,
                    .output = gemm_output};

TEST(Int4Gemm, CountsHalfAByteAValueAndItsScales) {
  Int4Gemm gemm = four;
  gemm.m = 2;
  EXPECT_EQ(flops(gemm), 3072);  // 2 * 2 * 3 * 256
  // 768 values in 384 bytes; 2 bytes each: 6 scales, input 512, output 6.
  EXPECT_EQ(bytes_moved(gemm), 384 + 2 * (6 + 512 + 6));
}

TEST(Int4Gemm, RefusesWhatItsContractDoesNotCover) {
  using G = Int4Gemm;
  expect_refused(
      four, [](G& g) { g.element = Element::fp8_e4m3; }, "int4 GEMM: the element");
  expect_refused(
      four, [](G& g) { g.m = -1; }, "m must be 0 to 2^31 - 1");
  expect_refused(
      four, [](G& g) { g.n = 0; }, "n and k must be positive");
  expect_refused(
      four, [](G& g) { g.group = 16; }, "the group must be 32, 64 or 128");
  expect_refused(
      four, [](G& g) { g.k = 192; }, "k must be a multiple of the group");
  expect_refused(
      four, [](G& g) { g.scale = nullptr; }, "must be given");
  expect_refused(
      four, [](G& g) { g.output = gemm_memory; }, "must not be the input");
  expect_refused(
      four, [](G& g) { g.input = gemm_memory + 8; }, "aligned to 16 bytes");
}

}  // namespace
}  // namespace roofcast::kernels
