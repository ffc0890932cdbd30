// Flags that change nothing where they are given (model/engines/idle_knobs.hpp), for all faces.
#pragma once

#include "model/engines/idle_knobs.hpp"
#include "planner/deploy.hpp"
#include "planner/flags/cluster_flags.hpp"
#include "planner/flags/workload_flags.hpp"
#include "simulator/scenario.hpp"

namespace roofcast {

/// Throws UsageError naming the first knob of `given`, which are among those of `options`, that
/// would change nothing. What does not resolve is not refused here, but by the question; of engine
/// "all" all must be idle.
void refuse_idle_flags(const EngineOverrides& given, const DeploymentOptions& options, KnobUse use);

/// Whether the degrees of parallelism are those that will run, or are still searched for.
enum class Degrees { known, searched };

/// The same for a scenario: knobs that change nothing in any pool. Of several GPUs ("h100,l40s",
/// "any") the first is taken.
void refuse_idle_flags(const EngineOverrides& given, const Scenario& scenario,
                       Degrees degrees = Degrees::known);

/// Throws UsageError if --max-tokens is "none" and no pool's engine reserves anything for what
/// clients declare. A number cuts longer outputs in every engine.
void refuse_idle_max_tokens(const WorkloadOptions& given, const Scenario& scenario);

/// Throws UsageError if --router is given and nowhere are there two replicas to choose from.
void refuse_idle_router(const ClusterOptions& given, const Scenario& scenario);

}  // namespace roofcast
