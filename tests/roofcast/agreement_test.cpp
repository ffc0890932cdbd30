// simulate, capacity, plan and what-if must give the same verdict on the same load.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>

#include "roofcast/capacity.hpp"
#include "roofcast/plan.hpp"
#include "roofcast/simulate.hpp"
#include "roofcast/what_if.hpp"
#include "tests/support/trials.hpp"

namespace roofcast::test {
namespace {

enum class Verdict { holds, fails, undecided };

/// A small model, so that a question takes milliseconds: open loads, closed loops and, if asked,
/// sessions from light to beyond saturation.
Scenario random_scenario(std::mt19937_64& random, bool sessions) {
  const auto between = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  Scenario scenario;
  scenario.model = "llama-3.2-1b";
  scenario.gpu = "rtx-4090";
  scenario.overrides.max_model_len = 8192;
  scenario.overrides.max_num_seqs = 32;
  scenario.seed = random();
  SyntheticWorkload load;
  load.input = fixed_length(static_cast<std::int64_t>(between(100, 1500)));
  load.output = fixed_length(static_cast<std::int64_t>(between(8, 48)));
  load.request_rate = between(2, 90);
  const double kind = between(0, 1);
  if (sessions && kind < 0.2) {
    load.sessions = Sessions{.turns = fixed_length(3)};
    load.request_rate /= 3;
  } else if (kind < 0.4) {
    load.request_rate = kAllAtOnce;
    scenario.max_concurrency = static_cast<std::int64_t>(between(1, 64));
  }
  scenario.workload = load;
  scenario.slo.targets = {{LatencyMetric::ttft, 95, Seconds{between(0.02, 0.3)}},
                          {LatencyMetric::tpot, 95, Seconds{between(0.004, 0.012)}}};
  return scenario;
}

Verdict verdict_of(bool holds, bool undecided) {
  if (undecided) return Verdict::undecided;
  return holds ? Verdict::holds : Verdict::fails;
}

Verdict simulated(const Scenario& scenario) {
  const SimulationAnswer answer =
      simulate(SimulationQuestion{.scenario = scenario, .free_length = true});
  return verdict_of(answer.slo.met.value(), answer.slo.undecided.has_value());
}

Verdict of_capacity(const Scenario& scenario) {
  const CapacityAnswer answer =
      capacity(CapacityQuestion{.scenario = scenario, .free_length = true, .threads = 1});
  const SloVerdict& verdict = answer.asked.value().verdict;
  return verdict_of(verdict.holds, !verdict.undecided.empty());
}

Verdict planned(const Scenario& scenario) {
  PlanQuestion question{.scenario = scenario, .gpus = {scenario.gpu}};
  question.fixed_tensor = true;
  question.free_length = true;
  question.max_replicas = 1;
  const PlanAnswer answer = plan(question, {.threads = 1});
  if (!answer.ranked.empty()) return Verdict::holds;
  // Else a bound has refused it, or a simulation.
  return verdict_of(
      false, !answer.closest.empty() && !answer.closest.front().result.verdict.undecided.empty());
}

Verdict asked_of_what_if(const Scenario& scenario) {
  const auto answer = what_if(WhatIfQuestion{.baseline = scenario,
                                             .settings = {{{"max_num_seqs", "48"}}},
                                             .seeds = 1,
                                             .threads = 1,
                                             .free_length = true});
  const VariantAnswer& baseline = answer->variants.front();
  return verdict_of(baseline.held == 1, baseline.undecided == 1);
}

/// A verdict of one that the other contradicts.
bool contradict(Verdict a, Verdict b) {
  return a != Verdict::undecided && b != Verdict::undecided && a != b;
}

constexpr int kLoads = 6;
constexpr int kSanitisedLoads = 2;

/// ROOFCAST_AGREEMENT_LOADS: more loads than a test has time for, and sessions among them.
int number_of_loads() {
  const char* given = std::getenv("ROOFCAST_AGREEMENT_LOADS");
  if (given != nullptr) return std::stoi(given);
  return kSanitised ? kSanitisedLoads : kLoads;
}

TEST(Agreement, OfAllCommandsOnRandomLoads) {
  std::mt19937_64 random(19);
  const int loads = number_of_loads();
  int holding = 0;
  int undecided = 0;
  for (int i = 0; i < loads; ++i) {
    const Scenario scenario = random_scenario(random, loads > kLoads);
    const Verdict one = simulated(scenario);
    if (one == Verdict::holds) ++holding;
    if (one == Verdict::undecided) ++undecided;
    EXPECT_FALSE(contradict(one, of_capacity(scenario))) << "capacity, load " << i;
    EXPECT_FALSE(contradict(one, planned(scenario))) << "plan, load " << i;
    EXPECT_FALSE(contradict(one, asked_of_what_if(scenario))) << "what-if, load " << i;
  }
  if (!kSanitised) {  // else the loads say nothing
    EXPECT_GT(holding, 0);
    EXPECT_LT(holding + undecided, loads);
  }
  RecordProperty("holding", holding);
  RecordProperty("undecided", undecided);
}

}  // namespace
}  // namespace roofcast::test
