// The SQLite store: every run with its full input and its metrics, one transaction per run. Meant
// to be queried by other programs too. Schema and its version: reports/schema.sql.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
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
  std::int64_t id = 0;     // assigned by the store
  std::string kind;        // what made it: "simulate" ... (reports/store.md lists them)
  std::string created_at;  // ISO 8601, UTC
  std::string tool_version;
  std::string command_line;
  std::string model;
  std::string gpu;
  std::string engine;
  std::string scenario_json;  // the complete input as parsed
  std::string profile_hash;   // of the hardware profile's text
  std::uint64_t seed = 0;
  std::string summary;  // one line for a list
  std::string name{};   // that a user gave it; empty: none
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
  std::optional<double> sent_s = {};  // left the client; the arrival if concurrency is not limited
  std::optional<double> scheduled_s = {}, first_token_s = {}, finished_s = {};
  std::int64_t input_tokens = 0, output_tokens = 0, preemptions = 0;
  std::string slo_class = {};
};

struct Run {
  RunRow row;
  std::vector<MetricRow> metrics;
  std::vector<RequestRow> requests;  // empty unless asked for
};

/// An answer that left one run or several.
struct StoredAnswer {
  std::vector<std::int64_t> runs;  // ids, in the answer's order
  std::string json;                // as the command prints it
};

/// A calibration that was interrupted or is still running.
struct UnfinishedCalibration {
  RunRow row;
  CalibrationRow calibration;
  std::vector<TimedPointRow> points;
};

/// Added to a calibration's row of `runs` when it ends.
struct CalibrationEnd {
  std::string summary;
  std::string profile_hash;  // of the profile that was written; empty if none was
  std::vector<MetricRow> metrics;
  bool complete = true;  // false: interrupted
};

/// One row of `intervals`: the ends of a predicted figure's interval, in the figure's unit.
struct IntervalRow {
  std::string name;
  std::string statistic;
  double low = 0;
  double high = 0;
};

/// One row of `traces`.
struct StoredTrace {
  std::string name;        // of the file that was given, unique
  std::string created_at;  // ISO 8601, UTC
  std::int64_t requests = 0;
  double duration_s = 0;     // from the first arrival to the last
  std::string content = {};  // the file, plain or gzip-compressed; empty in lists
};

/// Both sides of a case of `roofcast validate`.
struct ValidationRuns {
  Run predicted{};
  Run measured{};
  std::vector<IntervalRow> intervals{};  // of figures that both runs have
  std::string name{}, group{}, source{};
};

/// An open store. Throws Error if the file is not an SQLite database, belongs to another program,
/// comes from a newer version, is not writable, is locked for longer than `wait`, or the disk is
/// full. Opening an absent file for writing creates it, so that a long command fails before it
/// starts working. Not thread-safe.
class Store {
 public:
  enum class Mode { read, write };
  Store(const std::string& path, Mode mode,
        std::chrono::milliseconds wait = std::chrono::seconds(5));
  ~Store();
  Store(Store&&) noexcept;

  /// All or nothing; returns the run's id.
  std::int64_t add(const Run& run);
  /// The runs of one answer, at least one, with the answer: all or nothing; returns their ids.
  std::vector<std::int64_t> add_answer(std::span<const Run> runs, const std::string& answer_json);
  /// The answer that left the run; nullopt for runs that none left and in stores of schema 5.
  std::optional<StoredAnswer> answer_of(std::int64_t run) const;
  /// Newest first, without scenario_json; at most `max`, or all if that is negative.
  std::vector<RunRow> runs(std::int64_t max = -1) const;
  std::int64_t run_count() const;
  std::optional<Run> run(std::int64_t id) const;  // metrics by name and statistic; requests too

  // ---- names of runs, deletions, traces (store_traces.cpp)

  /// An empty name removes it. Returns false if there is no such run.
  bool name_run(std::int64_t id, const std::string& name);
  /// Also deletes its metrics, requests and answer. Returns false if there is no such run.
  bool remove_run(std::int64_t id);
  enum class Kept { added, name_taken, full };
  /// Adds it, or replaces the trace of that name if `replaces`, unless `most` others are there.
  Kept add_trace(const StoredTrace& trace, bool replaces = true,
                 std::size_t most = std::numeric_limits<std::size_t>::max());
  /// By name, without their content.
  std::vector<StoredTrace> traces() const;
  std::optional<StoredTrace> trace(const std::string& name) const;
  /// Returns false if there is no such trace.
  bool remove_trace(const std::string& name);

  // ---- calibrations, stored while they run (store_calibration.cpp)

  /// Starts one; returns its run's id.
  std::int64_t begin_calibration(const RunRow& row, const CalibrationRow& calibration);
  /// All or nothing. The caller numbers the points of a run.
  void add_points(std::int64_t run, std::span<const TimedPointRow> points);
  /// Replaces the metrics of an earlier end.
  void end_calibration(std::int64_t run, const CalibrationEnd& end);
  /// The newest unfinished calibration of this device.
  std::optional<UnfinishedCalibration> unfinished_calibration(const std::string& identity) const;
  std::vector<TimedPointRow> timed_points(std::int64_t run) const;  // in time order

  // ---- predictions and measured runs (store_validation.cpp)

  /// All or nothing; returns the ids of the predicted runs, in order.
  std::vector<std::int64_t> add_validations(std::span<const ValidationRuns> validations);

  // ---- plans, whose evaluations are stored while they run (store_plans.cpp)

  /// Starts a plan, or resumes an unfinished one with the same scenario_json, seed and
  /// tool_version. Returns its run's id.
  std::int64_t begin_plan(const RunRow& row);
  /// All or nothing. Evaluations that are already stored are kept.
  void add_evaluations(std::int64_t plan, std::span<const EvaluationRow> evaluations);
  /// The stored answer to `question`, from any plan of this version of the program.
  std::optional<std::string> evaluation(const std::string& tool_version,
                                        const std::string& question) const;
  /// Replaces the metrics of an earlier end.
  void end_plan(std::int64_t plan, const PlanEnd& end, const std::vector<MetricRow>& metrics);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace roofcast
