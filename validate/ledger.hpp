// Predicted against measured figures: the error of each, and summaries over many by engine, GPU,
// model and group. Pure arithmetic; validate/run_validation makes the predictions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error_cause.hpp"

namespace roofcast {

struct Interval {
  double low = 0;
  double high = 0;
};

/// A figure that was both measured and predicted, in the unit that its name ends with.
struct ComparedFigure {
  std::string name{};       // "ttft_s"
  std::string statistic{};  // "mean", "p99", "value"
  double measured = 0;
  double predicted = 0;
  Interval interval{};  // of the prediction: should contain kIntervalShare of the measured values
};

/// predicted / measured - 1. Returns nullopt if 0 was measured and something else predicted.
std::optional<double> relative_error(const ComparedFigure& figure);

/// Whether the interval contains the measured value, ends included.
bool is_covered(const ComparedFigure& figure);

/// One measured run and its prediction.
struct ComparedCase {
  std::string name{};
  std::string group{};                          // the user's own label; may be empty
  std::map<std::string, std::string> labels{};  // further ones, by name
  std::map<std::string, std::string> keys{};    // what a ledger may group by, labels among them
  std::string engine{};
  std::string gpu{};
  std::string model{};
  std::string reason{};  // why there is no prediction; empty if there is one
  std::vector<ComparedFigure> figures{};
  std::vector<ErrorCause> causes{};  // of the predicted step times' error
};

/// Errors of one metric over several cases, as shares: 0.05 is 5 %.
struct ErrorSummary {
  std::int64_t figures = 0;
  double bias = 0;    // mean signed error
  double mape = 0;    // mean absolute error
  double median = 0;  // median absolute error (base/statistics.hpp)
  double p90 = 0;
  double coverage = 0;  // share of the figures whose interval contains the measured value
};

/// How the cases of a ledger line are grouped.
enum class LedgerBy { all, group, engine, gpu, model, keys };

/// "all", "group", "engine", "gpu", "model", "keys".
const char* name_of(LedgerBy by);

struct LedgerLine {
  LedgerBy by = LedgerBy::all;
  std::string key{};  // "vllm-0.19"; empty for `all`
  std::string name{};
  std::string statistic{};
  ErrorSummary errors{};
};

/// Lines for all cases, then by group, engine, GPU and model; keys and metrics in order of first
/// appearance. With `by` also for each combination of the values of these keys of
/// ComparedCase::keys, in that order and joined by ", " ("-" where a case lacks one). Figures
/// without a relative error and groups without a name are left out.
std::vector<LedgerLine> ledger_of(const std::vector<ComparedCase>& cases,
                                  const std::vector<std::string>& by = {});

/// Every key that some case has, in alphabetical order.
std::vector<std::string> ledger_keys(const std::vector<ComparedCase>& cases);

/// A limit on the mean absolute error. A limit that names a metric, or a statistic of it, takes
/// precedence over a general one.
struct ErrorLimit {
  std::string name{};       // empty: every metric
  std::string statistic{};  // empty: every statistic of the metric
  double share = 0;         // 0.1 is 10 %
};

/// A ledger line over all cases that exceeds its limit.
struct ExceededLimit {
  std::string name{};
  std::string statistic{};
  double mape = 0;
  double limit = 0;
};

/// In the ledger's order. Metrics without a limit are not judged.
std::vector<ExceededLimit> exceeded_limits(const std::vector<LedgerLine>& ledger,
                                           const std::vector<ErrorLimit>& limits);

/// Limits that apply to no line of the ledger and so judged nothing.
std::vector<ErrorLimit> unjudged_limits(const std::vector<LedgerLine>& ledger,
                                        const std::vector<ErrorLimit>& limits);

}  // namespace roofcast
