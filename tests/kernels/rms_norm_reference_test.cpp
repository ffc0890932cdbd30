#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "kernels/rms_norm.hpp"
#include "tests/kernels/reference.hpp"

namespace roofcast::kernels {
namespace {

TEST(RmsNormReference, DividesByTheRootOfTheMeanSquare) {
  // (3, 4): mean square 25 / 2, root 5 / sqrt(2); weights 1 and 2 give 3 sqrt(2) / 5, 8 sqrt(2)
  // / 5.
  const RmsNormResult result = rms_norm_reference({.element = Element::fp32,
                                                   .rows = 1,
                                                   .hidden = 2,
                                                   .epsilon = 0,
                                                   .input = {3, 4},
                                                   .residual = {},
                                                   .weight = {1, 2}});
  EXPECT_DOUBLE_EQ(result.output[0], 3 * std::sqrt(2.0) / 5);
  EXPECT_DOUBLE_EQ(result.output[1], 8 * std::sqrt(2.0) / 5);
  EXPECT_TRUE(result.residual_out.empty());
}

TEST(RmsNormReference, NormalisesEachRowByItself) {
  const RmsNormResult result = rms_norm_reference({.element = Element::fp32,
                                                   .rows = 2,
                                                   .hidden = 2,
                                                   .epsilon = 0,
                                                   .input = {1, 1, 100, 100},
                                                   .residual = {},
                                                   .weight = {1, 1}});
  for (const double value : result.output) EXPECT_DOUBLE_EQ(value, 1);
}

TEST(RmsNormReference, AddsEpsilonToTheMeanSquare) {
  // Mean square 1, epsilon 3: divided by 2.
  const RmsNormResult result = rms_norm_reference({.element = Element::fp32,
                                                   .rows = 1,
                                                   .hidden = 1,
                                                   .epsilon = 3,
                                                   .input = {1},
                                                   .residual = {},
                                                   .weight = {1}});
  EXPECT_DOUBLE_EQ(result.output[0], 0.5);
}

TEST(RmsNormReference, NormalisesTheSumAsItIsStored) {
  // 256 + 1 needs 9 significant bits and bf16 has 8: a tie, rounded to the even 256.
  const RmsNormResult result = rms_norm_reference({.element = Element::bf16,
                                                   .rows = 1,
                                                   .hidden = 2,
                                                   .epsilon = 0,
                                                   .input = {256, 256},
                                                   .residual = {1, 0},
                                                   .weight = {1, 1}});
  EXPECT_EQ(result.residual_out, (std::vector<double>{256, 256}));
  EXPECT_DOUBLE_EQ(result.output[0], 1);
}

TEST(RmsNorm, CountsItsBytesAndFlops) {
  alignas(16) char memory[16] = {};
  RmsNorm norm{.element = Element::bf16, .rows = 10, .hidden = 64};
  // Plain: read and write 10 rows of 128 bytes, read one weight row; square, add, scale, weight.
  EXPECT_EQ(bytes_moved(norm), 21 * 128);
  EXPECT_EQ(flops(norm), 4 * 640);
  norm.residual = memory;
  // With a residual, that is read and written too, and one addition more.
  EXPECT_EQ(bytes_moved(norm), 41 * 128);
  EXPECT_EQ(flops(norm), 5 * 640);
}

TEST(RmsNorm, RefusesWhatItsContractDoesNotCover) {
  alignas(16) char memory[64] = {};
  const RmsNorm good{.element = Element::bf16,
                     .rows = 1,
                     .hidden = 8,
                     .input = memory,
                     .residual = memory,
                     .weight = memory,
                     .residual_out = memory,
                     .output = memory};
  EXPECT_NO_THROW(check(good));
  const auto refused = [&](auto change) {
    RmsNorm bad = good;
    change(bad);
    EXPECT_THROW(check(bad), std::invalid_argument);
  };
  refused([](RmsNorm& n) { n.hidden = 0; });
  refused([](RmsNorm& n) { n.hidden = 4; });  // 8 bytes
  refused([](RmsNorm& n) { n.hidden = kMaxHidden + 8; });
  refused([](RmsNorm& n) { n.rows = -1; });
  refused([](RmsNorm& n) { n.rows = std::int64_t{1} << 31; });
  refused([](RmsNorm& n) { n.weight = nullptr; });
  refused([](RmsNorm& n) { n.residual_out = nullptr; });
  refused([&](RmsNorm& n) { n.input = memory + 2; });
  refused([](RmsNorm& n) { n.epsilon = -1; });
}

}  // namespace
}  // namespace roofcast::kernels
