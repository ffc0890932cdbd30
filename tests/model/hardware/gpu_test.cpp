#include "model/hardware/gpu.hpp"

#include <gtest/gtest.h>

#include "base/suggest.hpp"

namespace roofcast {
namespace {

Gpu a100() {
  Gpu gpu;
  gpu.memory_bandwidth = BytesPerSecond{2000e9};
  gpu.dense_peak = {{DType::fp32, FlopsPerSecond{19.5e12}},
                    {DType::tf32, FlopsPerSecond{156e12}},
                    {DType::fp16, FlopsPerSecond{312e12}},
                    {DType::bf16, FlopsPerSecond{312e12}},
                    {DType::int8, FlopsPerSecond{624e12}}};
  return gpu;
}

TEST(Gpu, A100TurnsComputeBoundAt156FlopPerByte) {
  // 312e12 FLOP/s / 2000e9 byte/s
  const FlopsPerByte ridge = a100().peak_for(DType::bf16) / a100().memory_bandwidth;
  EXPECT_DOUBLE_EQ(ridge.value, 156.0);
}

TEST(Gpu, UsesItsOwnUnitWhereItHasOne) {
  EXPECT_EQ(a100().peak_for(DType::int8).value, 624e12);
  EXPECT_EQ(a100().peak_for(DType::fp32).value, 19.5e12);
}

TEST(Gpu, MultipliesMissingNarrowFormatsInTheFastestWiderFloat) {
  // Never int8's 624e12: an fp8 or fp4 number does not fit an integer unit.
  EXPECT_EQ(a100().peak_for(DType::fp8).value, 312e12);
  EXPECT_EQ(a100().peak_for(DType::fp4).value, 312e12);
  EXPECT_EQ(a100().peak_for(DType::int4).value, 312e12);
}

TEST(Gpu, MultipliesMissingBf16AsFp16) {
  Gpu gpu = a100();
  gpu.dense_peak.erase(DType::bf16);
  EXPECT_EQ(gpu.peak_for(DType::bf16).value, 312e12);
}

TEST(Gpu, DoesNotMultiplyInt8InFp8) {
  // Same width, but an int8 product is not exact in fp8; bf16 holds every int8.
  Gpu gpu = a100();
  gpu.dense_peak.erase(DType::int8);
  gpu.dense_peak[DType::fp8] = FlopsPerSecond{1000e12};
  EXPECT_EQ(gpu.peak_for(DType::int8).value, 312e12);
}

TEST(Curve, GivesItsPointsExactly) {
  const Curve curve{.points = {{1, 0.5}, {8, 0.7}, {100, 0.9}}, .source = ""};
  EXPECT_EQ(curve.at(1), 0.5);
  EXPECT_EQ(curve.at(8), 0.7);
  EXPECT_EQ(curve.at(100), 0.9);
}

TEST(Curve, HoldsItsEndsOutside) {
  const Curve curve{.points = {{4, 0.5}, {8, 0.7}}, .source = ""};
  EXPECT_EQ(curve.at(0.001), 0.5);
  EXPECT_EQ(curve.at(1e12), 0.7);
  EXPECT_EQ((Curve{.points = {{4, 0.5}}, .source = ""}.at(17)), 0.5);
}

TEST(Curve, IsLinearInTheExponentBetweenPowersOfTwo) {
  // log2 of 1, 4, 16 is 0, 2, 4: at 4 half of the way from 1 to 16.
  const Curve curve{.points = {{1, 0.0}, {16, 1.0}}, .source = ""};
  EXPECT_DOUBLE_EQ(curve.at(4), 0.5);
}

TEST(Curve, IsLinearInXWithinAnOctave) {
  // 6 = 2^2 (1 + 1/2) lies half of the way from 4 to 8.
  const Curve curve{.points = {{4, 10.0}, {8, 20.0}}, .source = ""};
  EXPECT_DOUBLE_EQ(curve.at(6), 15.0);
  EXPECT_DOUBLE_EQ(curve.at(5), 12.5);
}

TEST(Curve, NeverLeavesTheRangeOfItsNeighbours) {
  const Curve curve{.points = {{3, 1.0}, {7, 0.2}, {1000, 0.6}}, .source = ""};
  double before = curve.at(3);
  for (int eighths = 24; eighths <= 56; ++eighths) {
    const double now = curve.at(eighths / 8.0);
    EXPECT_LE(now, before);
    before = now;
  }
  EXPECT_EQ(before, 0.2);
}

TEST(Suggest, CountsEditsWithoutRegardToCase) {
  EXPECT_EQ(edit_distance("h100", "H100"), 0);
  EXPECT_EQ(edit_distance("h100", "h200"), 1);
  EXPECT_EQ(edit_distance("bandwith", "bandwidth"), 1);
  EXPECT_EQ(edit_distance("gmme", "gemm"), 2);        // the e moves over two letters
  EXPECT_EQ(edit_distance("arrvial", "arrival"), 1);  // neighbours swapped
  EXPECT_EQ(edit_distance("", "abc"), 3);
}

TEST(Suggest, OffersTheNearestFirstAndNothingFarAway) {
  const std::vector<std::string> keys = {"output_len", "input_len", "engine", "request_rate"};
  EXPECT_EQ(nearest("inputlen", keys).front(), "input_len");
  EXPECT_TRUE(nearest("zzzzzzzzzz", keys).empty());
}

TEST(Suggest, OffersWhatContainsTheWord) {
  EXPECT_EQ(nearest("llama", {"qwen2.5-7b", "llama-3.1-8b-instruct"}),
            std::vector<std::string>{"llama-3.1-8b-instruct"});
}

TEST(Suggest, EndsAnErrorTextOrAddsNothing) {
  EXPECT_EQ(did_you_mean("engin", {"engine"}), ", did you mean 'engine'?");
  EXPECT_EQ(did_you_mean("ab1", {"ab2", "ab3"}), ", did you mean 'ab2' or 'ab3'?");
  EXPECT_EQ(did_you_mean("zzzzzzzz", {"engine"}), "");
}

}  // namespace
}  // namespace roofcast
