#include "planner/vary/scenario_path.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"

namespace roofcast {
namespace {

using testing::HasSubstr;

Scenario scenario_with_pools() {
  Scenario scenario;
  scenario.deployment.model = "llama-3.1-8b";
  scenario.deployment.gpu = "h100";
  scenario.cluster.emplace();
  scenario.cluster->pools = {{.name = "a", .replicas = 2}, {.name = "b", .replicas = 3}};
  scenario.cluster->pools[1].own.gpu = "l40s";
  return scenario;
}

std::string refusal_of(const std::string& path, const std::string& value) {
  try {
    with_value_at(scenario_with_pools(), path, value);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(ScenarioPath, ReplacesAValueWhereItStands) {
  const Scenario changed = with_value_at(scenario_with_pools(), "cluster.pools.1.replicas", "5");
  EXPECT_EQ(changed.cluster->pools[0].replicas, 2);
  EXPECT_EQ(changed.cluster->pools[1].replicas, 5);
}

TEST(ScenarioPath, AddsAValueWhereNoneStands) {
  const Scenario changed =
      with_value_at(scenario_with_pools(), "engine_options.max_num_seqs", "64");
  EXPECT_EQ(changed.deployment.overrides.max_num_seqs, 64);
}

TEST(ScenarioPath, TextsAndNumbersAreToldApartByWhatTheScenarioTakes) {
  EXPECT_EQ(
      with_value_at(scenario_with_pools(), "cluster.pools.1.gpu", "4090").cluster->pools[1].own.gpu,
      "4090");
  const auto load = std::get<SyntheticWorkload>(
      with_value_at(scenario_with_pools(), "workload.input_len", "uniform:1:9").workload);
  EXPECT_EQ(load.input.b, 9);
}

TEST(ScenarioPath, FindsNumbersOnly) {
  const Scenario scenario = scenario_with_pools();
  EXPECT_EQ(number_at(scenario, "cluster.pools.0.replicas"), 2);
  EXPECT_EQ(number_at(scenario, "cluster.pools.1.gpu"), std::nullopt);
  EXPECT_EQ(number_at(scenario, "cluster.pools.2.replicas"), std::nullopt);
  EXPECT_EQ(number_at(scenario, ""), std::nullopt);
}

TEST(ScenarioPath, WhatIsNotThereIsNamedWithTheNearestThatIs) {
  EXPECT_THAT(refusal_of("workload.request_rat", "5"), HasSubstr("'request_rate'"));
  EXPECT_THAT(refusal_of("cluster.pools.7.replicas", "5"), HasSubstr("no 7"));
  EXPECT_THAT(refusal_of("cluster.pools.x.replicas", "5"), HasSubstr("no x"));
  EXPECT_THAT(refusal_of("clutser.pools", "5"), HasSubstr("'cluster'"));
  EXPECT_THAT(refusal_of("workload.num_prompts", "many"), HasSubstr("workload.num_prompts"));
  EXPECT_THAT(refusal_of("workload.num_prompts.0", "1"), HasSubstr("scenario"));
  for (const char* path : {".", "..", ".x", "workload.", "9"}) {
    EXPECT_NE(refusal_of(path, "1"), "") << path;
  }
}

}  // namespace
}  // namespace roofcast
