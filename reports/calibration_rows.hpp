// Rows that the store keeps for a calibration: one per timed point, one per sample. Columns:
// reports/schema.sql.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace roofcast {

/// One row of `calibrations`; the run also has a row of `runs`.
struct CalibrationRow {
  std::string device;
  std::string identity;    // UUID of a GPU; an interrupted calibration is looked up by it
  std::string conditions;  // protocol and versions
};

/// One row of `samples`: the time of one call, averaged over a recording.
struct SampleRow {
  double call_s = 0;
  std::optional<double> clock_hz{};
  std::optional<double> call_energy_j{};
  bool dropped = false;
};

/// One row of `timed_points` with its samples, in time order.
struct TimedPointRow {
  std::int64_t index = 0;
  std::string name{};
  std::string family{};
  std::string kernel{};
  double x = 0;
  double y = 0;
  std::int64_t calls = 1;  // per sample
  double median_s = 0, p10_s = 0, p90_s = 0;
  bool bimodal = false;
  bool throttled = false;
  std::vector<SampleRow> samples{};
};

}  // namespace roofcast
