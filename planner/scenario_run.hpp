// From a scenario to its result: load, plan, draw or read the workload, simulate; and the same
// again with numbers that are off.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/memory/memory_plan.hpp"
#include "model/step/step_estimate.hpp"
#include "planner/deploy.hpp"
#include "simulator/results/result.hpp"
#include "simulator/scenario.hpp"

namespace roofcast {

/// What one pool of a cluster runs on.
struct PoolRun {
  std::string name{};
  PoolRole role = PoolRole::both;
  std::int32_t replicas = 1;
  Deployment deployment{};
  std::string profile_hash{};
  MemoryPlan plan{};
  /// Of the steps that its engines ran: one standard deviation of their times, relative. Filled in
  /// by simulate_sampled.
  double step_uncertainty = 0;
};

/// A simulation with all that decided it.
struct SimulationRun {
  Scenario scenario{};
  std::vector<PoolRun> pools = std::vector<PoolRun>(1);  // one at least
  std::string refusal{};  // why it cannot run: what does not fit; empty when all fits
  Workload workload{};
  SimulationResult result{};
  std::vector<std::string> notes{};  // what the numbers rest on, for the user to read
  /// Asked from within its simulations, where there is one, and from several threads: true ends
  /// them, and their results are of no use.
  std::function<bool()> stopped{};
};

/// Called with (done, total); returning false ends the work.
using ProgressFunction = std::function<bool(std::int64_t, std::int64_t)>;

/// `progress`, which may be empty, and the run's own end.
ProgressFunction ended_by(const SimulationRun& run, const ProgressFunction& progress);

/// One a pool, in their order.
using PoolStepTimes = std::deque<RooflineStepTime>;

/// The scenario's pools, or the one replica that it has without.
std::vector<PoolScenario> pools_of(const Scenario& scenario);

/// The deployment that a pool names.
DeploymentOptions deployment_options(const Scenario& scenario, const PoolScenario& pool);

/// Routed experts take the tokens of all data-parallel ranks, so these step together (vLLM
/// documentation, "Data Parallel Deployment"), unless the pool says otherwise.
bool steps_in_lockstep(const PoolScenario& pool, const Transformer& model);

/// Everything but the simulation itself: model, GPU and memory plan of every pool, and the
/// workload. Where a pool does not fit there is a `refusal` and no workload. `recorded` is the
/// workload where it is at hand. Throws Error when the workload cannot be read.
SimulationRun prepare_simulation(const Scenario& scenario,
                                 const std::optional<Workload>& recorded = {});

PoolStepTimes step_times_of(const SimulationRun& run);

/// The cluster of the run's pools, each with its step time, which outlive it.
Cluster cluster_of(const Scenario& scenario, std::span<const PoolRun> pools,
                   std::span<const StepTime* const> step_times);

/// Fills in the result and the uncertainty of each pool's steps. Returns for each pool the steps
/// that its engines ran, in a sample, as one.
std::vector<StepEstimate> simulate_sampled(SimulationRun& run, const PoolStepTimes& step_times,
                                           const ProgressFunction& progress);

/// How far terms of a simulation are off, in their own standard deviations; above 0 is more.
struct Deviations {
  double step_time = 0;    // of every step, by PoolRun::step_uncertainty
  double per_request = 0;  // host work on a request outside its steps, by kHostUncertainty
  double kv_capacity = 0;  // blocks, by MemoryPlan::relative_uncertainty
};

/// What a run that simulate_sampled has filled in would have been with these deviations.
SimulationResult simulate_deviating(const SimulationRun& run, const PoolStepTimes& step_times,
                                    const Deviations& deviations, const ProgressFunction& progress);

}  // namespace roofcast
