#include "simulator/engine/new_token_ratio.hpp"

#include <gtest/gtest.h>

namespace roofcast::test {
namespace {

TEST(NewTokenRatio, FallsByASixHundredthADecodeStepToItsFloor) {
  // 0.7, floor 0.14 * 0.7 = 0.098; (0.7 - 0.098) / 600 = 0.00100333 a step.
  const NewTokenRatio ratio(1.0);
  EXPECT_DOUBLE_EQ(ratio.at(0), 0.7);
  EXPECT_NEAR(ratio.at(1), 0.69899667, 1e-8);
  EXPECT_NEAR(ratio.at(300), 0.399, 1e-12);
  EXPECT_NEAR(ratio.at(599), 0.09900333, 1e-8);
  EXPECT_NEAR(ratio.at(600), 0.098, 1e-12);
  EXPECT_DOUBLE_EQ(ratio.at(100'000), 0.098);
}

TEST(NewTokenRatio, PrefillsDoNotLowerIt) {
  NewTokenRatio ratio(1.0);
  ratio.count_prefill();  // step 0
  ratio.count_prefill();  // step 1
  EXPECT_DOUBLE_EQ(ratio.at(2), 0.7);
  EXPECT_NEAR(ratio.at(302), 0.399, 1e-12);
}

TEST(NewTokenRatio, ConservativenessScalesItUpToOne) {
  EXPECT_DOUBLE_EQ(NewTokenRatio(0.3).at(0), 0.21);
  EXPECT_DOUBLE_EQ(NewTokenRatio(1.2).at(0), 0.84);
  EXPECT_DOUBLE_EQ(NewTokenRatio(2.0).at(0), 1.0);
  EXPECT_DOUBLE_EQ(NewTokenRatio(2.0).at(600), 0.14);
}

TEST(NewTokenRatio, ARetractionSetsItAndAnIdleEngineStartsAgain) {
  NewTokenRatio ratio(1.0);
  ratio.set(0.9, 50);  // the step that retracts is number 49
  EXPECT_DOUBLE_EQ(ratio.at(50), 0.9);
  EXPECT_NEAR(ratio.at(150), 0.9 - 100 * 0.602 / 600, 1e-12);
  // A guess below the floor holds until the next decode step.
  ratio.set(0.05, 200);
  EXPECT_DOUBLE_EQ(ratio.at(200), 0.05);
  EXPECT_DOUBLE_EQ(ratio.at(201), 0.098);
  ratio.reset(300);
  EXPECT_DOUBLE_EQ(ratio.at(300), 0.7);
}

}  // namespace
}  // namespace roofcast::test
