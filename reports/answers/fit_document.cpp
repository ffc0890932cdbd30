#include "reports/answers/answer_documents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "roofcast/fit.hpp"

namespace roofcast {
namespace {

Table metric_table(const FitAnswer& answer) {
  Table table{.title = "MAPE by metric",
              .columns = {{"", false}, {"Figures"}, {"Preset"}, {"Fitted"}, {"Leave one run out"}},
              .rows = {}};
  for (const FittedMetric& metric : answer.metrics) {
    table.rows.push_back(
        {metric.name, printed::count(metric.figures), printed::percent(metric.preset),
         printed::percent(metric.fitted),
         metric.leave_one_run_out ? printed::percent(*metric.leave_one_run_out) : "-"});
  }
  return table;
}

/// The meaning of a term.
std::string meaning_of(const std::string& name) {
  const auto terms = host_terms();
  const auto known = std::find_if(terms.begin(), terms.end(),
                                  [&](const HostTerm& term) { return term.name == name; });
  return known == terms.end() ? "" : std::string(known->what);
}

Table term_table(const FitAnswer& answer) {
  Table table{.title = "Host terms",
              .columns = {{"Term", false}, {"Preset"}, {"Fitted"}, {"+-"}, {"", false}},
              .rows = {}};
  for (const TermAnswer& term : answer.terms) {
    table.rows.push_back({term.name, printed::time(Seconds{term.preset_value}),
                          term.unidentified ? "-" : printed::time(Seconds{term.value}),
                          term.standard_error ? printed::time(Seconds{*term.standard_error}) : "-",
                          term.unidentified.value_or(meaning_of(term.name))});
  }
  return table;
}

Table error_table(const FitErrors& all) {
  Table table{.title = "Errors of the figures",
              .columns = {{"", false}, {"MAPE"}, {"Median"}, {"p90"}},
              .rows = {}};
  const auto add = [&](const char* name, const FigureErrors& errors) {
    table.rows.push_back({name, printed::percent(errors.mean), printed::percent(errors.median),
                          printed::percent(errors.p90)});
  };
  add("with the preset's terms", all.preset);
  add("fitted", all.fitted);
  if (all.leave_one_run_out) add("leave one run out", *all.leave_one_run_out);
  return table;
}

std::vector<std::string> verdict(const FitAnswer& answer) {
  const std::string& out = answer.inputs.out;
  std::vector<std::string> lines;
  const auto& left_out = answer.errors.leave_one_run_out;
  if (!left_out) {
    lines.emplace_back(
        "No run can be left out, because the others do not determine the terms; so their error for "
        "another run is unknown.");
  } else if (left_out->mean >= answer.errors.preset.mean) {
    lines.push_back(fmt::format(
        "These runs do not improve on the terms of {}: with terms fitted to the other runs, each "
        "is off by {}; with the preset's terms, by {}.",
        answer.engine.preset, as_percent(left_out->mean), as_percent(answer.errors.preset.mean)));
  }
  lines.push_back(fmt::format("Written to {}: use it as --engine {}.", out, out));
  return lines;
}

}  // namespace

Document fit_document(const FitAnswer& answer) {
  Document document{.machine = to_json(answer), .sections = {}};
  document.sections.push_back(
      {.heading = fmt::format("{}, from {} of {}", answer.engine.preset,
                              counted(answer.figures, "figure"), counted(answer.runs, "run")),
       .lines = {},
       .table = term_table(answer)});
  document.sections.push_back({.heading = "", .lines = {}, .table = error_table(answer.errors)});
  if (answer.metrics.size() > 1) {
    document.sections.push_back({.heading = "", .lines = {}, .table = metric_table(answer)});
  }
  if (!answer.left_out.empty()) {
    Table table{.title = "Left out", .columns = {{"Case", false}, {"Why", false}}, .rows = {}};
    for (const LeftOutCase& one : answer.left_out) table.rows.push_back({one.name, one.reason});
    document.sections.push_back({.heading = "", .lines = {}, .table = std::move(table)});
  }
  document.sections.push_back({.heading = "", .lines = verdict(answer), .table = {}});
  return document;
}

}  // namespace roofcast
