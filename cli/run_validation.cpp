#include "cli/run_validation.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <new>
#include <thread>
#include <utility>

namespace roofcast {
namespace {

/// The figures of both sides that meet by name.
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

ValidatedCase validated(const ValidationCase& question, const ProgressFunction& go_on) {
  ValidatedCase result;
  ComparedCase& compared = result.compared;
  compared = {.name = question.name,
              .group = question.group,
              .engine = question.scenario.engine,
              .gpu = question.scenario.gpu,
              .model = question.scenario.model,
              .reason = question.problem,
              .figures = {}};
  if (!compared.reason.empty()) return result;
  try {
    result.prediction = predict(question, go_on);
    compared.reason = result.prediction.refusal;
    compared.engine = result.prediction.run.row.engine;
    compared.gpu = result.prediction.run.row.gpu;
    compared.model = result.prediction.run.row.model;
    if (compared.reason.empty()) compare(question.figures, result);
    if (compared.reason.empty() && compared.figures.empty()) {
      compared.reason = "none of the measured figures is predicted";
    }
  } catch (const std::bad_alloc&) {
    compared.reason = "out of memory; a smaller workload may do";
  } catch (const std::exception& error) {  // a thread's own end: it must not reach the others
    compared.reason = error.what();
  }
  return result;
}

/// What the threads have in common.
struct SharedWork {
  const std::vector<ValidationCase>& cases;
  std::vector<ValidatedCase> results;
  std::atomic<std::size_t> next{0};
  std::atomic<std::int64_t> done{0};
  std::atomic<bool> stopped{false};
};

void work_on(SharedWork& work) {
  const auto go_on = [&](std::int64_t, std::int64_t) { return !work.stopped; };
  while (!work.stopped) {
    const std::size_t index = work.next++;
    if (index >= work.cases.size()) return;
    work.results[index] = validated(work.cases[index], go_on);
    ++work.done;
  }
}

}  // namespace

std::optional<std::vector<ValidatedCase>> run_validation(const std::vector<ValidationCase>& cases,
                                                         int threads,
                                                         const ProgressFunction& progress) {
  constexpr std::chrono::milliseconds kLook{20};
  SharedWork work{.cases = cases, .results = std::vector<ValidatedCase>(cases.size())};
  const auto all = std::ssize(cases);
  const auto used = std::clamp<std::ptrdiff_t>(threads, 1, std::max<std::ptrdiff_t>(1, all));
  std::vector<std::jthread> others;  // joined at the end, whatever happens
  for (std::ptrdiff_t i = 0; i < used; ++i) others.emplace_back([&work] { work_on(work); });
  while (work.done < all && !work.stopped) {
    work.stopped = !progress(work.done, all);
    std::this_thread::sleep_for(kLook);
  }
  others.clear();
  if (work.stopped) return std::nullopt;
  return std::move(work.results);
}

}  // namespace roofcast
