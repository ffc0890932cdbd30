// simulate, capacity, plan and what-if must give the same verdict on the same load.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <variant>

#include "roofcast/capacity.hpp"
#include "roofcast/plan.hpp"
#include "roofcast/simulate.hpp"
#include "roofcast/what_if.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/trials.hpp"

namespace roofcast::test {
namespace {

enum class Verdict { holds, fails, undecided };

/// 1,500 arrivals at a rate, as a trace has them.
std::string write_trace(const TemporaryFolder& folder, std::mt19937_64& random, double rate,
                        const SyntheticWorkload& load) {
  const std::string path = folder.path() + "/requests.csv";
  std::ofstream file(path);
  file << "arrival_s,input_tokens,output_tokens\n";
  std::exponential_distribution<double> gap(rate);
  double time = 0;
  for (int i = 0; i < 1500; ++i) {
    file << fmt::format("{:.6f},{},{}\n", time, static_cast<std::int64_t>(load.input.a),
                        static_cast<std::int64_t>(load.output.a));
    time += gap(random);
  }
  return path;
}

/// A small model, so that a question takes milliseconds: open loads, closed loops, traces and, if
/// asked, sessions from light to beyond saturation, most with an SLO.
Scenario random_scenario(std::mt19937_64& random, bool sessions, const TemporaryFolder& folder) {
  const auto between = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  Scenario scenario;
  scenario.deployment.model = "llama-3.2-1b";
  scenario.deployment.gpu = "rtx-4090";
  scenario.deployment.overrides.max_model_len = 8192;
  scenario.deployment.overrides.max_num_seqs = 32;
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
  if (kind > 0.8) {
    scenario.workload = TraceWorkload{.path = write_trace(folder, random, load.request_rate, load)};
  }
  scenario.slo.targets = {{LatencyMetric::ttft, 95, Seconds{between(0.02, 0.3)}},
                          {LatencyMetric::tpot, 95, Seconds{between(0.004, 0.012)}}};
  constexpr double kWithoutSlo = 0.3;  // then what is asked is whether the engine keeps up
  if (between(0, 1) < kWithoutSlo) scenario.slo = {};
  return scenario;
}

Verdict verdict_of(bool holds, bool undecided) {
  if (undecided) return Verdict::undecided;
  return holds ? Verdict::holds : Verdict::fails;
}

SimulationAnswer simulated(const Scenario& scenario, bool free_length = true) {
  return simulate(SimulationQuestion{
      .scenario = scenario, .free_length = free_length, .intervals = Intervals::none});
}

Verdict verdict_of(const SimulationAnswer& answer) {
  return verdict_of(answer.slo.met.value(), answer.slo.undecided.has_value());
}

/// Whether the verdict is another one with twice the requests that it took.
bool changes_when_doubled(const Scenario& scenario, const SimulationAnswer& answer) {
  Scenario doubled = scenario;
  const std::int64_t starts =
      std::get<SyntheticWorkload>(answer.inputs.scenario.workload).num_prompts;
  set_arrivals(doubled, 2 * starts);
  return simulated(doubled, false).slo.met != answer.slo.met;
}

Verdict of_capacity(const Scenario& scenario) {
  const CapacityAnswer answer =
      capacity(CapacityQuestion{.scenario = scenario, .free_length = true, .threads = 1});
  const SloVerdict& verdict = answer.asked.value().verdict;
  return verdict_of(verdict.holds, verdict.undecided);
}

Verdict planned(const Scenario& scenario) {
  PlanQuestion question{.scenario = scenario, .gpus = {scenario.deployment.gpu}};
  question.fixed_tensor = true;
  question.free_length = true;
  question.max_replicas = 1;
  question.min_probability.reset();  // as predicted, like the others
  const PlanAnswer answer = plan(question, {.threads = 1});
  if (!answer.ranked.empty()) return Verdict::holds;
  // Else a bound has refused it, or a simulation.
  return verdict_of(false,
                    !answer.closest.empty() && answer.closest.front().result.verdict.undecided);
}

Verdict asked_of_what_if(const Scenario& scenario) {
  std::optional<std::int64_t> seeds;  // a trace has none
  if (std::holds_alternative<SyntheticWorkload>(scenario.workload)) seeds = 1;
  const auto answer = what_if(WhatIfQuestion{.baseline = scenario,
                                             .settings = {{{"max_num_seqs", "48"}}},
                                             .seeds = seeds,
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
  const TemporaryFolder folder;
  int holding = 0;
  int undecided = 0;
  int doubled = 0;
  int changed = 0;
  for (int i = 0; i < loads; ++i) {
    const Scenario scenario = random_scenario(random, loads > kLoads, folder);
    const SimulationAnswer answer = simulated(scenario);
    const Verdict one = verdict_of(answer);
    if (one != Verdict::undecided && std::holds_alternative<SyntheticWorkload>(scenario.workload)) {
      ++doubled;
      if (changes_when_doubled(scenario, answer)) ++changed;
    }
    if (one == Verdict::holds) ++holding;
    if (one == Verdict::undecided) ++undecided;
    EXPECT_FALSE(contradict(one, of_capacity(scenario))) << "capacity, load " << i;
    if (!scenario.slo.targets.empty()) {  // plan asks for an SLO
      EXPECT_FALSE(contradict(one, planned(scenario))) << "plan, load " << i;
    }
    EXPECT_FALSE(contradict(one, asked_of_what_if(scenario))) << "what-if, load " << i;
  }
  if (!kSanitised) {  // else the loads say nothing
    EXPECT_GT(holding, 0);
    EXPECT_LT(holding + undecided, loads);
  }
  // The rule's confidence is 99 %.
  EXPECT_LE(changed, 0.01 * doubled) << changed << " of " << doubled;
  RecordProperty("changed", changed);
  RecordProperty("doubled", doubled);
  RecordProperty("holding", holding);
  RecordProperty("undecided", undecided);
}

}  // namespace
}  // namespace roofcast::test
