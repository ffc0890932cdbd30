// What Roofcast predicts for one measured run: figures as the store names them, each with its 80 %
// interval.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/deploy.hpp"
#include "reports/store.hpp"
#include "reports/validation.hpp"
#include "roofcast/run_simulation.hpp"
#include "validate/validate_manifest.hpp"

namespace roofcast {

struct Prediction {
  Run run{};                          // of kind "validate"; its command line is the caller's
  std::vector<Interval> intervals{};  // one for each of run.metrics
  std::string refusal{};              // why there are no figures: what does not fit
  std::vector<std::string> notes{};   // what the figures rest on
};

/// Answers the case's question. The interval of a figure: the question asked again with each cause
/// of error (step times, host work on a request, KV capacity) 1.28 standard deviations up and down;
/// the causes are independent, so their effects combine in quadrature. Neglects chance: other
/// arrivals and lengths of the same distributions. Throws Error for a
/// deployment that cannot be read or simulated; `progress` returning false ends a simulation, whose
/// figures are then worth nothing.
Prediction predict(const ValidationCase& question, const ProgressFunction& progress);

// ---- its parts, for who asks the same again with other terms

/// The simulation of a case that asks for one, up to running it.
SimulationRun prepare(const ValidationCase& question);

/// Leaves of the run's result what the stage's requests make of it (from 1, of those reported); all
/// where none is asked for. Throws Error where the load reports fewer stages.
void keep_stage(SimulationRun& run, const std::optional<std::int64_t>& stage);

/// Of a run with its result: the store's figures, and those that are compared besides.
std::vector<MetricRow> figures_of(const SimulationRun& run);

/// Memory and single steps are of one engine: throws Error when the case has several pools.
ResolvedDeployment deployment_of(const ValidationCase& question);

/// Sequences of one context each, as only the sum is known; full attention gets the sum itself.
StepBatch batch_of(const StepQuestion& step, const Transformer& model);

}  // namespace roofcast
