// Stores a calibration from its first point to its end, and resumes an interrupted one.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/sweep.hpp"
#include "reports/store.hpp"

namespace roofcast {

TimedPointRow point_row(const TimedCase& timed, std::int64_t index);
Timing timing_of(const TimedPointRow& row);

/// Points of an interrupted calibration by name; of two timings of one point, the steadier.
std::map<std::string, Timing> timings_of(const std::vector<TimedPointRow>& rows);

/// Stores points as they are measured, about once a second, so a kill loses at most that much.
class CalibrationRecord {
 public:
  /// Starts a run, or resumes `unfinished`.
  CalibrationRecord(Store& store, const RunRow& row, const CalibrationRow& calibration,
                    const UnfinishedCalibration* unfinished);

  void add(const TimedCase& timed, double now_s);
  void flush();
  void end(const CalibrationEnd& end);

  std::int64_t run_id() const { return run_id_; }
  std::int64_t points() const { return next_index_; }

 private:
  Store& store_;
  std::int64_t run_id_ = 0;
  std::int64_t next_index_ = 0;
  double flushed_s_ = 0;
  std::vector<TimedPointRow> waiting_{};
};

}  // namespace roofcast
