#include "planner/scenario/step_description.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/joined.hpp"
#include "base/numbers.hpp"

namespace roofcast {
namespace {

constexpr std::array kProvenances = {Provenance::measured, Provenance::interpolated,
                                     Provenance::extended, Provenance::fitted,
                                     Provenance::datasheet};

}  // namespace

std::vector<OperatorAnswer> operators_of(const StepEstimate& step) {
  std::vector<OperatorAnswer> operators;
  for (const OperatorEstimate& part : step.operators) {
    const Work& work = part.work;
    operators.push_back({.name = work.name,
                         .calls = work.calls,
                         .time = part.time,
                         .flops = work.flops,
                         .bytes = work.bytes,
                         .bound = part.bound,
                         .provenance = part.provenance,
                         .tables = part.source.empty() ? std::nullopt : std::optional(part.source),
                         .relative_uncertainty = part.relative_uncertainty});
    OperatorAnswer& added = operators.back();
    if (work.bytes.value > 0) added.intensity = work.flops / work.bytes;
    if (part.floor.value > 0) added.floor = part.floor;
    if (part.roofline.value > 0 && part.time > part.floor) {
      added.efficiency = part.roofline / (part.time - part.floor);
    }
  }
  return operators;
}

std::string describe_provenance(const std::vector<OperatorAnswer>& operators) {
  Seconds all;
  for (const OperatorAnswer& part : operators) all += part.time;
  std::string text = joined(kProvenances, [&](Provenance provenance) {
    Seconds time;
    for (const OperatorAnswer& part : operators) {
      if (part.provenance == provenance) time += part.time;
    }
    return time.value > 0 ? fmt::format("{} {}", name_of(provenance), as_percent(time / all, 0))
                          : "";
  });
  std::map<std::string, Seconds> tables;
  for (const OperatorAnswer& part : operators) {
    if (part.tables) tables[*part.tables] += part.time;
  }
  std::vector<std::pair<std::string, Seconds>> by_time(tables.begin(), tables.end());
  std::ranges::stable_sort(by_time,
                           [](const auto& a, const auto& b) { return a.second > b.second; });
  const char* separator = "; kernel tables: ";
  for (const auto& [source, time] : by_time) {
    text += fmt::format("{}{} {}", separator, source, as_percent(time / all, 0));
    separator = ", ";
  }
  return text;
}

std::string describe_provenance(const StepEstimate& step) {
  return describe_provenance(operators_of(step));
}

}  // namespace roofcast
