#include "model/step/power.hpp"

#include <gtest/gtest.h>

#include "tests/model/step/step_time_cases.hpp"

namespace roofcast {
namespace {

/// 500 W at the limit, 100 W idle, 0.1 nJ a byte; 100 TFLOP/s bf16, as round_gpu().
Gpu powered() {
  Gpu gpu = test::round_gpu();
  gpu.board_power = Watts{500};
  gpu.power.idle = Watts{100};
  gpu.power.joules_per_byte = 1e-10;
  return gpu;
}

TEST(Power, WithoutABoardPowerNothingIsKnown) { EXPECT_FALSE(power_model_of(test::round_gpu())); }

TEST(Power, ProductsAtTheDensePeakTakeWhatTheBoardLeaves) {
  // 400 W beyond idling at 100 TFLOP/s: 4 pJ a FLOP. 10^12 FLOPs and 10^9 bytes: 4 J + 0.1 J.
  const Gpu gpu = powered();
  const PowerModel model = *power_model_of(gpu);
  const Work work{.flops = Flops{1e12}, .bytes = Bytes{1e9}};
  EXPECT_NEAR(energy_of(work, gpu, model).value, 4.1, 1e-12);
}

TEST(Power, AFormatAtTwiceTheRateTakesHalfTheEnergyOfAFlop) {
  Gpu gpu = powered();
  gpu.dense_peak[DType::fp8] = FlopsPerSecond{200e12};
  const Work work{.flops = Flops{1e12}, .compute = DType::fp8};
  EXPECT_NEAR(energy_of(work, gpu, *power_model_of(gpu)).value, 2, 1e-12);
}

TEST(Power, AStatedEnergyOfAFlopIsThatOfBf16) {
  Gpu gpu = powered();
  gpu.power.joules_per_flop = 1e-12;
  const Work work{.flops = Flops{1e12}};
  EXPECT_NEAR(energy_of(work, gpu, *power_model_of(gpu)).value, 1, 1e-12);
}

TEST(Power, AStepTakesWhatItsOperatorsDoAndWhatItsTimeCosts) {
  // 50 W while active over 2 s, and 4.1 J: 104.1 J. The limit allows 400 W x 2 s.
  Gpu gpu = powered();
  gpu.power.active = Watts{50};
  gpu.power.joules_per_flop = 4e-12;
  StepEstimate step{.total = Seconds{2}};
  step.operators.push_back({.work = {.flops = Flops{1e12}, .bytes = Bytes{1e9}}});
  const PowerModel model = *power_model_of(gpu);
  EXPECT_NEAR(energy_of(step, gpu, model).value, 104.1, 1e-9);
  // In 1 ms they would need 4 kW: the board's limit caps it at 400 W beyond idling.
  step.total = Seconds{1e-3};
  EXPECT_NEAR(energy_of(step, gpu, model).value, 0.4, 1e-12);
}

}  // namespace
}  // namespace roofcast
