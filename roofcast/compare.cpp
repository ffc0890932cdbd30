#include "roofcast/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "base/record.hpp"
#include "reports/request_latencies.hpp"
#include "roofcast/what_if.hpp"
#include "simulator/results/result.hpp"

namespace roofcast {
namespace {

constexpr const char* kCompareCommand = "compare";

/// The first and the second of exactly two; otherwise unset.
template <class T>
std::pair<std::optional<T>, std::optional<T>> two_of(const std::vector<T>& values) {
  if (values.size() != 2) return {};
  return {values[0], values[1]};
}

}  // namespace

// ---- the record

template <>
struct EnumNames<FigureForm> {
  static constexpr std::array values{std::pair{FigureForm::number, "number"},
                                     std::pair{FigureForm::count, "count"},
                                     std::pair{FigureForm::share, "share"}};
};

template <class Visitor>
void members(Visitor& visit, CompareInputs& inputs) {
  auto [a, b] = two_of(inputs.runs);
  visit("store", inputs.store, "its file");
  visit("runs", inputs.runs, "their ids");
  visit.if_set("a", a, "of two runs: the first");
  visit.if_set("b", b, "of two runs: the second");
}

template <class Visitor>
void members(Visitor& visit, ComparedRun& run) {
  visit("id", run.id, "in the store");
  visit("kind", run.kind, "simulate, capacity, measured, ...");
  visit("model", run.model, "its name");
  visit("gpu", run.gpu, "its name; several are joined");
  visit("engine", run.engine, "its name; several are joined");
  visit("summary", run.summary, "the result in one line");
  visit("created_at", run.created_at, "ISO 8601, UTC");
}

template <class Visitor>
void members(Visitor& visit, ComparedMetric& metric) {
  visit("name", metric.name, "as in the store, with its unit");
  visit("statistic", metric.statistic, "mean, p95, value, ...");
  const MetricName of{metric.name, metric.statistic};
  std::string title = title_of(of);
  FigureForm form = form_of(of);
  visit("title", title, "as tables head it");
  visit("form", form, "count, share (0 to 1) or number");
  auto [a, b] = two_of(metric.values);
  std::optional<std::optional<double>> change;
  if (a) change = metric.changes.at(1);
  visit.if_set("a", a, "of two runs: the first's; null: it has none");
  visit.if_set("b", b, "of two runs: the second's; null: it has none");
  std::optional<std::string> a_text;
  std::optional<std::string> b_text;
  if (a && *a) a_text = metric_text(of, **a);
  if (b && *b) b_text = metric_text(of, **b);
  visit.if_set("a_text", a_text, "of two runs: `a` as tables print it; absent: it has none");
  visit.if_set("b_text", b_text, "of two runs: `b` as tables print it; absent: it has none");
  visit.if_set("relative_change", change, "of two runs: (b - a) / |a|");
  std::optional<bool> more = more_is_better(of);
  visit("more_is_better", more, "null: neither more nor less is");
  visit("values", metric.values, "of each run; null: it has none");
  visit("relative_changes", metric.changes,
        "to the first run's, as a share; null: one is missing, or the first is 0");
}

template <class Visitor>
void members(Visitor& visit, ComparedRequests& compared) {
  Difference& difference = compared.difference;
  visit("id", compared.id, "the run that is compared with the first");
  visit("name", compared.name, "as in the store, with its unit");
  visit("statistic", compared.statistic, "mean or a percentile over requests");
  visit("same_requests", compared.same_requests, "both served the same, so that they are paired");
  visit("difference", difference.mean, "to the first run");
  visit("difference_low", difference.low, "of its 95 % interval; null: too few requests");
  visit("difference_high", difference.high, "of its 95 % interval; null: likewise");
  std::optional<bool> significant;
  if (difference.low) significant = difference.significant();
  visit("significant", significant, "the interval excludes zero; null: there is no interval");
}

template <class Visitor>
void members(Visitor& visit, CompareAnswer& answer) {
  members(visit, answer.head);
  visit("inputs", answer.inputs, "the question as understood");
  auto [a, b] = two_of(answer.runs);
  visit.if_set("a", a, "of two runs: the first");
  visit.if_set("b", b, "of two runs: the second");
  visit("runs", answer.runs, "in the order of the question");
  visit("metrics", answer.metrics, "every figure that a run has");
  visit("differences", answer.differences, "of runs that kept their requests");
}

namespace {

using Key = std::pair<std::string, std::string>;          // name, statistic
using MetricValues = std::vector<std::optional<double>>;  // one per run; absent if it has none

std::map<Key, MetricValues> metrics_of(const std::vector<Run>& runs) {
  std::map<Key, MetricValues> metrics;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (const MetricRow& row : runs[i].metrics) {
      MetricValues& figures = metrics[{row.name, row.statistic}];
      figures.resize(runs.size());
      figures[i] = row.value;
    }
  }
  return metrics;
}

/// (b - a) / a; nullopt if one is absent, or a is 0 and b is not.
std::optional<double> relative_difference(const std::optional<double>& a,
                                          const std::optional<double>& b) {
  if (!a || !b) return std::nullopt;
  if (*a == *b) return 0.0;
  if (*a == 0) return std::nullopt;
  return (*b - *a) / std::abs(*a);
}

ComparedMetric compared(const Key& key, const MetricValues& figures) {
  ComparedMetric metric{.name = key.first, .statistic = key.second, .values = figures};
  for (const std::optional<double>& figure : figures) {
    metric.changes.push_back(relative_difference(figures.front(), figure));
  }
  return metric;
}

ComparedRun compared(const RunRow& row) {
  return {.id = row.id,
          .kind = row.kind,
          .model = row.model,
          .gpu = row.gpu,
          .engine = row.engine,
          .summary = row.summary,
          .created_at = row.created_at};
}

// ---- per-request figures

RequestValues values_of(const Run& run, const StoredLatency& latency) {
  RequestValues values;
  for (const RequestRow& row : run.requests) values.push_back(latency.of(row));
  return values;
}

/// The same requests in the same order, regardless of arrival times.
bool same_requests(const Run& a, const Run& b) {
  return std::equal(a.requests.begin(), a.requests.end(), b.requests.begin(), b.requests.end(),
                    [](const RequestRow& one, const RequestRow& other) {
                      return one.input_tokens == other.input_tokens &&
                             one.output_tokens == other.output_tokens;
                    });
}

/// Whether the kept requests give the figure: they include warm-up requests, which figures exclude.
bool reproduces(const RequestValues& values, const RequestStatistic& statistic,
                const std::optional<double>& figure) {
  constexpr double kRounding = 1e-6;  // TPOT is rounded to the nanosecond
  const auto found = roofcast::statistic_of(values, statistic);
  return found && figure && std::abs(*found - *figure) <= kRounding * std::abs(*figure);
}

std::optional<Difference> difference_of(const std::vector<Run>& runs, std::size_t other,
                                        const StoredLatency& latency, const Key& key,
                                        const MetricValues& figures, bool paired) {
  const auto statistic = request_statistic(key.second);
  if (!statistic) return std::nullopt;
  const RequestValues before = values_of(runs.front(), latency);
  const RequestValues after = values_of(runs[other], latency);
  const bool usable = reproduces(before, *statistic, figures.front()) &&
                      reproduces(after, *statistic, figures[other]);
  if (!usable) return std::nullopt;
  return block_difference(before, after, *statistic, paired);
}

std::vector<ComparedRequests> compared_by_requests(const std::vector<Run>& runs,
                                                   const std::map<Key, MetricValues>& metrics) {
  std::vector<ComparedRequests> result;
  for (std::size_t other = 1; other < runs.size(); ++other) {
    if (runs.front().requests.empty() || runs[other].requests.empty()) continue;
    const bool paired = same_requests(runs.front(), runs[other]);
    for (const auto& [key, figures] : metrics) {
      const auto* latency = std::ranges::find(kStoredLatencies, key.first, &StoredLatency::name);
      if (latency == std::end(kStoredLatencies)) continue;
      const auto difference = difference_of(runs, other, *latency, key, figures, paired);
      if (!difference) continue;
      result.push_back({runs[other].row.id, key.first, key.second, paired, *difference});
    }
  }
  return result;
}

}  // namespace

void check_compared(std::size_t runs) {
  if (runs >= 2 && runs <= kMaxComparedRuns) return;
  throw UsageError(fmt::format("compare needs 2 to {} runs, not {} (roofcast runs lists them)",
                               kMaxComparedRuns, runs));
}

CompareAnswer compare(const CompareQuestion& question) {
  check_compared(question.runs.size());
  const std::map<Key, MetricValues> metrics = metrics_of(question.runs);
  CompareAnswer answer{.head = answer_head(kCompareCommand), .inputs = {.store = question.store}};
  for (const Run& run : question.runs) {
    answer.inputs.runs.push_back(run.row.id);
    answer.runs.push_back(compared(run.row));
  }
  for (const auto& [key, figures] : metrics) answer.metrics.push_back(compared(key, figures));
  answer.differences = compared_by_requests(question.runs, metrics);
  return answer;
}

Json to_json(const CompareAnswer& answer) { return record_to_json(answer); }

CompareAnswer compare_answer_from_json(const Json& json) {
  CompareAnswer answer = record_from_json<CompareAnswer>(json);
  check_head(answer.head, kCompareCommand);
  return answer;
}

Json compare_answer_schema() { return schema_document<CompareAnswer>("roofcast compare"); }

}  // namespace roofcast
