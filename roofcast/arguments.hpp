// Every question as arguments by name: the whole table of its flags, and the step from their values
// to the question. For faces that take all of a question at once: Python's keyword arguments, JSON
// objects of the web API and of agents, and the descriptions of both. The command line instead
// lists the same tables in groups, under headings.
//
//   PlanArguments arguments;
//   read_question(arguments, plan_arguments(), body);
//   const PlanAnswer answer = plan(question_of(arguments));
#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "roofcast/accuracy_flags.hpp"
#include "roofcast/question_flags.hpp"
#include "roofcast/question_json.hpp"
#include "roofcast/search_flags.hpp"

namespace roofcast {

struct ModelArguments {
  std::string model{};          // empty: the catalogue
  std::string weight_format{};  // empty: the checkpoint's
};

struct GpuArguments {
  std::string gpu{};  // empty: all built-in profiles
};

struct EstimateArguments {
  BatchesQuestion question{};
  bool operators = false;  // listed for people; JSON always has them
};

struct StaircaseArguments {
  StaircaseQuestion question{};
  DeploymentOptions deployment{};
};

/// A scenario file or its text, and what overrides it.
struct LoadArguments {
  std::string scenario{};  // a path, or JSON: it starts with '{'; empty: only options
  /// Of an engine's command line, which `options` override. Flags without effect are not refused.
  DeploymentOptions served{};
  ScenarioOptions options{};
};

struct SimulationArguments {
  LoadArguments load{};
  SimulationQuestion question{};  // its scenario stays empty
};

struct CapacityArguments {
  LoadArguments load{};
  CapacityOptions capacity{};
  std::string sizes{};  // several tensor-parallel degrees: "1,2,4", "auto"; empty: the load's one
};

struct PlanArguments {
  LoadArguments load{};
  PlanOptions plan{};
};

struct WhatIfArguments {
  LoadArguments load{};
  WhatIfOptions what_if{};
};

const Flags<ModelArguments>& model_arguments();
const Flags<GpuArguments>& gpu_arguments();
const Flags<MemoryQuestion>& memory_arguments();
const Flags<EstimateArguments>& estimate_arguments();
const Flags<StaircaseArguments>& staircase_arguments();
const Flags<LessonQuestion>& lesson_arguments();
const Flags<SimulationArguments>& simulation_arguments();
const Flags<CapacityArguments>& capacity_arguments();
const Flags<PlanArguments>& plan_arguments();
const Flags<WhatIfArguments>& what_if_arguments();
const Flags<ValidationQuestion>& validation_arguments();

/// The scenario, read and overridden. Throws Error for a file that cannot be read, UsageError for
/// contradictions and for a trace in place of a scenario.
Scenario scenario_of(const LoadArguments& arguments);

/// The questions. Throw UsageError for values that are missing, contradictory or without effect.
StaircaseQuestion question_of(const StaircaseArguments& arguments);
SimulationQuestion question_of(const SimulationArguments& arguments);
CapacityQuestion question_of(const CapacityArguments& arguments);
/// The comparison if the arguments name several GPUs or degrees, else the question about one. Reads
/// the scenario once, so that it may be a pipe.
std::variant<CapacityQuestion, CapacityTableQuestion> any_question_of(
    const CapacityArguments& arguments);
PlanQuestion question_of(const PlanArguments& arguments);
WhatIfQuestion question_of(const WhatIfArguments& arguments);

/// For messages: what the caller calls the first of `given` that overrides a benchmark result;
/// empty if none does (ValidationFiles::override_name).
std::string result_override(std::span<const NamedText> given);

}  // namespace roofcast
