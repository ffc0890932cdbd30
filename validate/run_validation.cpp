#include "validate/run_validation.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <new>
#include <utility>

#include "planner/evaluate_all.hpp"
#include "validate/case_keys.hpp"

namespace roofcast {
namespace {

/// Compares figures of the same name.
void compare(const std::vector<MetricRow>& figures, ValidatedCase& validated) {
  const std::vector<MetricRow>& predicted = validated.prediction.run.metrics;
  for (const MetricRow& row : figures) {
    const auto found = std::find_if(predicted.begin(), predicted.end(), [&](const MetricRow& p) {
      return p.name == row.name && p.statistic == row.statistic;
    });
    if (found == predicted.end()) {
      validated.unpredicted.push_back(row.name + " " + row.statistic);
      continue;
    }
    const auto index = static_cast<std::size_t>(found - predicted.begin());
    validated.compared.figures.push_back({.name = row.name,
                                          .statistic = row.statistic,
                                          .measured = row.value,
                                          .predicted = found->value,
                                          .interval = validated.prediction.intervals[index]});
  }
}

ValidatedCase validated(const ValidationCase& question, const Progress& go_on) {
  ValidatedCase result;
  result.assumed = question.assumed;
  result.warnings = question.measured.warnings;
  ComparedCase& compared = result.compared;
  compared = {.name = question.name,
              .group = question.group,
              .labels = question.labels,
              .keys = keys_of(question),
              .engine = engine_name(question.scenario.deployment),
              .gpu = question.scenario.deployment.gpu,
              .model = question.scenario.deployment.model,
              .reason = question.problem,
              .figures = {}};
  if (!compared.reason.empty()) return result;
  try {
    result.prediction = predict(question, go_on);
    compared.reason = result.prediction.refusal;
    compared.causes = result.prediction.causes;
    compared.engine = result.prediction.run.row.engine;
    compared.gpu = result.prediction.run.row.gpu;
    compared.model = result.prediction.run.row.model;
    if (compared.reason.empty()) compare(question.figures, result);
    if (compared.reason.empty() && compared.figures.empty()) {
      compared.reason = "none of the measured figures can be predicted";
    }
  } catch (const std::bad_alloc&) {
    compared.reason = "out of memory; try a smaller workload";
  } catch (const std::exception& error) {  // must not propagate to other threads
    compared.reason = error.what();
  }
  return result;
}

}  // namespace

std::optional<std::vector<ValidatedCase>> run_validation(const std::vector<ValidationCase>& cases,
                                                         int threads, const Progress& progress) {
  std::atomic<bool> stopped{false};
  const auto go_on = [&](std::int64_t, std::int64_t) { return !stopped; };
  const auto one = [&](std::int64_t i) {
    return validated(cases[static_cast<std::size_t>(i)], go_on);
  };
  return answers_of(std::ssize(cases), threads, one, [&](std::int64_t done, std::int64_t all) {
    stopped = !progress(done, all);
    return !stopped;
  });
}

}  // namespace roofcast
