#include "planner/step_description.hpp"

#include <fmt/format.h>

#include <array>

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
                         .relative_uncertainty = part.relative_uncertainty});
    if (work.bytes.value > 0) operators.back().intensity = work.flops / work.bytes;
  }
  return operators;
}

std::string describe_provenance(const std::vector<OperatorAnswer>& operators) {
  Seconds all;
  for (const OperatorAnswer& part : operators) all += part.time;
  std::string text;
  for (const Provenance provenance : kProvenances) {
    Seconds time;
    for (const OperatorAnswer& part : operators) {
      if (part.provenance == provenance) time += part.time;
    }
    if (time.value <= 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name_of(provenance),
                        as_percent(time / all, 0));
  }
  return text;
}

std::string describe_provenance(const StepEstimate& step) {
  return describe_provenance(operators_of(step));
}

}  // namespace roofcast
