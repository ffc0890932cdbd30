#include "model/step/step_sources.hpp"

#include <gtest/gtest.h>

namespace roofcast {
namespace {

OperatorEstimate taking(double seconds, Provenance provenance) {
  return {.time = Seconds{seconds}, .provenance = provenance};
}

TEST(StepSources, AreSharesOfTheOperatorsTime) {
  // 3 + 1 of 8 s at and between timed sizes, 2 beyond, 1 fitted, 1 of the datasheet.
  StepEstimate step;
  step.operators = {taking(3, Provenance::measured), taking(1, Provenance::interpolated),
                    taking(2, Provenance::extended), taking(1, Provenance::fitted),
                    taking(1, Provenance::datasheet)};
  const StepSources sources = step_sources(step);
  EXPECT_EQ(sources, (StepSources{.measured = 0.375,
                                  .interpolated = 0.125,
                                  .extended = 0.25,
                                  .fitted = 0.125,
                                  .datasheet = 0.125}));
  EXPECT_EQ(step_source_words(sources), "measured 50 %");
  EXPECT_TRUE(rests_on_measurements(sources));
  EXPECT_FALSE(rests_on_datasheet(sources));
}

TEST(StepSources, OfAllTheTimeNeedNoShare) {
  StepEstimate step;
  step.operators = {taking(2, Provenance::datasheet)};
  EXPECT_EQ(step_source_words(step_sources(step)), "datasheet");
  EXPECT_TRUE(rests_on_datasheet(step_sources(step)));
  EXPECT_FALSE(rests_on_measurements(step_sources(step)));
}

TEST(StepSources, OfNothingAreNone) {
  EXPECT_EQ(step_sources({}), StepSources{});
  EXPECT_EQ(step_source_words({}), "");
  EXPECT_FALSE(rests_on_datasheet({}));
  EXPECT_FALSE(rests_on_measurements({}));
}

TEST(StepSources, FittedEfficienciesAreMeasurementsToo) {
  EXPECT_TRUE(rests_on_measurements({.fitted = 0.6, .datasheet = 0.4}));
  EXPECT_FALSE(rests_on_measurements({.extended = 0.6, .fitted = 0.4}));
}

}  // namespace
}  // namespace roofcast
