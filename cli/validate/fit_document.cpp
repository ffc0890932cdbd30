#include "cli/validate/fit_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "roofcast/envelope.hpp"

namespace roofcast {
namespace {

Json errors_json(const FigureErrors& errors) {
  return {{"mape", errors.mean}, {"median", errors.median}, {"p90", errors.p90}};
}

Json terms_json(const EngineFit& fit) {
  Json terms = Json::array();
  for (std::size_t t = 0; t < fit.terms.size(); ++t) {
    const FittedTerm& fitted = fit.fit.terms[t];
    const bool identified = fitted.doubt.empty();
    terms.push_back({{"name", fit.terms[t]->name},
                     {"era_value", fit.preset_values[t]},
                     {"value", fitted.value},
                     {"standard_error",
                      fitted.standard_error > 0 ? Json(fitted.standard_error) : Json(nullptr)},
                     {"identified", identified},
                     {"reason", identified ? Json(nullptr) : Json(fitted.doubt)}});
  }
  return terms;
}

/// Mean absolute errors of one of the fitted metrics.
struct MetricErrors {
  std::string name;
  std::size_t values = 0;
  double start = 0, fitted = 0;
  std::optional<double> left_out;
};

std::vector<MetricErrors> errors_by_metric(const EngineFit& fit) {
  const FigureRatios& ratios = fit.fit.ratios;
  std::vector<MetricErrors> all;
  for (std::size_t metric = 0; metric < fit.figures.size(); ++metric) {
    const auto error_of = [&](const std::vector<double>& list) {
      std::vector<double> own;
      for (std::size_t i = 0; i < list.size(); ++i) {
        if (fit.figure_of_value[i] == metric) own.push_back(list[i]);
      }
      return errors_of(own).mean;
    };
    MetricErrors errors{.name = fit.figures[metric],
                        .values = static_cast<std::size_t>(std::count(
                            fit.figure_of_value.begin(), fit.figure_of_value.end(), metric)),
                        .start = error_of(ratios.start),
                        .fitted = error_of(ratios.fitted),
                        .left_out = {}};
    if (!ratios.left_out.empty()) errors.left_out = error_of(ratios.left_out);
    all.push_back(std::move(errors));
  }
  return all;
}

Json metrics_json(const EngineFit& fit) {
  Json metrics = Json::array();
  for (const MetricErrors& errors : errors_by_metric(fit)) {
    metrics.push_back(
        {{"name", errors.name},
         {"figures", errors.values},
         {"era_mape", errors.start},
         {"fitted_mape", errors.fitted},
         {"leave_one_run_out_mape", errors.left_out ? Json(*errors.left_out) : Json(nullptr)}});
  }
  return metrics;
}

Json machine_of(const EngineFit& fit, const std::vector<std::string>& files,
                const std::string& out) {
  Json json = envelope("fit", {{"files", files}, {"out", out}});
  json["engine"] = {{"name", fit.profile.name}, {"era", fit.profile.preset}};
  json["runs"] = fit.cases;
  json["figures"] = fit.values;
  json["fitted_metrics"] = fit.figures;
  json["terms"] = terms_json(fit);
  json["errors"] = {
      {"era", errors_json(fit.fit.start)},
      {"fitted", errors_json(fit.fit.fitted)},
      {"leave_one_run_out",
       fit.fit.leave_one_run_out ? errors_json(*fit.fit.leave_one_run_out) : Json(nullptr)}};
  json["metrics"] = metrics_json(fit);
  json["left_out"] = Json::array();
  for (const LeftOutCase& one : fit.left_out) {
    json["left_out"].push_back({{"name", one.name}, {"reason", one.reason}});
  }
  return json;
}

Table metric_table(const EngineFit& fit) {
  Table table{.title = "MAPE by metric",
              .columns = {{"", false}, {"Figures"}, {"Era"}, {"Fitted"}, {"Leave one run out"}},
              .rows = {}};
  for (const MetricErrors& errors : errors_by_metric(fit)) {
    table.rows.push_back({errors.name, with_separators(static_cast<std::int64_t>(errors.values)),
                          as_percent(errors.start), as_percent(errors.fitted),
                          errors.left_out ? as_percent(*errors.left_out) : "-"});
  }
  return table;
}

Table term_table(const EngineFit& fit) {
  Table table{.title = "Host terms",
              .columns = {{"Term", false}, {"Era"}, {"Fitted"}, {"+-"}, {"", false}},
              .rows = {}};
  for (std::size_t t = 0; t < fit.terms.size(); ++t) {
    const FittedTerm& fitted = fit.fit.terms[t];
    const bool identified = fitted.doubt.empty();
    table.rows.push_back({std::string(fit.terms[t]->name), as_time(Seconds{fit.preset_values[t]}),
                          identified ? as_time(Seconds{fitted.value}) : "-",
                          fitted.standard_error > 0 ? as_time(Seconds{fitted.standard_error}) : "-",
                          identified ? std::string(fit.terms[t]->what) : fitted.doubt});
  }
  return table;
}

Table error_table(const OverheadFit& fit) {
  Table table{.title = "Errors of the figures",
              .columns = {{"", false}, {"MAPE"}, {"Median"}, {"p90"}},
              .rows = {}};
  const auto add = [&](const char* name, const FigureErrors& errors) {
    table.rows.push_back(
        {name, as_percent(errors.mean), as_percent(errors.median), as_percent(errors.p90)});
  };
  add("with the era's terms", fit.start);
  add("fitted", fit.fitted);
  if (fit.leave_one_run_out) add("leave one run out", *fit.leave_one_run_out);
  return table;
}

std::vector<std::string> verdict(const EngineFit& fit, const std::string& out) {
  std::vector<std::string> lines;
  const auto& left_out = fit.fit.leave_one_run_out;
  if (!left_out) {
    lines.emplace_back(
        "No run can be left out: the others would not tell the terms, so what these are worth for "
        "another run is not known.");
  } else if (left_out->mean >= fit.fit.start.mean) {
    lines.push_back(fmt::format(
        "These runs do not improve on the terms of {}: each by the others' terms is off by {}, "
        "with the era's by {}.",
        fit.profile.preset, as_percent(left_out->mean), as_percent(fit.fit.start.mean)));
  }
  lines.push_back(fmt::format("Written to {}: use it as --engine {}.", out, out));
  return lines;
}

}  // namespace

Document fit_document(const EngineFit& fit, const std::vector<std::string>& files,
                      const std::string& out) {
  Document document{.machine = machine_of(fit, files, out), .sections = {}};
  document.sections.push_back(
      {.heading = fmt::format("{}, from {} of {}", fit.profile.preset,
                              counted(static_cast<std::int64_t>(fit.values), "figure"),
                              counted(static_cast<std::int64_t>(fit.cases), "run")),
       .lines = {},
       .table = term_table(fit)});
  document.sections.push_back({.heading = "", .lines = {}, .table = error_table(fit.fit)});
  if (fit.figures.size() > 1) {
    document.sections.push_back({.heading = "", .lines = {}, .table = metric_table(fit)});
  }
  if (!fit.left_out.empty()) {
    Table table{.title = "Left out", .columns = {{"Case", false}, {"Why", false}}, .rows = {}};
    for (const LeftOutCase& one : fit.left_out) table.rows.push_back({one.name, one.reason});
    document.sections.push_back({.heading = "", .lines = {}, .table = std::move(table)});
  }
  document.sections.push_back({.heading = "", .lines = verdict(fit, out), .table = {}});
  return document;
}

}  // namespace roofcast
