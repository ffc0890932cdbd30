// Flags that change nothing where they are given (model/engines/idle_knobs.hpp), for all faces.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "model/engines/idle_knobs.hpp"
#include "planner/flags/scenario_flags.hpp"
#include "planner/scenario/resolve_deployment.hpp"
#include "simulator/scenario.hpp"

namespace roofcast {

/// Throws UsageError naming the first knob of `given`, which are among those of `options`, that
/// would change nothing. What does not resolve is not refused here, but by the question; of engine
/// "all" all must be idle.
void refuse_idle_flags(const EngineOverrides& given, const DeploymentOptions& options, KnobUse use);

/// Whether the degrees of parallelism are those that will run, or are still searched for.
enum class Degrees { known, searched };

/// Throws UsageError naming the first of the given flags that would change nothing in any of the
/// `scenarios`: the question's own, with the flags applied, and those that it tries beside it.
/// Looks at prices stated for a GPU, knobs of engines, the router, max_tokens, the seed and the
/// block size of a trace. Of several GPUs ("h100,l40s", "any") the first is taken; what does not
/// resolve is refused elsewhere. Throws Error if a trace whose block size is given cannot be read.
void refuse_idle_flags(const ScenarioOptions& given, std::span<const Scenario> scenarios,
                       Degrees degrees = Degrees::known);

/// The same for a load without an engine: its seed and the block size of a trace.
void refuse_idle_flags(const WorkloadOptions& given, const WorkloadSpec& workload);

/// Why priorities change nothing for the load; nullopt if they act, or order nothing.
std::optional<std::string> idle_priorities(const EngineOverrides& given, const Scenario& scenario);

}  // namespace roofcast
