// Roofcast's prediction for one measured run: figures under the store's names, each with its 80 %
// interval.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error_cause.hpp"
#include "base/progress.hpp"
#include "planner/scenario/resolve_deployment.hpp"
#include "planner/scenario/simulation_notes.hpp"
#include "reports/store.hpp"
#include "validate/ledger.hpp"
#include "validate/validate_manifest.hpp"

namespace roofcast {

struct Prediction {
  Run run{};                          // of kind "validate"; the caller sets its command line
  std::vector<Interval> intervals{};  // one for each of run.metrics
  std::string refusal{};              // why there are no figures: what does not fit
  std::vector<std::string> notes{};   // assumptions behind the figures
  std::vector<ErrorCause> causes{};   // of the step times' error; for several pools the first's
};

/// Answers the case's question. The interval of a figure comes from repeating the prediction with
/// each cause of error (kUncertainInputs in planner/scenario/simulation_run.hpp)
/// shifted by 1.28 standard deviations up and down; the causes are independent, so their effects
/// are combined in quadrature. Neglects chance: other arrivals and lengths of the same
/// distributions. Throws Error for a deployment that cannot be read or simulated. If `progress`
/// returns false the simulation ends and its figures are meaningless.
Prediction predict(const ValidationCase& question, const Progress& progress);

// ---- its parts, for callers that repeat a prediction with other terms

/// Prepares the simulation of a case up to running it.
SimulationRun prepare(const ValidationCase& question);

/// Reduces the run's result to the given stage (from 1, of those reported); keeps all if none is
/// given. Throws Error if the load reports fewer stages.
void keep_stage(SimulationRun& run, const std::optional<std::int64_t>& stage);

/// Figures of a finished run: those of the store, and further ones that are compared.
std::vector<MetricRow> figures_of(const SimulationRun& run);

/// The deployment of a memory or single-step case. Throws Error if the case has several pools.
ResolvedDeployment deployment_of(const ValidationCase& question);

/// Sequences of equal context, since only the sum is known; full attention gets the sum itself.
StepBatch batch_of(const StepQuestion& step, const Transformer& model);

}  // namespace roofcast
