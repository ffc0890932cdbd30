// Predicted figures against measured ones: the error of each, and what many of them come to by
// engine, GPU, model and group. Pure arithmetic; validate/run_validation makes the predictions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace roofcast {

struct Interval {
  double low = 0;
  double high = 0;
};

/// A figure of both sides, in the unit that ends its name.
struct ComparedFigure {
  std::string name{};       // "ttft_s"
  std::string statistic{};  // "mean", "p99", "value"
  double measured = 0;
  double predicted = 0;
  Interval interval{};  // of the prediction: meant to hold kIntervalShare of the measured values
};

/// predicted / measured - 1. Nothing where 0 was measured and something else predicted.
std::optional<double> relative_error(const ComparedFigure& figure);

/// Whether the interval holds what was measured, its ends included.
bool is_covered(const ComparedFigure& figure);

/// One measured run beside its prediction.
struct ComparedCase {
  std::string name{};
  std::string group{};  // the user's own label; may be empty
  std::string engine{};
  std::string gpu{};
  std::string model{};
  std::string reason{};  // why there is no prediction; empty where there is one
  std::vector<ComparedFigure> figures{};
};

/// Errors of one metric over several cases, as shares: 0.05 is 5 %.
struct ErrorSummary {
  std::int64_t figures = 0;
  double bias = 0;    // mean signed error
  double mape = 0;    // mean absolute error
  double median = 0;  // of the absolute errors (base/statistics.hpp)
  double p90 = 0;
  double coverage = 0;  // share of the figures that their interval holds
};

/// What a line of the ledger sums over.
enum class LedgerBy { all, group, engine, gpu, model };

/// "all", "group", "engine", "gpu", "model".
const char* name_of(LedgerBy by);

struct LedgerLine {
  LedgerBy by = LedgerBy::all;
  std::string key{};  // "vllm-0.19"; empty for `all`
  std::string name{};
  std::string statistic{};
  ErrorSummary errors{};
};

/// Lines for all cases, then by group, engine, GPU and model; keys and metrics in the order in
/// which they first appear. Figures without a relative error are left out, groups without a name
/// too.
std::vector<LedgerLine> ledger_of(const std::vector<ComparedCase>& cases);

/// A limit on the mean absolute error. One that names a metric, or a statistic of it, goes before
/// one that does not.
struct ErrorLimit {
  std::string name{};       // empty: every metric
  std::string statistic{};  // empty: every statistic of the metric
  double share = 0;         // 0.1 is 10 %
};

/// A line of the ledger over all cases that is past its limit.
struct ExceededLimit {
  std::string name{};
  std::string statistic{};
  double mape = 0;
  double limit = 0;
};

/// In the ledger's order. Metrics that no limit is about are not judged.
std::vector<ExceededLimit> exceeded_limits(const std::vector<LedgerLine>& ledger,
                                           const std::vector<ErrorLimit>& limits);

/// Limits that no line of the ledger is about: nothing was judged by them.
std::vector<ErrorLimit> unjudged_limits(const std::vector<LedgerLine>& ledger,
                                        const std::vector<ErrorLimit>& limits);

}  // namespace roofcast
