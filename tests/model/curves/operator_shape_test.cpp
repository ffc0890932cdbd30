#include "model/curves/operator_shape.hpp"

#include <gtest/gtest.h>

namespace roofcast {
namespace {

constexpr int kShapeUnits = 100;

OperatorShape gemm_shape(const char* format, std::int64_t outputs, std::int64_t inputs) {
  return {.family = OperatorFamily::gemm, .format = format, .outputs = outputs, .inputs = inputs};
}

TEST(ShapeWork, OfAMatrixProductIsItsWeightAndActivationsOnce) {
  // N 256, K 128, 4 tokens, bf16: 2 * 4 * 256 * 128 FLOPs; 65,536 bytes of weight and
  // 4 * (128 + 256) * 2 = 3,072 of activations; one row of two 128 x 128 tiles over 100 units.
  const ShapeWork work = shape_work(gemm_shape("bf16", 256, 128), 4, 0, kShapeUnits);
  EXPECT_EQ(work.flops.value, 262144);
  EXPECT_EQ(work.stored_bytes.value, 65536);
  EXPECT_EQ(work.bytes.value, 68608);
  EXPECT_EQ(work.waves, 0.02);
  // 512 tokens are four rows of tiles.
  EXPECT_EQ(shape_work(gemm_shape("bf16", 256, 128), 512, 0, kShapeUnits).waves, 0.08);
}

TEST(ShapeWork, OfNarrowWeightsFollowsTheFormat) {
  // fp8: one byte a weight and input, two an output: 32,768 + 4 * (128 + 2 * 256).
  EXPECT_EQ(shape_work(gemm_shape("fp8", 256, 128), 4, 0, kShapeUnits).bytes.value, 32768 + 2560);
  // int4 in groups of 128 with a 16-bit scale: 4.125 bits a weight.
  EXPECT_EQ(shape_work(gemm_shape("int4", 256, 128), 4, 0, kShapeUnits).stored_bytes.value, 16896);
}

TEST(ShapeWork, OfExpertsReadsThoseThatAreExpectedToBePicked) {
  // 4 experts of 128 x 256 gated, each token picks 2. One token: 2 experts of 3 * 128 * 256 weights
  // in bf16; two tokens: 4 * (1 - (1/2)^2) = 3.
  const OperatorShape shape{.family = OperatorFamily::moe,
                            .format = "bf16",
                            .outputs = 128,
                            .inputs = 256,
                            .experts = 4,
                            .experts_per_token = 2,
                            .gated = true};
  const double expert = 3.0 * 128 * 256 * 2;
  EXPECT_EQ(shape_work(shape, 1, 0, kShapeUnits).stored_bytes.value, 2 * expert);
  EXPECT_EQ(shape_work(shape, 2, 0, kShapeUnits).stored_bytes.value, 3 * expert);
  EXPECT_EQ(shape_work(shape, 1.5, 0, kShapeUnits).stored_bytes.value, 2.5 * expert);
  // 2 pairs of 2 * 3 * 128 * 256 FLOPs, and 2 * (2 * 256 + 3 * 128) * 2 bytes of activations.
  EXPECT_EQ(shape_work(shape, 1, 0, kShapeUnits).flops.value, 393216);
  EXPECT_EQ(shape_work(shape, 1, 0, kShapeUnits).bytes.value, 2 * expert + 3584);
}

OperatorShape attention_shape(OperatorFamily family) {
  return {.family = family, .query_heads = 8, .kv_heads = 2, .head_dim = 64, .value_dim = 64};
}

TEST(ShapeWork, OfPrefillIsCausalOverThePrefix) {
  // 3 new tokens behind 5: 3 * 5 + 6 = 21 pairs of 4 * 64 * 8 FLOPs. A cached token is
  // 2 * (64 + 64) * 2 = 512 bytes, a query with its output 8 * 128 * 2 = 2,048.
  const auto shape = attention_shape(OperatorFamily::prefill_attention);
  const ShapeWork work = shape_work(shape, 3, 5, kShapeUnits);
  EXPECT_EQ(work.flops.value, 21 * 2048);
  EXPECT_EQ(work.stored_bytes.value, 5 * 512);
  EXPECT_EQ(work.bytes.value, 5 * 512 + 3 * (512 + 2048));
  EXPECT_EQ(work.waves, 0.08);  // 8 heads, one tile of queries each
  EXPECT_EQ(shape_work(shape, 256, 0, kShapeUnits).waves, 0.16);
}

TEST(ShapeWork, OfDecodeIsTheCacheOfAllSequences) {
  const auto shape = attention_shape(OperatorFamily::decode_attention);
  const ShapeWork work = shape_work(shape, 10, 100, kShapeUnits);
  EXPECT_EQ(work.flops.value, 1000 * 2048);
  EXPECT_EQ(work.stored_bytes.value, 1000 * 512);
  EXPECT_EQ(work.bytes.value, 1000 * 512 + 10 * 2048);
  EXPECT_EQ(work.waves, 0);  // 20 pairs fit 100 units
  EXPECT_EQ(shape_work(shape, 150, 100, kShapeUnits).waves, 2);
}

TEST(ShapeWork, OfLatentDecodeReadsOneRowForAllHeads) {
  // DeepSeek-V3: 576 elements a token in bf16, scores over 576 and values over 512 of them.
  const OperatorShape shape{.family = OperatorFamily::decode_attention,
                            .query_heads = 128,
                            .kv_heads = 1,
                            .head_dim = 576,
                            .value_dim = 512,
                            .latent = true};
  const ShapeWork work = shape_work(shape, 1, 1000, kShapeUnits);
  EXPECT_EQ(work.stored_bytes.value, 1000 * 1152);
  EXPECT_EQ(work.flops.value, 1000.0 * 2 * 128 * (576 + 512));
}

TEST(ShapeWork, OfMemoryBoundOperatorsAndCollectivesIsTheirBytes) {
  for (const OperatorFamily family : {OperatorFamily::memory_bound, OperatorFamily::collective}) {
    const ShapeWork work = shape_work({.family = family}, 12345, 0, kShapeUnits);
    EXPECT_EQ(work.bytes.value, 12345);
    EXPECT_EQ(work.stored_bytes.value, 0);
    EXPECT_EQ(work.flops.value, 0);
  }
}

TEST(ShapeWork, NeverShrinksAsSizesGrow) {
  std::vector<OperatorShape> shapes = {gemm_shape("fp8_block", 1000, 700),
                                       attention_shape(OperatorFamily::prefill_attention),
                                       attention_shape(OperatorFamily::decode_attention),
                                       {.family = OperatorFamily::moe,
                                        .format = "mxfp4",
                                        .outputs = 768,
                                        .inputs = 2048,
                                        .experts = 128,
                                        .experts_per_token = 8}};
  for (const OperatorShape& shape : shapes) {
    const std::vector<double> prefixes =
        has_second_axis(shape.family) ? std::vector<double>{1, 100, 4096} : std::vector<double>{0};
    for (const double y : prefixes) {
      ShapeWork last;
      for (double x = 0.5; x < 70000; x *= 1.07) {
        const ShapeWork now = shape_work(shape, x, y, kShapeUnits);
        EXPECT_GE(now.flops, last.flops);
        EXPECT_GE(now.bytes, last.bytes);
        EXPECT_GE(now.stored_bytes, last.stored_bytes);
        EXPECT_LE(now.stored_bytes, now.bytes);
        EXPECT_GE(now.waves, last.waves * (1 - 1e-12));
        last = now;
      }
    }
  }
}

TEST(KernelFormats, TellOtherArithmeticApart) {
  EXPECT_EQ(kernel_format_name(plain_format(DType::bf16)), "bf16");
  EXPECT_EQ(kernel_format_name({.name = "fp8", .bits_per_weight = 8, .compute = DType::fp8}),
            "fp8");
  // 8-bit weights multiplied as bf16 run other kernels than fp8's.
  const std::string name =
      kernel_format_name({.name = "fp8", .bits_per_weight = 8, .compute = DType::bf16});
  EXPECT_EQ(kernel_format(name), nullptr);
  EXPECT_EQ(kernel_format("bf17"), nullptr);
  for (const std::string& each : kernel_format_names()) EXPECT_NE(kernel_format(each), nullptr);
}

}  // namespace
}  // namespace roofcast
