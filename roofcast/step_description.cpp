#include "roofcast/step_description.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/numbers.hpp"

namespace roofcast {
namespace {

constexpr std::array kProvenances = {Provenance::measured, Provenance::interpolated,
                                     Provenance::extended, Provenance::fitted,
                                     Provenance::datasheet};

std::string intensity(const Work& work) {
  return work.bytes.value > 0 ? fixed((work.flops / work.bytes).value, 1) : "-";
}

}  // namespace

std::string describe_provenance(const StepEstimate& step) {
  Seconds all;
  for (const OperatorEstimate& part : step.operators) all += part.time;
  std::string text;
  for (const Provenance provenance : kProvenances) {
    Seconds time;
    for (const OperatorEstimate& part : step.operators) {
      if (part.provenance == provenance) time += part.time;
    }
    if (time.value <= 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name_of(provenance),
                        as_percent(time / all, 0));
  }
  return text;
}

Table operator_table(const StepEstimate& step, const std::string& title) {
  Table table{.title = title,
              .columns = {{"Operator", false},
                          {"Calls"},
                          {"Time"},
                          {"Share"},
                          {"GFLOP"},
                          {"MB"},
                          {"FLOP/byte"},
                          {"Bound", false},
                          {"Source", false},
                          {"±"}},
              .rows = {}};
  for (const OperatorEstimate& part : step.operators) {
    const Work& work = part.work;
    table.rows.push_back({work.name, with_separators(work.calls), as_time(part.time),
                          as_percent(part.time / step.total), fixed(work.flops.value / 1e9, 2),
                          fixed(work.bytes.value / 1e6, 2), intensity(work),
                          std::string(name_of(part.bound)), std::string(name_of(part.provenance)),
                          as_percent(part.relative_uncertainty, 0)});
  }
  table.rows.push_back({"host, not hidden", "", as_time(step.host),
                        as_percent(step.host / step.total), "", "", "", "", "", ""});
  return table;
}

Json operators_json(const StepEstimate& step) {
  Json operators = Json::array();
  for (const OperatorEstimate& part : step.operators) {
    const Work& work = part.work;
    operators.push_back(
        {{"name", work.name},
         {"calls", work.calls},
         {"time_s", part.time.value},
         {"flops", work.flops.value},
         {"bytes", work.bytes.value},
         {"intensity_flops_per_byte",
          work.bytes.value > 0 ? Json((work.flops / work.bytes).value) : Json(nullptr)},
         {"bound", name_of(part.bound)},
         {"rung", name_of(part.provenance)},
         {"relative_uncertainty", part.relative_uncertainty}});
  }
  return operators;
}

}  // namespace roofcast
