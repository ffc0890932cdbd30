// Makes a hardware profile from imported rows: curves with their errors, added to the facts of a
// known GPU. Pure.
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

/// Returns `known` with the curves of `rows` as measurements, and with efficiencies derived from
/// them for shapes that were not timed. Rows that are faster than physics, faster than memory
/// allows or contradict each other are moved to rows.refused. Throws Error if no row is left.
Gpu import_profile(ImportedRows& rows, const Gpu& known, const ImportRecord& record);

}  // namespace roofcast
