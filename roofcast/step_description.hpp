// A step estimate in words and tables.
#pragma once

#include <string>

#include "model/step/step_estimate.hpp"
#include "reports/document.hpp"

namespace roofcast {

/// Share of the step's operator time by provenance: "fitted 83 %, datasheet 17 %".
std::string describe_provenance(const StepEstimate& step);

/// One row per operator: time, share, FLOPs, bytes, intensity, bound, provenance, uncertainty.
Table operator_table(const StepEstimate& step, const std::string& title);

/// The same for machines.
Json operators_json(const StepEstimate& step);

}  // namespace roofcast
