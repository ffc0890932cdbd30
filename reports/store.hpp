// The SQLite store: every run with its full input and its metrics, one transaction a run.
// Schema and its version: reports/schema.sql. Made to be queried by others.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reports/calibration_rows.hpp"
#include "reports/plan_rows.hpp"

namespace roofcast {

/// One row of `runs`.
struct RunRow {
  std::int64_t id = 0;     // given by the store
  std::string kind;        // "simulate", "calibrate", "validate", "measured", "plan"
  std::string created_at;  // ISO 8601, UTC
  std::string tool_version;
  std::string command_line;
  std::string model;
  std::string gpu;
  std::string engine;
  std::string scenario_json;  // the input as understood, complete
  std::string profile_hash;   // of the hardware profile's text
  std::uint64_t seed = 0;
  std::string summary;  // one line for a list
};

/// One row of `metrics`: SI units, the unit in the name ("ttft_s", "output_tokens_per_s").
struct MetricRow {
  std::string name;
  std::string statistic;  // "mean", "p95", "value"
  double value = 0;       // finite
};

/// One row of `requests`, seconds from the first arrival.
struct RequestRow {
  std::int64_t index = 0;
  double arrival_s = 0;
  std::optional<double> sent_s = {};  // left the client; its arrival without a concurrency limit
  std::optional<double> scheduled_s = {}, first_token_s = {}, finished_s = {};
  std::int64_t input_tokens = 0, output_tokens = 0, preemptions = 0;
  std::string slo_class = {};
};

struct Run {
  RunRow row;
  std::vector<MetricRow> metrics;
  std::vector<RequestRow> requests;  // empty unless asked for
};

/// A calibration that did not come to its end.
struct UnfinishedCalibration {
  RunRow row;
  CalibrationRow calibration;
  std::vector<TimedPointRow> points;
};

/// What a calibration adds to its row of `runs` when it ends.
struct CalibrationEnd {
  std::string summary;
  std::string profile_hash;  // of the profile that was written; empty: none was
  std::vector<MetricRow> metrics;
  bool complete = true;  // false: interrupted
};

/// One row of `intervals`: ends of a predicted figure's interval, in the figure's unit.
struct IntervalRow {
  std::string name;
  std::string statistic;
  double low = 0;
  double high = 0;
};

/// Both sides of a case of `roofcast validate`.
struct ValidationRuns {
  Run predicted{};
  Run measured{};
  std::vector<IntervalRow> intervals{};  // of figures that both have
  std::string name{}, group{}, source{};
};

/// An open store. Throws Error: not a SQLite file, another program's, from a newer version, not
/// writable, disk full, locked for longer than `wait`. Opening an absent file for writing creates
/// it, so a command that takes long opens its store before it starts. Not for two threads at once.
class Store {
 public:
  enum class Mode { read, write };
  Store(const std::string& path, Mode mode,
        std::chrono::milliseconds wait = std::chrono::seconds(5));
  ~Store();
  Store(Store&&) noexcept;

  /// All or nothing; returns the run's id.
  std::int64_t add(const Run& run);
  /// Newest first, without scenario_json; at most `max`, or all if that is negative.
  std::vector<RunRow> runs(std::int64_t max = -1) const;
  std::int64_t run_count() const;
  std::optional<Run> run(std::int64_t id) const;  // metrics by name and statistic; requests too

  // ---- calibrations, which are stored while they run (store_calibration.cpp)

  /// Starts one; returns its run's id.
  std::int64_t begin_calibration(const RunRow& row, const CalibrationRow& calibration);
  /// All or nothing. Points of a run are numbered by the caller.
  void add_points(std::int64_t run, std::span<const TimedPointRow> points);
  /// Metrics of an earlier end are replaced.
  void end_calibration(std::int64_t run, const CalibrationEnd& end);
  /// The newest of this device that has not come to its end.
  std::optional<UnfinishedCalibration> unfinished_calibration(const std::string& identity) const;
  std::vector<TimedPointRow> timed_points(std::int64_t run) const;  // in order of time

  // ---- predictions beside measured runs (store_validation.cpp)

  /// All or nothing; returns the ids of the predicted runs, in order.
  std::vector<std::int64_t> add_validations(std::span<const ValidationRuns> validations);

  // ---- plans, which keep what they have simulated while they run (store_plans.cpp)

  /// Starts one, or goes on with one that did not come to its end: of equal scenario_json, seed and
  /// tool_version. Returns its run's id.
  std::int64_t begin_plan(const RunRow& row);
  /// All or nothing. What is there already stays.
  void add_evaluations(std::int64_t plan, std::span<const EvaluationRow> evaluations);
  /// What any plan of this version of the program came to.
  std::optional<std::string> evaluation(const std::string& tool_version,
                                        const std::string& question) const;
  /// Metrics of an earlier end are replaced.
  void end_plan(std::int64_t plan, const PlanEnd& end, const std::vector<MetricRow>& metrics);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace roofcast
