// Builds a workload from the rows of a trace in any format: validates each row, links the turns of
// sessions, and collects notes about the trace.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "simulator/io/trace_columns.hpp"
#include "simulator/workload/workload.hpp"

namespace roofcast {

class TraceBuilder {
 public:
  /// `spec` must outlive this. `places` determines how messages count rows: "FILE:7: ..." by lines,
  /// "FILE: entry 7: ..." otherwise.
  enum class Places { lines, entries };
  explicit TraceBuilder(const TraceWorkload& spec, Places places = Places::lines);

  /// Sets the file's name for a column. `usual_unit` applies to the time column if neither the user
  /// nor the name specifies a unit.
  void name_column(TraceColumn column, std::string_view name,
                   TraceTimeUnit usual_unit = TraceTimeUnit::seconds);
  const std::string& name(TraceColumn column) const { return names_[index(column)]; }

  /// Adds a request. Throws Error naming the place if the row is invalid; with skip_bad_rows it
  /// only counts such rows.
  void add(const TraceRow& row, std::int64_t place);
  /// The same for a row that could not be parsed.
  void reject(std::int64_t place, const std::string& problem);

  bool is_empty() const { return workload_.requests.empty(); }

  /// Whether as many requests were read as requested.
  bool is_full() const;

  /// Sets the maximum number of requests that the recording's client had in flight.
  void limit_concurrency(std::int64_t max) { workload_.recorded_limit = max; }

  void note(std::string text) { workload_.notes.push_back(std::move(text)); }

  /// Returns the workload in order of arrival, with times scaled and relative to the first arrival.
  Workload finish(bool stopped_early);

 private:
  using Problem = std::optional<std::string>;

  /// State of a session after some of its rows.
  struct Session {
    RequestId last = kNoRequest;
    std::optional<Nanoseconds> start;  // of a first turn that was left out
    Nanoseconds paused = 0;            // all delays
  };

  static std::size_t index(TraceColumn column) { return static_cast<std::size_t>(column); }
  std::string place_text(std::int64_t place) const;
  Problem read(const TraceRow& row, Request& request);
  Problem read_time(const TraceRow& row, Nanoseconds& time);
  Problem read_delay(const TraceRow& row, Nanoseconds& delay) const;
  Problem read_tokens(const TraceRow& row, TraceColumn column, std::int64_t& tokens) const;
  Problem read_max_tokens(const TraceRow& row, std::int64_t& max_tokens) const;
  Problem read_priority(const TraceRow& row, std::int64_t& priority) const;
  Problem read_class(const TraceRow& row, std::int32_t& slo_class);
  Problem read_contents(const TraceRow& row, Request& request);
  bool place_in_session(const TraceRow& row, Nanoseconds delay, Session& session, Request& request);
  void note_extremes(Nanoseconds time, std::int64_t place);
  [[noreturn]] void fail(std::int64_t place, const std::string& problem) const;
  void settle_classes();
  double time_factor() const;
  void set_times();
  void note_unit();
  void add_notes(bool stopped_early);

  const TraceWorkload& spec_;
  Places places_;
  std::array<std::string, kTraceColumns> names_;
  TraceTimeUnit unit_ = TraceTimeUnit::seconds;
  Workload workload_;
  std::unordered_map<std::string, Session> sessions_;  // never iterated over
  std::vector<RequestId> untimed_;                     // first turns without a time
  bool dates_ = false, numbers_ = false;               // form of the times so far
  bool fractions_ = false;    // some time is not a whole number of milliseconds
  bool unit_stated_ = false;  // by the user or by the column's name
  bool timed_ = false;        // earliest_ and latest_ are set
  Nanoseconds earliest_ = 0, latest_ = 0;
  std::int64_t earliest_place_ = 0, latest_place_ = 0;
  std::int64_t zero_inputs_ = 0, zero_outputs_ = 0, beyond_max_tokens_ = 0;
  std::int64_t dropped_ = 0, out_of_order_ = 0;
  std::string first_skipped_;
};

}  // namespace roofcast
