#include "python/answers.hpp"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "base/error.hpp"
#include "reports/answers/answer_documents.hpp"
#include "reports/pages/capacity_table_report.hpp"
#include "reports/pages/estimate_report.hpp"
#include "reports/pages/figures/load_figures.hpp"
#include "reports/pages/figures/memory_figures.hpp"
#include "reports/pages/figures/staircase_figures.hpp"
#include "reports/pages/figures/validation_figures.hpp"
#include "reports/pages/figures/what_if_figures.hpp"
#include "reports/pages/simulation_report.hpp"
#include "reports/rows/simulation_rows.hpp"
#include "roofcast/arguments.hpp"
#include "roofcast/calibrate.hpp"
#include "roofcast/capacity.hpp"
#include "roofcast/capacity_table.hpp"
#include "roofcast/estimate.hpp"
#include "roofcast/gpus.hpp"
#include "roofcast/memory.hpp"
#include "roofcast/models.hpp"
#include "roofcast/plan.hpp"
#include "roofcast/simulate.hpp"
#include "roofcast/staircase.hpp"
#include "roofcast/validate.hpp"
#include "roofcast/what_if.hpp"

namespace roofcast::python {
namespace {

template <class Target>
Target read(const Flags<Target>& flags, const Json& arguments) {
  Target target;
  read_question(target, flags, arguments);
  return target;
}

NamedAnswer ask_models(const Json& arguments, const Asking&) {
  const auto asked = read(model_arguments(), arguments);
  if (asked.model.empty()) return {.document = models_document(list_models())};
  ModelQuestion question{.model = asked.model};
  if (!asked.weight_format.empty()) question.weight_format = asked.weight_format;
  return {.document = model_document(describe_model(question))};
}

NamedAnswer ask_gpus(const Json& arguments, const Asking&) {
  const auto asked = read(gpu_arguments(), arguments);
  if (asked.gpu.empty()) return {.document = gpus_document(list_gpus())};
  return {.document = gpu_document(describe_gpu(asked.gpu))};
}

std::vector<Figure> figures_of(const MemoryAnswer& answer) {
  if (answer.terms.empty()) return {};
  MemoryPlan plan;
  plan.terms = answer.terms;
  plan.total = answer.memory_visible;
  return {memory_figure({MemoryBar{.name = "one GPU", .plan = std::move(plan)}})};
}

NamedAnswer ask_memory(const Json& arguments, const Asking&) {
  const auto question = read(memory_arguments(), arguments);
  refuse_idle_flags(question.deployment.overrides, question);
  const MemoryAnswer answer = memory(question);
  return {.code = code_of(is_yes(answer)),
          .document = memory_document(answer),
          .figures = [answer] { return figures_of(answer); }};
}

NamedAnswer ask_estimate(const Json& arguments, const Asking&) {
  const auto asked = read(estimate_arguments(), arguments);
  refuse_idle_flags(asked.question.deployment.overrides, asked.question);
  if (const auto one = single_estimate(asked.question)) {
    const EstimateAnswer answer = estimate(*one);
    return {.code = code_of(is_yes(answer)),
            .document = estimate_document(answer, asked.operators)};
  }
  const BatchesAnswer answer = estimate_batches(asked.question);
  return {.code = code_of(is_yes(answer)),
          .document = batches_document(answer),
          .figures = [answer] { return estimate_figures(answer); }};
}

NamedAnswer ask_staircase(const Json& arguments, const Asking&) {
  const StaircaseAnswer answer = staircase(question_of(read(staircase_arguments(), arguments)));
  return {.code = code_of(is_yes(answer)),
          .document = staircase_document(answer),
          .figures = [answer] { return staircase_figures(answer); }};
}

NamedAnswer ask_simulate(const Json& arguments, const Asking& asking) {
  SimulationQuestion question = question_of(read(simulation_arguments(), arguments));
  // As the command: of small loads, unless `intervals` says always or never.
  if (!arguments.contains("intervals")) question.intervals = Intervals::of_small_loads;
  const auto outcome = std::make_shared<const SimulationOutcome>(
      simulate_in_steps(question, {.requests = asking.progress, .simulations = asking.progress}));
  return {
      .code = code_of(is_yes(outcome->answer)),
      .document = simulation_document(outcome->answer),
      .figures = [outcome] { return run_figures(outcome->run); },
      .write_requests = [outcome](const std::string& path) { write_requests(outcome->run, path); }};
}

NamedAnswer ask_capacity(const Json& arguments, const Asking& asking) {
  const auto asked = any_question_of(read(capacity_arguments(), arguments));
  if (const auto* several = std::get_if<CapacityTableQuestion>(&asked)) {
    const CapacityTableAnswer answer = capacity_table(*several, asking.progress);
    return {.code = code_of(is_yes(answer)),
            .document = capacity_table_document(answer),
            .figures = [answer] { return capacity_table_figures(answer); }};
  }
  const CapacityAnswer answer =
      capacity(std::get<CapacityQuestion>(asked), asking.progress, asking.stopped);
  return {.code = code_of(is_yes(answer)),
          .document = capacity_document(answer),
          .figures = [answer] { return load_figures(answer.inputs.scenario.slo, answer.curve); }};
}

NamedAnswer ask_plan(const Json& arguments, const Asking& asking) {
  const auto asked = read(plan_arguments(), arguments);
  PlanExecution execution{.threads = static_cast<int>(asked.plan.threads.value_or(0))};
  if (asking.progress) {
    execution.progress = [&](PlanStage, std::int64_t done, std::int64_t total) {
      return asking.progress(done, total);
    };
  }
  const PlanAnswer answer = plan(question_of(asked), execution);
  return {.code = code_of(is_yes(answer)), .document = plan_document(answer)};
}

NamedAnswer ask_what_if(const Json& arguments, const Asking& asking) {
  const auto found = what_if(question_of(read(what_if_arguments(), arguments)), asking.progress);
  if (!found) throw Error("interrupted");
  const WhatIfAnswer& answer = *found;
  return {.code = code_of(is_yes(answer)),
          .document = what_if_document(answer),
          .figures = [answer] { return what_if_figures(answer); }};
}

NamedAnswer ask_validate(const Json& arguments, const Asking& asking) {
  ValidationQuestion question;
  const auto given = read_question(question, validation_arguments(), arguments);
  question.files.override_name = result_override(given);
  const auto found = validate(question, asking.progress);
  if (!found) throw Error("interrupted");
  const ValidationAnswer& answer = *found;
  // The ledger sums up; the cases one by one are in the answer's table.
  return {.code = code_of(is_yes(answer)),
          .document = validation_document(answer, {.ledger = true}),
          .figures = [answer] {
            std::vector<ComparedCase> cases;
            for (const CaseAnswer& one : answer.cases) cases.push_back(one.compared);
            return predicted_over_measured(cases);
          }};
}

NamedAnswer ask_calibrate(const Json& arguments, const Asking& asking) {
  CalibrationQuestion question = calibration_question(read(calibration_flags(), arguments));
  question.command_line = "roofcast.calibrate (Python)";
  const CalibrationAnswer answer = calibrate(question, asking.progress, asking.tell);
  if (!answer.finished) throw Error("interrupted");
  if (const auto failure = failure_of(answer)) throw Error(*failure);
  return {.document = calibration_document(answer)};
}

Json estimate_schema() {
  return {{"anyOf", Json::array({estimate_answer_schema(), batches_answer_schema()})}};
}

Json models_schema() {
  return {{"anyOf", Json::array({model_answer_schema(), model_list_answer_schema()})}};
}

Json capacity_schema() {
  return {{"anyOf", Json::array({capacity_answer_schema(), capacity_table_answer_schema()})}};
}

Json gpus_schema() {
  return {{"anyOf", Json::array({gpu_answer_schema(), gpu_list_answer_schema()})}};
}

}  // namespace

std::span<const NamedQuestion> named_questions() {
  static const std::vector<NamedQuestion> questions = {
      {"models", "Models: parameters, weights, KV bytes per token.", "ModelAnswer",
       arguments_of(model_arguments()), models_schema, ask_models},
      {"gpus", "GPUs: peaks, bandwidth, memory, with the source of each number.", "GpuAnswer",
       arguments_of(gpu_arguments()), gpus_schema, ask_gpus},
      {"memory", "Whether a model fits: GPU memory term by term, KV blocks, largest batch.",
       "MemoryAnswer", arguments_of(memory_arguments()), memory_answer_schema, ask_memory},
      {"estimate", "What a token costs: prefill and decode time from the roofline.",
       "EstimateAnswer", arguments_of(estimate_arguments()), estimate_schema, ask_estimate},
      {"staircase", "What a KV cache saves: generation with and without it.", "StaircaseAnswer",
       arguments_of(staircase_arguments()), staircase_answer_schema, ask_staircase},
      {"simulate", "Whether the SLO is met: a load through the engine's scheduler.",
       "SimulationAnswer", arguments_of(simulation_arguments()), simulation_answer_schema,
       ask_simulate},
      {"capacity", "The highest load within the SLO, its uncertainty, and what limits it.",
       "CapacityAnswer", arguments_of(capacity_arguments()), capacity_schema, ask_capacity},
      {"plan", "The cheapest deployment that meets the SLO: GPUs, replicas, configuration.",
       "PlanAnswer", arguments_of(plan_arguments()), plan_answer_schema, ask_plan},
      {"what_if", "The effect of changes: knobs varied, with significance of differences.",
       "WhatIfAnswer", arguments_of(what_if_arguments()), what_if_answer_schema, ask_what_if},
      {"validate", "Accuracy: predictions against measured runs, metric by metric.",
       "ValidationAnswer", arguments_of(validation_arguments()), validation_answer_schema,
       ask_validate},
      {"calibrate", "Times this machine's kernels and writes its hardware profile.",
       "CalibrationAnswer", arguments_of(calibration_flags()), calibration_answer_schema,
       ask_calibrate}};
  return questions;
}

NamedAnswer ask(const std::string& name, const Json& arguments, const Asking& asking) {
  const auto questions = named_questions();
  const auto found = std::ranges::find_if(
      questions, [&](const NamedQuestion& question) { return name == question.name; });
  if (found == questions.end()) throw UsageError("unknown question '" + name + "'");
  return found->ask(arguments, asking);
}

}  // namespace roofcast::python
