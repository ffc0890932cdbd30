// From imported rows to a hardware profile: curves with their errors on the facts of a known GPU.
// Pure.
#pragma once

#include <string>

#include "calibrate/tables/imported_rows.hpp"
#include "model/hardware/gpu.hpp"

namespace roofcast {

/// Where and when the tables were imported.
struct ImportRecord {
  std::string date{};  // ISO 8601, UTC
  std::string tool{};  // "roofcast 0.1.0"
};

/// `known` with the curves of `rows` for measurements, and efficiencies derived from them for
/// shapes that were not timed. Rows faster than physics, faster than memory allows or in
/// contradiction with each other join rows.refused. Throws Error when nothing is left.
Gpu import_profile(ImportedRows& rows, const Gpu& known, const ImportRecord& record);

}  // namespace roofcast
