// Runs of a store side by side, metric by metric, each compared with the first.
//
//   const Store store("roofcast.db", Store::Mode::read);
//   const Run before = stored_run(store, "roofcast.db", 1);
//   const Run after = stored_run(store, "roofcast.db", 2);
//   const CompareAnswer answer = compare({.store = "roofcast.db", .runs = {before, after}});
//
// Fields of an answer are described by its `members`, key by key (compare.cpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/numbers.hpp"
#include "base/paired_difference.hpp"
#include "reports/store.hpp"
#include "roofcast/envelope.hpp"

namespace roofcast {

inline constexpr std::size_t kMaxComparedRuns = 50;  // more columns are unreadable

struct CompareQuestion {
  std::string store{};      // its name, for the answer
  std::vector<Run> runs{};  // 2 to kMaxComparedRuns; with their requests if those were stored
};

struct CompareInputs {
  std::string store{};
  std::vector<std::int64_t> runs{};  // ids
};

struct ComparedRun {
  std::int64_t id = 0;
  std::string kind{}, model{}, gpu{}, engine{}, summary{}, created_at{};
};

/// A figure of every run, in their order.
struct ComparedMetric {
  std::string name{};
  std::string statistic{};
  std::vector<std::optional<double>> values{};  // unset: the run has no such figure
  /// To the first run's, as a share of it. Unset: one is missing, or the first is 0.
  std::vector<std::optional<double>> changes{};
};

/// A per-request figure of one run compared with the first's, request by request.
struct ComparedRequests {
  std::int64_t id = 0;  // of the run
  std::string name{};
  std::string statistic{};
  bool same_requests = false;  // in the same order, so that differences are paired
  Difference difference{};
};

struct CompareAnswer {
  AnswerHead head{};
  CompareInputs inputs{};
  std::vector<ComparedRun> runs{};
  std::vector<ComparedMetric> metrics{};
  /// For runs that kept their requests: TTFT, TPOT and E2E with 95 % intervals from blocks of
  /// neighbouring requests (base/paired_difference.hpp).
  std::vector<ComparedRequests> differences{};
};

/// Throws UsageError for a number of runs out of range.
void check_compared(std::size_t runs);

/// Throws UsageError as check_compared does.
CompareAnswer compare(const CompareQuestion& question);

/// A run's value as tables have it: "412 ms", "yes", "-" where it has none.
Printed value_cell(const ComparedMetric& metric, const std::optional<double>& value);

/// What `roofcast compare -o json` prints.
Json to_json(const CompareAnswer& answer);

/// Reads what to_json wrote. Throws Error naming the key and what was expected.
CompareAnswer compare_answer_from_json(const Json& json);

/// JSON Schema (draft 2020-12) of to_json().
Json compare_answer_schema();

}  // namespace roofcast
