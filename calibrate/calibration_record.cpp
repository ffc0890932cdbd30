#include "calibrate/calibration_record.hpp"

#include <algorithm>
#include <utility>

namespace roofcast {

namespace {

constexpr double kFlushSeconds = 1.0;

std::optional<double> if_known(double value) {
  if (value > 0) return value;
  return std::nullopt;
}

}  // namespace

TimedPointRow point_row(const TimedCase& timed, std::int64_t index) {
  const Statistics& statistics = timed.timing.statistics;
  TimedPointRow row{.index = index,
                    .name = name_of(timed.c),
                    .family = family_of(timed.c),
                    .kernel = timed.c.kernel,
                    .x = timed.c.x,
                    .y = timed.c.y,
                    .calls = std::max(1, timed.timing.launches),
                    .median_s = statistics.median,
                    .p10_s = statistics.p10,
                    .p90_s = statistics.p90,
                    .bimodal = statistics.bimodal,
                    .throttled = timed.timing.throttled,
                    .samples = {}};
  for (const TimedSample& sample : timed.timing.samples) {
    row.samples.push_back({.call_s = sample.seconds,
                           .clock_hz = if_known(sample.clock_hz),
                           .call_energy_j = if_known(sample.energy_joule),
                           .dropped = sample.dropped});
  }
  return row;
}

Timing timing_of(const TimedPointRow& row) {
  Timing timing{.launches = static_cast<int>(row.calls), .throttled = row.throttled};
  std::vector<double> kept;
  for (const SampleRow& sample : row.samples) {
    timing.samples.push_back({.seconds = sample.call_s,
                              .clock_hz = sample.clock_hz.value_or(0),
                              .energy_joule = sample.call_energy_j.value_or(0),
                              .dropped = sample.dropped});
    if (!sample.dropped) kept.push_back(sample.call_s);
  }
  timing.statistics = summarise(kept);
  return timing;
}

std::map<std::string, Timing> timings_of(const std::vector<TimedPointRow>& rows) {
  std::map<std::string, Timing> timings;
  for (const TimedPointRow& row : rows) {
    const bool kept = std::any_of(row.samples.begin(), row.samples.end(),
                                  [](const SampleRow& sample) { return !sample.dropped; });
    if (!kept) continue;
    Timing timing = timing_of(row);
    const auto found = timings.find(row.name);
    if (found == timings.end()) {
      timings.emplace(row.name, std::move(timing));
    } else if (timing.statistics.relative_spread() < found->second.statistics.relative_spread()) {
      found->second = std::move(timing);
    }
  }
  return timings;
}

CalibrationRecord::CalibrationRecord(Store& store, const RunRow& row,
                                     const CalibrationRow& calibration,
                                     const UnfinishedCalibration* unfinished)
    : store_(store) {
  if (unfinished == nullptr) {
    run_id_ = store_.begin_calibration(row, calibration);
    return;
  }
  run_id_ = unfinished->row.id;
  if (!unfinished->points.empty()) next_index_ = unfinished->points.back().index + 1;
}

void CalibrationRecord::add(const TimedCase& timed, double now_s) {
  waiting_.push_back(point_row(timed, next_index_++));
  if (now_s - flushed_s_ < kFlushSeconds) return;
  flushed_s_ = now_s;
  flush();
}

void CalibrationRecord::flush() {
  if (waiting_.empty()) return;
  store_.add_points(run_id_, waiting_);
  waiting_.clear();
}

void CalibrationRecord::end(const CalibrationEnd& end) {
  flush();
  store_.end_calibration(run_id_, end);
}

}  // namespace roofcast
