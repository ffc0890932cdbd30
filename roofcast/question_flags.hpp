// The flags of each question beside those that say what runs where and under which load
// (planner/flags/), and the step from their values to the question. Every face that takes values by
// name reads these tables: the command line as --NAME, the web server as keys of a JSON object.
#pragma once

#include <chrono>
#include <optional>

#include "planner/flags/engine_flags.hpp"
#include "planner/flags/idle_flags.hpp"
#include "planner/flags/scenario_flags.hpp"
#include "roofcast/capacity.hpp"
#include "roofcast/estimate.hpp"
#include "roofcast/learn.hpp"
#include "roofcast/memory.hpp"
#include "roofcast/sampling.hpp"
#include "roofcast/simulate.hpp"
#include "roofcast/staircase.hpp"

namespace roofcast {

/// solve, context, batch.
const Flags<MemoryQuestion>& memory_flags();

/// Of adapters and drafts, those that bear on memory.
const Flags<EngineOverrides>& memory_feature_flags();

/// The one of those that changes a step: --pooling.
const Flags<EngineOverrides>& estimate_feature_flags();

/// batch, input-len, output-len.
const Flags<BatchesQuestion>& estimate_flags();

/// Throws UsageError for a knob of `given`, flags of the question, that would change nothing
/// (model/engines/idle_knobs.hpp).
void refuse_idle_flags(const EngineOverrides& given, const MemoryQuestion& question);
void refuse_idle_flags(const EngineOverrides& given, const BatchesQuestion& question);
void refuse_idle_flags(const LessonQuestion& question);

/// prompt, generate, acceptance, num-speculative-tokens, draft-pass-time.
const Flags<StaircaseQuestion>& staircase_flags();

/// `question`, timed on `deployment` if that names a GPU, else counted for its model if that names
/// one. Throws UsageError if there are too many tokens to time, and for flags that would change
/// nothing.
StaircaseQuestion staircase_question(StaircaseQuestion question,
                                     const DeploymentOptions& deployment);

/// prompt, generate, acceptance, num-speculative-tokens.
const Flags<LessonQuestion>& lesson_flags();

/// temperature, top-k, top-p.
const Flags<SamplingQuestion>& sampling_flags();

/// explain.
const Flags<SimulationQuestion>& simulation_flags();

/// `question` with its scenario, to which the flags `given` have been applied. `free_length`: the
/// caller gave no number of requests. Throws UsageError for flags that would change nothing.
SimulationQuestion simulation_question(SimulationQuestion question, Scenario scenario,
                                       const ScenarioOptions& given, bool free_length);

/// intervals.
const Flags<SimulationQuestion>& interval_flags();

/// What a question of capacity adds to its scenario.
struct CapacityOptions {
  std::optional<double> min_goodput{};          // share of requests, above 0
  std::optional<Growth> growth{};               // of the load asked for
  std::optional<std::chrono::sys_days> from{};  // when the growth begins
  bool explain = false;
  bool lose_one = false;
};

/// A share as parse_share() reads it, above 0: requiring none of the requests is not a requirement.
double parse_share_above_zero(const std::string& text, const std::string& flag);

/// min-goodput, explain, growth, from, lose-one.
const Flags<CapacityOptions>& capacity_flags();

/// `given` are the flags that the scenario was overridden by; `free_length`: the caller gave no
/// number of requests. Throws UsageError for options that contradict each other or the scenario,
/// and for flags that would change nothing.
CapacityQuestion capacity_question(Scenario scenario, const ScenarioOptions& given,
                                   const CapacityOptions& options, bool free_length);

}  // namespace roofcast
