#include "roofcast/fit.hpp"

#include <algorithm>
#include <utility>

#include "base/io/output_file.hpp"
#include "model/io/engine_profile.hpp"
#include "roofcast/record_parts.hpp"
#include "validate/validate_manifest.hpp"

namespace roofcast {

// ---- the record

template <class Visitor>
void members(Visitor& visit, FitInputs& inputs) {
  visit("files", inputs.files, "manifests");
  visit("out", inputs.out, "where the engine profile was written; empty: nowhere");
}

template <class Visitor>
void members(Visitor& visit, FittedEngine& engine) {
  visit("name", engine.name, "of the engine profile");
  visit("preset", engine.preset, "the preset that it starts from");
}

template <class Visitor>
void members(Visitor& visit, TermAnswer& term) {
  bool identified = !term.unidentified;
  visit("name", term.name, "of the host term");
  visit("preset_value", term.preset_value, "of the preset, in seconds");
  visit("value", term.value, "fitted, in seconds");
  visit("standard_error", term.standard_error, "of the value, in seconds; null: not known");
  visit("identified", identified, "whether the runs determine it");
  visit("reason", term.unidentified, "why they do not; null: they do");
}

template <class Visitor>
void members(Visitor& visit, FigureErrors& errors) {
  visit("mape", errors.mean, "mean of the absolute relative errors");
  visit("median", errors.median, "of the absolute relative errors");
  visit("p90", errors.p90, "of the absolute relative errors");
}

template <class Visitor>
void members(Visitor& visit, FitErrors& errors) {
  visit("preset", errors.preset, "with the terms of the preset");
  visit("fitted", errors.fitted, "with the fitted terms");
  visit("leave_one_run_out", errors.leave_one_run_out,
        "each run with terms fitted to the others; null: no run can be left out");
}

template <class Visitor>
void members(Visitor& visit, FittedMetric& metric) {
  visit("name", metric.name, "and statistic");
  visit("figures", metric.figures, "measured");
  visit("preset_mape", metric.preset, "with the terms of the preset");
  visit("fitted_mape", metric.fitted, "with the fitted terms");
  visit("leave_one_run_out_mape", metric.leave_one_run_out, "null: no run can be left out");
}

template <class Visitor>
void members(Visitor& visit, LeftOutCase& one) {
  visit("name", one.name, "of the case");
  visit("reason", one.reason, "why it is not used");
}

template <class Visitor>
void members(Visitor& visit, FitAnswer& answer) {
  members(visit, answer.head);
  visit("inputs", answer.inputs, "the question");
  visit("engine", answer.engine, "the profile");
  visit("runs", answer.runs, "used");
  visit("figures", answer.figures, "measured in these runs");
  visit("fitted_metrics", answer.fitted_metrics, "metrics and statistics");
  visit("terms", answer.terms, "host terms, the surest first");
  visit("errors", answer.errors, "of all figures");
  visit("metrics", answer.metrics, "errors by metric");
  visit("left_out", answer.left_out, "cases that are not used");
}

namespace {

constexpr const char* kFitCommand = "fit";

EngineFitTask task_of(const FitQuestion& question) {
  EngineFitTask task{.terms = question.terms, .name = question.name};
  if (task.terms.empty()) {
    for (const HostTerm& term : host_terms()) {
      // Prompts of one length do not tell it from per_request; tokenizers were timed by themselves.
      if (term.member != &HostOverhead::per_prompt_token) task.terms.push_back(&term);
    }
  }
  for (const std::string& file : question.files) {
    for (ValidationCase& one : read_manifest(file).cases) {
      const bool asked =
          question.engine.empty() || engine_name(one.scenario.deployment) == question.engine;
      if (asked) task.cases.push_back(std::move(one));
    }
  }
  return task;
}

std::vector<TermAnswer> terms_of(const EngineFit& fit) {
  std::vector<TermAnswer> terms;
  for (std::size_t t = 0; t < fit.terms.size(); ++t) {
    const FittedTerm& fitted = fit.fit.terms[t];
    TermAnswer term{.name = std::string(fit.terms[t]->name),
                    .preset_value = fit.preset_values[t],
                    .value = fitted.value};
    if (fitted.standard_error > 0) term.standard_error = fitted.standard_error;
    if (!fitted.doubt.empty()) term.unidentified = fitted.doubt;
    terms.push_back(std::move(term));
  }
  return terms;
}

std::vector<FittedMetric> metrics_of(const EngineFit& fit) {
  const FigureRatios& ratios = fit.fit.ratios;
  std::vector<FittedMetric> metrics;
  for (std::size_t metric = 0; metric < fit.figures.size(); ++metric) {
    const auto error_of = [&](const std::vector<double>& list) {
      std::vector<double> own;
      for (std::size_t i = 0; i < list.size(); ++i) {
        if (fit.figure_of_value[i] == metric) own.push_back(list[i]);
      }
      return errors_of(own).mean;
    };
    const auto& figures = fit.figure_of_value;
    metrics.push_back({.name = fit.figures[metric],
                       .figures = std::count(figures.begin(), figures.end(), metric),
                       .preset = error_of(ratios.start),
                       .fitted = error_of(ratios.fitted)});
    if (!ratios.left_out.empty()) metrics.back().leave_one_run_out = error_of(ratios.left_out);
  }
  return metrics;
}

}  // namespace

std::optional<FitAnswer> fit(const FitQuestion& question, const Progress& progress) {
  if (!question.out.empty()) check_writable(question.out);
  const std::optional<EngineFit> fit = fit_engine(
      task_of(question),
      [&](std::int64_t done, std::int64_t max) { return !progress || progress(done, max); });
  if (!fit) return std::nullopt;
  if (!question.out.empty()) write_whole(question.out, write_engine_profile(fit->profile));
  return FitAnswer{.head = answer_head(kFitCommand),
                   .inputs = {question.files, question.out},
                   .engine = {fit->profile.name, fit->profile.preset},
                   .runs = static_cast<std::int64_t>(fit->cases),
                   .figures = static_cast<std::int64_t>(fit->values),
                   .fitted_metrics = fit->figures,
                   .terms = terms_of(*fit),
                   .errors = {fit->fit.start, fit->fit.fitted, fit->fit.leave_one_run_out},
                   .metrics = metrics_of(*fit),
                   .left_out = fit->left_out,
                   .profile = fit->profile};
}

Json to_json(const FitAnswer& answer) { return record_to_json(answer); }

FitAnswer fit_answer_from_json(const Json& json) {
  return answer_from_json<FitAnswer>(json, kFitCommand);
}

Json fit_answer_schema() { return schema_document<FitAnswer>("What roofcast fit answers"); }

}  // namespace roofcast
