// Pooled gaps between tokens (ITL) by group of requests, run-length encoded: all requests of a
// decode batch share one gap per step, so a log grows with steps, not with tokens. Beyond a million
// runs in total the logs become histograms and their memory stops growing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "simulator/results/duration_histogram.hpp"
#include "simulator/time.hpp"
#include "simulator/workload/workload.hpp"

namespace roofcast {

struct GapCount {
  Nanoseconds gap = 0;
  std::int64_t count = 0;
};

/// One log per load stage and SLO class (one in total if there are neither).
class TokenGaps {
 public:
  static constexpr std::size_t kMaxRuns = 1'000'000;  // 16 MB

  explicit TokenGaps(std::size_t classes, std::size_t stages = 1)
      : classes_(classes), logs_(classes * stages) {}

  /// Index of the log that holds the request's gaps.
  std::size_t index_of(const Request& request) const {
    return index_of(static_cast<std::size_t>(request.stage),
                    static_cast<std::size_t>(request.slo_class));
  }
  std::size_t index_of(std::size_t stage, std::size_t slo_class) const {
    return stage * classes_ + slo_class;
  }
  std::size_t stages() const { return logs_.size() / classes_; }
  std::size_t classes() const { return classes_; }

  /// `count` tokens of that log each came `gap` after the previous one.
  void add(std::size_t index, Nanoseconds gap, std::int64_t count = 1) {
    std::vector<GapCount>& runs = logs_[index].runs;
    if (!runs.empty() && runs.back().gap == gap) {
      runs.back().count += count;
    } else {
      begin_run(index, {gap, count});
    }
  }

  /// True if every gap is in runs(); if false, only counted() is available, within its error.
  bool exact() const { return exact_; }
  std::span<const GapCount> runs(std::size_t index) const { return logs_[index].runs; }
  /// All gaps of a log, as a histogram.
  DurationHistogram counted(std::size_t index) const;

 private:
  struct Log {
    std::vector<GapCount> runs{};
    DurationHistogram older{};  // gaps of runs no longer kept
  };

  void begin_run(std::size_t index, GapCount run);
  static void give_up_runs(Log& log);

  std::size_t classes_;
  std::vector<Log> logs_;
  std::size_t total_runs_ = 0;
  bool exact_ = true;
};

/// Gaps of requests that may be lost before they finish, in which case they do not count.
class HeldGaps {
 public:
  void add(RequestId id, Nanoseconds gap) { gaps_[id].push_back(gap); }
  /// Call when the request finishes: moves its gaps into the log.
  void release(RequestId id, std::size_t index, TokenGaps& log);
  /// Call when all requests are lost.
  void clear() { gaps_.clear(); }

 private:
  std::unordered_map<RequestId, std::vector<Nanoseconds>> gaps_;  // never iterated over
};

}  // namespace roofcast
