// The operators of an estimated step as answers list them, and the provenance of their times.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/step/step_estimate.hpp"
#include "model/step/step_sources.hpp"

namespace roofcast {

struct OperatorAnswer {
  std::string name{};
  std::int64_t calls = 0;
  Seconds time{};
  Flops flops{};
  Bytes bytes{};
  std::optional<FlopsPerByte> intensity{};
  Bound bound = Bound::memory;
  Provenance provenance = Provenance::datasheet;
  std::optional<std::string> tables{};
  double relative_uncertainty = 0;
  std::optional<Seconds> floor{};      // of all calls; unset: not part of its time
  std::optional<double> efficiency{};  // share of the roofline after that; unset: no work
};

template <class Visitor>
void members(Visitor& visit, OperatorAnswer& part) {
  visit("name", part.name, "name of the operator");
  visit("calls", part.calls, "kernels launched; all other figures are totals over them");
  visit("time_s", part.time, "on the device");
  visit("flops", part.flops, "on one GPU");
  visit("bytes", part.bytes, "read and written on one GPU; for a collective, sent");
  visit("intensity_flops_per_byte", part.intensity, "flops / bytes; null if no bytes move");
  visit("bound", part.bound, "the binding limit");
  visit("provenance", part.provenance, "source of its time, best first");
  visit.if_set("kernel_tables", part.tables,
               "engine and version, or library, whose kernels were timed");
  visit("relative_uncertainty", part.relative_uncertainty,
        "one standard deviation of the time, as a share of it");
  visit("floor_s", part.floor, "of all calls; null where the time is measured or a collective's");
  visit("efficiency", part.efficiency,
        "share of the roofline that is reached after the floor: time_s = floor_s + max(flops / "
        "peak, bytes / bandwidth) / efficiency");
}

/// The operators in the order of the step.
std::vector<OperatorAnswer> operators_of(const StepEstimate& step);

template <class Visitor>
void members(Visitor& visit, StepSources& sources) {
  visit("measured", sources.measured, "at a size that was timed on such a GPU");
  visit("interpolated", sources.interpolated, "between such sizes");
  visit("extended", sources.extended, "beyond them, or carried over from another card");
  visit("fitted", sources.fitted, "by the profile's efficiencies");
  visit("datasheet", sources.datasheet, "by the datasheet and default efficiencies");
}

/// Share of the operators' time by provenance, and where it comes from kernel tables, whose:
/// "measured 71 %, interpolated 22 %, fitted 7 %; kernel tables: vLLM 0.24.0 93 %".
std::string describe_provenance(const std::vector<OperatorAnswer>& operators);
std::string describe_provenance(const StepEstimate& step);

}  // namespace roofcast
