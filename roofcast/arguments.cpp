#include "roofcast/arguments.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "planner/flags/flag_values.hpp"
#include "simulator/io/scenario_reader.hpp"

namespace roofcast {
namespace {

/// Appends the flags of a deployment, except features that only simulations have.
template <class Whole, class DeploymentOf>
void append_deployment(Flags<Whole>& all, DeploymentOf deployment_of) {
  const auto overrides_of = [deployment_of](Whole& whole) -> EngineOverrides& {
    return std::invoke(deployment_of, whole).overrides;
  };
  append(all, machine_flags(), deployment_of);
  append(all, engine_choice_flags(), deployment_of);
  append(all, knob_flags(KnobGroup::memory_and_batch), overrides_of);
  append(all, knob_flags(KnobGroup::scheduler), overrides_of);
}

/// The scenario and all that overrides it.
template <class Whole>
void append_load(Flags<Whole>& all) {
  all.push_back({.name = "scenario",
                 .placeholder = "FILE",
                 .help = "scenario: a file, or its JSON; other arguments override it",
                 .read = [](Whole& whole, const std::string& text, const std::string&) {
                   whole.load.scenario = text;
                 }});
  append(all, scenario_flags(),
         [](Whole& whole) -> ScenarioOptions& { return whole.load.options; });
}

/// Whether no number of requests was given: a scenario gives one, even if by default.
bool has_free_length(const LoadArguments& load) {
  return load.scenario.empty() && !load.options.workload.num_prompts;
}

/// Rejects `simulate t.csv`: a trace in place of a scenario.
void refuse_trace(const std::string& path) {
  const bool trace = path.ends_with(".csv") || path.ends_with(".jsonl") || path.ends_with(".gz");
  if (!trace) return;
  throw UsageError(path + ": is not a scenario file (JSON); to replay a trace use `trace` " + path);
}

}  // namespace

const Flags<ModelArguments>& model_arguments() {
  using A = ModelArguments;
  static const Flags<A> flags = {
      {.name = "model",
       .placeholder = "NAME|PATH",
       .help = "catalogue name, model folder, config.json or .gguf; none: the catalogue",
       .read = into(&A::model, parse_text)},
      {.name = "quantization",
       .placeholder = "FORMAT",
       .help = "weight format: fp8, int8, awq, ... (default: the checkpoint's)",
       .read = into(&A::weight_format, parse_text)}};
  return flags;
}

const Flags<GpuArguments>& gpu_arguments() {
  static const Flags<GpuArguments> flags = {
      {.name = "gpu",
       .placeholder = "NAME|FILE",
       .help = "GPU name in any usual spelling, or a profile file; none: all of them",
       .read = into(&GpuArguments::gpu, parse_text)}};
  return flags;
}

const Flags<MemoryQuestion>& memory_arguments() {
  using Q = MemoryQuestion;
  static const Flags<Q> flags = [] {
    Flags<Q> all = memory_flags();
    append_deployment(all, &Q::deployment);
    append(all, memory_feature_flags(),
           [](Q& question) -> EngineOverrides& { return question.deployment.overrides; });
    return all;
  }();
  return flags;
}

const Flags<EstimateArguments>& estimate_arguments() {
  using A = EstimateArguments;
  static const Flags<A> flags = [] {
    Flags<A> all;
    append(all, estimate_flags(), &A::question);
    all.push_back({.name = "ops",
                   .help = "list every operator of both steps",
                   .read = set_to(&A::operators, true),
                   .form = FlagForm::toggle});
    append_deployment(all, [](A& a) -> DeploymentOptions& { return a.question.deployment; });
    append(all, estimate_feature_flags(),
           [](A& a) -> EngineOverrides& { return a.question.deployment.overrides; });
    return all;
  }();
  return flags;
}

const Flags<StaircaseArguments>& staircase_arguments() {
  using A = StaircaseArguments;
  static const Flags<A> flags = [] {
    Flags<A> all;
    append(all, staircase_flags(), &A::question);
    append_deployment(all, &A::deployment);
    return all;
  }();
  return flags;
}

const Flags<LessonQuestion>& lesson_arguments() {
  using Q = LessonQuestion;
  static const Flags<Q> flags = [] {
    Flags<Q> all = lesson_flags();
    append_deployment(all, &Q::deployment);
    return all;
  }();
  return flags;
}

const Flags<SimulationArguments>& simulation_arguments() {
  using A = SimulationArguments;
  static const Flags<A> flags = [] {
    Flags<A> all;
    append(all, simulation_flags(), &A::question);
    append(all, interval_flags(), &A::question);
    append_load(all);
    return all;
  }();
  return flags;
}

const Flags<CapacityArguments>& capacity_arguments() {
  using A = CapacityArguments;
  static const Flags<A> flags = [] {
    Flags<A> all;
    append(all, capacity_flags(), &A::capacity);
    append_load(all);
    take_several_machines(all, &A::sizes);
    return all;
  }();
  return flags;
}

const Flags<PlanArguments>& plan_arguments() {
  using A = PlanArguments;
  static const Flags<A> flags = [] {
    Flags<A> all;
    append(all, plan_flags(), &A::plan);
    append(all, more_plan_flags(), &A::plan);
    append_load(all);
    // The search decides on pools and replicas.
    std::erase_if(
        all, [](const auto& flag) { return find_flag(cluster_flags(), flag.name) != nullptr; });
    std::ranges::find(all, "gpu", &Flag<A>::name)->placeholder = "NAME|FILE,...";
    return all;
  }();
  return flags;
}

const Flags<WhatIfArguments>& what_if_arguments() {
  using A = WhatIfArguments;
  static const Flags<A> flags = [] {
    Flags<A> all;
    append(all, what_if_flags(), &A::what_if);
    append_load(all);
    return all;
  }();
  return flags;
}

const Flags<ValidationQuestion>& validation_arguments() {
  using Q = ValidationQuestion;
  static const Flags<Q> flags = [] {
    Flags<Q> all;
    all.push_back({.name = "file",
                   .placeholder = "FILE",
                   .help = "manifests of measured runs, benchmark results, or folders of these",
                   .read = [](Q& question, const std::string& text,
                              const std::string&) { question.files.files.push_back(text); },
                   .form = FlagForm::list,
                   .required = true});
    append(all, validation_flags(), [](Q& question) -> Q& { return question; });
    append(all, result_flags(),
           [](Q& question) -> ImportOptions& { return question.files.import; });
    append(all, result_scenario_flags(),
           [](Q& question) -> ScenarioOptions& { return question.files.given; });
    return all;
  }();
  return flags;
}

Scenario scenario_of(const LoadArguments& arguments) {
  Scenario scenario;
  if (arguments.scenario.starts_with('{')) {
    scenario = parse_scenario(arguments.scenario, "scenario");
  } else if (!arguments.scenario.empty()) {
    refuse_trace(arguments.scenario);
    scenario = read_scenario(arguments.scenario);
  }
  scenario = with_options(std::move(scenario), {.deployment = arguments.served});
  return with_options(std::move(scenario), arguments.options);
}

StaircaseQuestion question_of(const StaircaseArguments& arguments) {
  return staircase_question(arguments.question, arguments.deployment);
}

SimulationQuestion question_of(const SimulationArguments& arguments) {
  return simulation_question(arguments.question, scenario_of(arguments.load),
                             arguments.load.options, has_free_length(arguments.load));
}

CapacityQuestion question_of(const CapacityArguments& arguments) {
  return capacity_question(scenario_of(arguments.load), arguments.load.options, arguments.capacity,
                           has_free_length(arguments.load));
}

std::variant<CapacityQuestion, CapacityTableQuestion> any_question_of(
    const CapacityArguments& arguments) {
  Scenario scenario = scenario_of(arguments.load);
  const ScenarioOptions& given = arguments.load.options;
  const bool free_length = has_free_length(arguments.load);
  if (!compares_machines(scenario.deployment.gpu, arguments.sizes)) {
    return capacity_question(std::move(scenario), given, arguments.capacity, free_length);
  }
  return capacity_table_question(std::move(scenario), given, arguments.capacity, arguments.sizes,
                                 free_length);
}

PlanQuestion question_of(const PlanArguments& arguments) {
  return plan_question(scenario_of(arguments.load), arguments.load.options, arguments.plan,
                       has_free_length(arguments.load));
}

WhatIfQuestion question_of(const WhatIfArguments& arguments) {
  return what_if_question(scenario_of(arguments.load), arguments.load.options, arguments.what_if,
                          has_free_length(arguments.load));
}

std::string result_override(std::span<const NamedText> given) {
  for (const NamedText& one : given) {
    if (find_flag(result_flags(), one.flag) != nullptr ||
        find_flag(result_scenario_flags(), one.flag) != nullptr) {
      return key_of(one.flag);
    }
  }
  return {};
}

}  // namespace roofcast
