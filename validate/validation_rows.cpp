#include "validate/validation_rows.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/numbers.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "base/wording.hpp"

namespace roofcast {
namespace {

/// Each finite figure once: a tool may list one twice.
std::vector<MetricRow> distinct(const std::vector<MetricRow>& rows) {
  std::vector<MetricRow> kept;
  for (const MetricRow& row : rows) {
    const bool known = std::any_of(kept.begin(), kept.end(), [&](const MetricRow& other) {
      return other.name == row.name && other.statistic == row.statistic;
    });
    if (!known && std::isfinite(row.value)) kept.push_back(row);
  }
  return kept;
}

/// The measured run as a row. Its deployment is assumed to be the predicted one.
Run measured_run(const ValidationCase& question, const Run& predicted) {
  const MeasuredRun& measured = question.measured;
  Run run{.row = predicted.row, .metrics = distinct(measured.metrics), .requests = {}};
  run.row.kind = "measured";
  run.row.profile_hash = "";
  if (!measured.created_at.empty()) run.row.created_at = measured.created_at;
  run.row.summary = counted(std::ssize(run.metrics), "figure") +
                    " measured: " + (question.source.empty() ? measured.origin : question.source);
  return run;
}

std::vector<IntervalRow> interval_rows(const std::vector<ComparedFigure>& figures) {
  std::vector<IntervalRow> rows;
  for (const ComparedFigure& figure : figures) {
    const bool known = std::any_of(rows.begin(), rows.end(), [&](const IntervalRow& other) {
      return other.name == figure.name && other.statistic == figure.statistic;
    });
    if (known) continue;
    rows.push_back({figure.name, figure.statistic, figure.interval.low, figure.interval.high});
  }
  return rows;
}

}  // namespace

std::vector<ValidationRuns> validation_runs(const std::vector<ValidatedCase>& validated,
                                            const std::vector<ValidationCase>& cases,
                                            const std::string& command_line) {
  std::vector<ValidationRuns> all;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const ValidatedCase& one = validated[i];
    if (!one.compared.reason.empty()) continue;
    ValidationRuns runs{.predicted = one.prediction.run,
                        .measured = {},
                        .intervals = interval_rows(one.compared.figures),
                        .name = one.compared.name,
                        .group = one.compared.group,
                        .source = cases[i].source};
    runs.predicted.row.command_line = command_line;
    runs.measured = measured_run(cases[i], runs.predicted);
    all.push_back(std::move(runs));
  }
  return all;
}

Printed measured_cell(const std::string& metric, double value) {
  if (metric.find("_per_s") != std::string::npos || metric == "max_concurrency") {
    return printed::fixed(value, 2);
  }
  if (metric.ends_with("_bytes")) return printed::gib(Bytes{value});
  return is_time(metric) ? printed::time(Seconds{value}) : printed::fixed(value, 0);
}

}  // namespace roofcast
