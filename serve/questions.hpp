// Questions as clients ask them: {"model": "llama-3.1-8b", "tp": 2} to the question structs of
// roofcast/. A key is the name of a flag or an alias of it, with '_' or '-'. Keys that read or
// write a file, name a store or take another program's command line do not exist here, and no value
// can name a file; a hardware profile that the server was started with goes by its name.
//
// All functions throw UsageError naming the key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "roofcast/arguments.hpp"
#include "roofcast/capacity.hpp"
#include "roofcast/capacity_table.hpp"
#include "roofcast/estimate.hpp"
#include "roofcast/learn.hpp"
#include "roofcast/memory.hpp"
#include "roofcast/sampling.hpp"
#include "roofcast/simulate.hpp"
#include "roofcast/staircase.hpp"
#include "roofcast/what_if.hpp"
#include "serve/serve_options.hpp"

namespace roofcast {

MemoryQuestion asked_memory(const Json& body, const ApiLimits& limits);
EstimateArguments asked_estimate(const Json& body, const ApiLimits& limits);
StaircaseQuestion asked_staircase(const Json& body, const ApiLimits& limits);
LessonQuestion asked_lesson(const Json& body, const ApiLimits& limits);
SamplingQuestion asked_sampling(const Json& body);
CapacityQuestion asked_capacity(const Json& body, const ApiLimits& limits);
/// The comparison, if the body names several GPUs or tensor-parallel degrees; at most
/// limits.max_variants of them.
std::optional<CapacityTableQuestion> asked_capacity_table(const Json& body,
                                                          const ApiLimits& limits);

struct AskedSimulation {
  SimulationQuestion question{};
  std::string command_line{};  // that asks the same: "roofcast simulate --model=llama-3.1-8b"
};

/// The default number of requests is limits.max_requests if that is smaller.
AskedSimulation asked_simulation(const Json& body, const ApiLimits& limits);

/// The model or GPU that is asked for by name; all of them without one.
ModelArguments asked_model(const Json& body);
GpuArguments asked_gpu(const Json& body, const ApiLimits& limits);

PlanQuestion asked_plan(const Json& body, const ApiLimits& limits);

/// At most limits.max_variants simulations.
WhatIfTask asked_what_if(const Json& body, const ApiLimits& limits);

/// The id of {"id": 3}; nullopt for {}: all runs.
std::optional<std::int64_t> asked_run(const Json& body);

struct NamedRun {
  std::int64_t id = 0;
  std::string name{};  // empty: it gets none
};

/// {"id": 3, "name": "two replicas"}.
NamedRun asked_name(const Json& body);

/// The name of {"name": "chat.csv"}.
std::string asked_trace(const Json& body);

/// The arguments that COMMAND takes here: "memory", "plan" ... Empty for those without a table
/// (compare, runs).
std::vector<Argument> offered_arguments(const std::string& command);

/// The ids of {"runs": [1, 2]}.
std::vector<std::int64_t> asked_runs(const Json& body);

}  // namespace roofcast
