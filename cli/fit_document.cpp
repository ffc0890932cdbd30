#include "cli/fit_document.hpp"

#include <fmt/format.h>

#include <utility>

#include "cli/envelope.hpp"
#include "reports/numbers.hpp"
#include "simulator/wording.hpp"

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
                     {"era_value", fit.era_values[t]},
                     {"value", fitted.value},
                     {"standard_error", identified ? Json(fitted.standard_error) : Json(nullptr)},
                     {"identified", identified},
                     {"reason", identified ? Json(nullptr) : Json(fitted.doubt)}});
  }
  return terms;
}

Json machine_of(const EngineFit& fit, const std::vector<std::string>& files,
                const std::string& out) {
  Json json = envelope("fit", {{"files", files}, {"out", out}});
  json["engine"] = {{"name", fit.profile.name}, {"era", fit.profile.era}};
  json["runs"] = fit.cases;
  json["figures"] = fit.values;
  json["fitted_metrics"] = fit.figures;
  json["terms"] = terms_json(fit);
  json["errors"] = {{"era", errors_json(fit.fit.start)},
                    {"fitted", errors_json(fit.fit.fitted)},
                    {"leave_one_run_out", errors_json(fit.fit.leave_one_run_out)}};
  json["left_out"] = Json::array();
  for (const LeftOutCase& one : fit.left_out) {
    json["left_out"].push_back({{"name", one.name}, {"reason", one.reason}});
  }
  return json;
}

Table term_table(const EngineFit& fit) {
  Table table{.title = "Host terms",
              .columns = {{"Term", false}, {"Era"}, {"Fitted"}, {"+-"}, {"", false}},
              .rows = {}};
  for (std::size_t t = 0; t < fit.terms.size(); ++t) {
    const FittedTerm& fitted = fit.fit.terms[t];
    const bool identified = fitted.doubt.empty();
    table.rows.push_back({std::string(fit.terms[t]->name), as_time(Seconds{fit.era_values[t]}),
                          identified ? as_time(Seconds{fitted.value}) : "-",
                          identified ? as_time(Seconds{fitted.standard_error}) : "-",
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
  add("leave one run out", fit.leave_one_run_out);
  return table;
}

}  // namespace

Document fit_document(const EngineFit& fit, const std::vector<std::string>& files,
                      const std::string& out) {
  Document document{.machine = machine_of(fit, files, out), .sections = {}};
  document.sections.push_back(
      {.heading = fmt::format("{}, from {} of {}", fit.profile.era,
                              counted(static_cast<std::int64_t>(fit.values), "figure"),
                              counted(static_cast<std::int64_t>(fit.cases), "run")),
       .lines = {},
       .table = term_table(fit)});
  document.sections.push_back({.heading = "", .lines = {}, .table = error_table(fit.fit)});
  if (!fit.left_out.empty()) {
    Table table{.title = "Left out", .columns = {{"Case", false}, {"Why", false}}, .rows = {}};
    for (const LeftOutCase& one : fit.left_out) table.rows.push_back({one.name, one.reason});
    document.sections.push_back({.heading = "", .lines = {}, .table = std::move(table)});
  }
  document.sections.push_back(
      {.heading = "",
       .lines = {fmt::format("Written to {}: use it as --engine {}.", out, out)},
       .table = {}});
  return document;
}

}  // namespace roofcast
