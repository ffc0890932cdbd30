// From a scenario to its result: load, plan memory, draw or read the workload, simulate; and
// simulate again with perturbed inputs.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error_cause.hpp"
#include "base/progress.hpp"
#include "model/memory/memory_plan.hpp"
#include "model/step/step_estimate.hpp"
#include "model/step/step_sources.hpp"
#include "model/step/version_terms.hpp"
#include "planner/scenario/resolve_deployment.hpp"
#include "simulator/results/result.hpp"
#include "simulator/scenario.hpp"

namespace roofcast {

struct StepUse;  // planner/scenario/step_census.hpp

/// Hardware, engine and memory plan of one pool of a cluster.
struct PoolRun {
  std::string name{};
  PoolRole role = PoolRole::both;
  std::int32_t replicas = 1;
  Deployment deployment{};
  std::string profile_hash{};
  MemoryPlan plan{};
  /// Relative standard deviation of the times of the steps that its engines ran, but for what
  /// version_deviation() adds. Filled in by simulate_sampled.
  double step_uncertainty = 0;
  std::vector<ErrorCause> step_causes{};  // the same by cause, and the engine's version
  StepSources step_sources{};             // how their times are known
  /// Utilisation of each GPU while a step is in progress, 0 to 1 (StepUse). Filled in by
  /// simulate_sampled; unset for measured runs.
  std::optional<double> mfu{}, mbu{};
  /// Energy of the steps of all its GPUs beyond idling. Filled in by simulate_sampled; unset where
  /// the GPU's power is not known.
  std::optional<Joules> step_energy{};
};

/// How well a pool's GPUs are used while a step is in progress, as shares of their datasheet rates.
/// Both can be low though a step is always in progress.
struct PoolUtilisation {
  std::string pool{};
  double mfu = 0;  // FLOPs that the model needs, over those of the dense peak
  double mbu = 0;  // bytes of weights and KV cache, over those of the memory bandwidth
};

/// The scenario with one output token a request, the vector, where a pool serves a model that pools
/// and no output lengths are stated.
Scenario with_pooled_output(Scenario scenario);

/// A simulation with all its inputs.
struct SimulationRun {
  Scenario scenario{};
  std::vector<PoolRun> pools = std::vector<PoolRun>(1);  // at least one
  std::string refusal{};  // why it cannot run: what does not fit; empty if all fits
  Workload workload{};
  SimulationResult result{};
  std::vector<std::string> notes{};  // assumptions behind the numbers, human-readable
  /// If set, called within its simulations and from several threads: true ends them, and their
  /// results must be discarded.
  std::function<bool()> stopped{};
};

/// Cancels when `progress` (which may be empty) or run.stopped does.
Progress ended_by(const SimulationRun& run, const Progress& progress);

/// One per pool, in their order.
using PoolStepTimes = std::deque<RooflineStepTime>;

/// The scenario's pools, or its single replica if it has none.
std::vector<PoolScenario> pools_of(const Scenario& scenario);

/// The most replicas of a pool whose K and V the host memory of a node holds, if more would share
/// the node; nullopt if any number does. (plan_memory compares that of one.)
std::optional<std::int32_t> most_replicas_in_host_memory(const Deployment& deployment,
                                                         const MemoryPlan& plan);

/// The deployment that a pool names.
DeploymentOptions deployment_options(const Scenario& scenario, const PoolScenario& pool);

/// Routed experts process the tokens of all data-parallel ranks, so the ranks step together (vLLM
/// documentation, "Data Parallel Deployment") unless the pool says otherwise.
bool steps_in_lockstep(const PoolScenario& pool, const Transformer& model);

/// Everything but the simulation itself: model, GPU and memory plan of every pool, and the
/// workload. If a pool does not fit, sets `refusal` and draws no workload. `recorded` is the
/// workload if already loaded. Throws Error when the workload cannot be read.
SimulationRun prepare_simulation(const Scenario& scenario,
                                 const std::optional<Workload>& recorded = {});

/// The most tokens, prompt and output, of a request that the engine's scheduler accepts. `plan` is
/// the deployment's, and fits.
std::int64_t longest_request(const Deployment& deployment, const MemoryPlan& plan);

/// The same of a pool whose engine started with a KV cache smaller than the model's context
/// (as_started). Unset where the context is whole, or of a length that was asked for.
std::optional<std::int64_t> shortened_length(const SimulationRun& run, std::size_t pool);

PoolStepTimes step_times_of(const SimulationRun& run);

/// The cluster of the run's pools. The pools and their step times must outlive it.
Cluster cluster_of(const Scenario& scenario, std::span<const PoolRun> pools,
                   std::span<const StepTime* const> step_times);

/// Fills in uncertainty and utilisation of the pool's steps, of a simulation with that result.
void take_use(PoolRun& pool, const StepUse& use, const SimulationResult& result);

/// Fills in the result, and uncertainty and utilisation of each pool's steps. Returns, for each
/// pool, a sample of the steps that its engines ran, summed into one estimate.
std::vector<StepEstimate> simulate_sampled(SimulationRun& run, const PoolStepTimes& step_times,
                                           const Progress& progress);

/// Precondition: simulate_sampled() has filled in the pools.
std::vector<PoolUtilisation> utilisation_of(const std::vector<PoolRun>& pools);

/// Perturbations of a simulation, in standard deviations of each term; above 0 is more.
struct Deviations {
  double step_time = 0;    // of every step, by PoolRun::step_uncertainty
  double per_request = 0;  // host work on a request outside its steps, by kHostUncertainty
  double kv_capacity = 0;  // blocks, by MemoryPlan::relative_uncertainty
  double acceptance = 0;   // of drafts, by Speculation::acceptance_deviation
  double first_token = 0;  // of times to first tokens, by Engine::first_token_uncertainty
  double version = 0;      // of every step, by version_deviation()

  bool operator==(const Deviations&) const = default;
};

/// An input of a simulation that may be off, independently of the others.
struct UncertainInput {
  const char* name;
  const char* in_general;  // in a sentence about all of them
  double Deviations::*member;
  double harmful;  // the sign that can only worsen latencies
};

/// All of them: intervals of latencies (planner/verdict/intervals.hpp, validate/prediction.hpp)
/// and the probability that an SLO holds (planner/verdict/confidence.hpp) deviate in these. Step
/// time, which matters most, comes first.
inline constexpr std::array kUncertainInputs = {
    UncertainInput{"step time", "step times", &Deviations::step_time, 1},
    UncertainInput{"first tokens", "first tokens", &Deviations::first_token, 1},
    UncertainInput{"host work per request", "host work", &Deviations::per_request, 1},
    UncertainInput{"KV capacity", "KV capacity", &Deviations::kv_capacity, -1},
    UncertainInput{"acceptance of drafts", "the acceptance of drafts", &Deviations::acceptance, -1},
    UncertainInput{kVersionCause, kVersionCause, &Deviations::version, 1}};

/// "step times, first tokens, host work, KV capacity, the acceptance of drafts and the engine's
/// version"
std::string uncertain_input_names();

/// Whether the input is uncertain in this run: drafts' acceptance only where a deviation was given,
/// first tokens only of engines for which their error is known, the engine's version only where
/// versions are known to differ (version_deviation).
bool is_uncertain(const SimulationRun& run, const UncertainInput& input);

/// The result of a run that simulate_sampled has filled in, simulated again with these deviations.
/// Late first tokens are so for the user alone: they delay no other request and no client.
SimulationResult simulate_deviating(const SimulationRun& run, const PoolStepTimes& step_times,
                                    const Deviations& deviations, const Progress& progress);

/// The same without deviations.
SimulationResult simulate_run(const SimulationRun& run);

/// Throws Error: the user cancelled.
[[noreturn]] void throw_interrupted();

/// The same if the run's simulations were cancelled from within.
void throw_if_stopped(const SimulationRun& run);

}  // namespace roofcast
