#include "planner/what_if/run_what_if.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.hpp"
#include "base/statistics.hpp"
#include "planner/evaluate_all.hpp"
#include "planner/verdict/steady_run.hpp"
#include "simulator/io/scenario_reader.hpp"
#include "simulator/io/scenario_workload.hpp"
#include "simulator/results/figures.hpp"
#include "simulator/results/request_tally.hpp"
#include "simulator/results/verdict.hpp"

namespace roofcast {
namespace {

/// Results of a variant under one seed.
struct OneRun {
  RunLabels labels{};
  std::string reason{};
  std::vector<RunFigure> figures{};
  std::vector<RequestValues> values{};  // per metric, for a trace; empty: no per-request values
  SloVerdict verdict{};
  std::optional<LimitReport> limits{};
  std::vector<PoolRun> pools{};  // with `explain`
};

// ---- figures of one run

/// The latency of each request in order; empty if requests have none.
RequestValues values_of(const SimulationRun& run, const MetricName& metric) {
  const LatencyFigure* latency = latency_named(metric.name);
  if (latency == nullptr || !latency->part || !request_statistic(metric.statistic)) return {};
  RequestValues values;
  for (const RequestRecord& record : run.result.requests) {
    const bool reported = is_reported(run.workload.stages, record.request);
    const auto duration = reported ? duration_of(record, *latency->part) : std::nullopt;
    values.push_back(duration ? std::optional(to_seconds(*duration).value) : std::nullopt);
  }
  return values;
}

/// State shared by all tasks; read only.
struct WhatIfWork {
  const WhatIfTask& question;
  bool by_blocks = false;
  /// The baseline's trace, for variants that do not change it.
  std::optional<Workload> trace{};
  std::string trace_key{};
  std::int64_t arrivals = 0;  // of every run, if their number is free; 0: as the scenarios say
};

/// Everything that determines the requests of a trace.
std::string workload_key(const Scenario& scenario) {
  Scenario essence;
  essence.workload = scenario.workload;
  essence.max_tokens = scenario.max_tokens;
  essence.slo = scenario.slo;
  essence.seed = scenario.seed;
  return to_json(essence);
}

SloRequirement requirement_of(const WhatIfWork& work, const Scenario& scenario) {
  return {.sample = is_sample(scenario), .must_stand = work.arrivals > 0};
}

/// Simulates the run; with an account of its limits if asked.
std::optional<LimitReport> simulate_once(SimulationRun& run, bool explain) {
  const PoolStepTimes step_times = step_times_of(run);
  if (!explain) {
    simulate_sampled(run, step_times, {});
    return std::nullopt;
  }
  const LimitAccount account = simulate_with_account(run, step_times, {});
  return report_limits(run, account, 1, {});  // the variants already run in parallel
}

OneRun run_once(const WhatIfWork& work, const WhatIfVariant& variant, std::int64_t repetition) {
  Scenario scenario = variant.scenario;
  scenario.seed += static_cast<std::uint64_t>(repetition);
  if (work.arrivals > 0) set_arrivals(scenario, work.arrivals);
  const bool shared = work.trace && workload_key(scenario) == work.trace_key;
  SimulationRun run = prepare_simulation(scenario, shared ? work.trace : std::optional<Workload>{});
  OneRun one{.labels = work.question.labels_of(run), .reason = run.refusal};
  if (!one.reason.empty()) return one;
  one.limits = simulate_once(run, work.question.explain && repetition == 0);
  if (one.limits) one.pools = run.pools;
  one.verdict = settled_verdict(run, requirement_of(work, scenario));
  one.figures = work.question.figures_of(run);
  if (!work.by_blocks) return one;
  for (const MetricName& metric : work.question.metrics) {
    one.values.push_back(values_of(run, metric));
  }
  return one;
}

/// A variant's own errors (degrees that do not divide the model, an unknown GPU) are its answer.
OneRun answer_of(const WhatIfWork& work, std::int64_t index) {
  const std::int64_t seeds = work.question.seeds;
  const auto& variant = work.question.variants[static_cast<std::size_t>(index / seeds)];
  if (!variant.reason.empty()) return {.reason = variant.reason};
  try {
    return run_once(work, variant, index % seeds);
  } catch (const Error& error) {
    if (index < seeds) throw;  // an error of the baseline
    return {.reason = error.what()};
  }
}

// ---- comparing runs

using Runs = std::vector<OneRun>;  // of one variant, by seed

std::optional<double> figure(const OneRun& run, const MetricName& metric) {
  for (const RunFigure& one : run.figures) {
    if (one.metric == metric) return one.value;
  }
  return std::nullopt;
}

/// One per seed; empty if a run has none.
std::vector<double> figures_of(const Runs& runs, const MetricName& metric) {
  std::vector<double> figures;
  for (const OneRun& run : runs) {
    const auto value = figure(run, metric);
    if (!value) return {};
    figures.push_back(*value);
  }
  return figures;
}

std::optional<Difference> difference_by_blocks(const OneRun& baseline, const OneRun& other,
                                               const MetricName& metric, std::size_t index) {
  const RequestValues& before = baseline.values[index];
  const RequestValues& after = other.values[index];
  if (before.empty() || after.empty()) return std::nullopt;
  return block_difference(before, after, *request_statistic(metric.statistic),
                          before.size() == after.size());
}

WhatIfFigure figure_of(const WhatIfWork& work, const Runs& baseline, const Runs& runs,
                       std::size_t index) {
  const MetricName& metric = work.question.metrics[index];
  WhatIfFigure result;
  const std::vector<double> after = figures_of(runs, metric);
  if (after.empty()) return result;
  result.value = mean(after);
  const std::vector<double> before = figures_of(baseline, metric);
  if (before.empty()) return result;
  result.difference = paired_difference(before, after);
  if (!work.by_blocks) return result;
  // The difference of the run's own figures, as in the store; only the interval comes from blocks.
  if (const auto blocks = difference_by_blocks(baseline.front(), runs.front(), metric, index)) {
    result.difference = blocks;
  }
  return result;
}

std::vector<RunFigure> means_of(const Runs& runs) {
  std::vector<RunFigure> means;
  for (const RunFigure& one : runs.front().figures) {
    const std::vector<double> figures = figures_of(runs, one.metric);
    if (!figures.empty()) means.push_back({one.metric, mean(figures)});
  }
  return means;
}

WhatIfRow row_of(const WhatIfWork& work, const WhatIfVariant& variant, const Runs& baseline,
                 const Runs& runs) {
  const OneRun& first = runs.front();
  WhatIfRow row{.variant = variant, .labels = first.labels};
  for (const OneRun& run : runs) {
    if (row.reason.empty()) row.reason = run.reason;
  }
  row.figures.resize(work.question.metrics.size());
  if (!row.reason.empty()) return row;
  for (std::size_t i = 0; i < row.figures.size(); ++i) {
    row.figures[i] = figure_of(work, baseline, runs, i);
  }
  row.all_figures = means_of(runs);
  row.binding = binding_words(first.verdict);
  row.limits = first.limits;
  row.pools = first.pools;
  for (const OneRun& run : runs) {
    ++row.runs;
    if (run.verdict.holds) ++row.held;
    if (run.verdict.saturated) ++row.saturated;
    if (!run.verdict.undecided || run.verdict.missed_anyway) continue;
    if (row.undecided++ == 0) row.finding = reason_of(run.verdict);
  }
  return row;
}

WhatIfWork work_of(const WhatIfTask& question) {
  WhatIfWork work{.question = question};
  const Scenario& baseline = question.variants.front().scenario;
  work.by_blocks = is_trace(baseline);
  if (!work.by_blocks) return work;
  work.trace = load_workload(baseline);
  work.trace_key = workload_key(baseline);
  return work;
}

/// Whether every variant's number of requests is free.
bool all_grow(const WhatIfTask& question) {
  return question.free_length &&
         std::ranges::all_of(question.variants, [](const WhatIfVariant& variant) {
           return !variant.reason.empty() || may_grow(variant.scenario);
         });
}

/// Arrivals with which the verdict on a variant stands, under the first seed.
std::int64_t arrivals_for(const WhatIfVariant& variant) {
  const std::int64_t first = first_arrivals(variant.scenario);
  if (!variant.reason.empty()) return first;
  try {
    Scenario scenario = variant.scenario;
    set_arrivals(scenario, first);
    SimulationRun run = prepare_simulation(scenario);
    if (!run.refusal.empty()) return first;
    const GrowingLoad load(run.scenario, run.workload, true);
    simulate_until_decided(run,
                           {.load = &load,
                            .most = load.limits().search,
                            .requirement = {.sample = true, .must_stand = true}},
                           [](SimulationRun& one) { one.result = simulate_run(one); });
    return std::get<SyntheticWorkload>(run.scenario.workload).num_prompts;
  } catch (const Error&) {
    return first;  // answer_of() says why
  }
}

}  // namespace

std::optional<WhatIfFindings> run_what_if(const WhatIfTask& question, const Progress& progress) {
  WhatIfWork work = work_of(question);
  if (all_grow(question)) {
    const auto arrivals = answers_of(
        std::ssize(question.variants), question.threads,
        [&](std::int64_t i) {
          return arrivals_for(question.variants[static_cast<std::size_t>(i)]);
        },
        progress);
    if (!arrivals) return std::nullopt;
    // The same for all, so that their differences are those of the same requests.
    work.arrivals = *std::ranges::max_element(*arrivals);
  }
  const auto count = std::ssize(question.variants) * question.seeds;
  auto answers = answers_of(
      count, question.threads, [&](std::int64_t index) { return answer_of(work, index); },
      progress);
  if (!answers) return std::nullopt;
  std::vector<Runs> runs(question.variants.size());
  for (std::int64_t i = 0; i < count; ++i) {
    runs[static_cast<std::size_t>(i / question.seeds)].push_back(
        std::move((*answers)[static_cast<std::size_t>(i)]));
  }
  WhatIfFindings answer{
      .metrics = question.metrics, .seeds = question.seeds, .by_blocks = work.by_blocks};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    answer.rows.push_back(row_of(work, question.variants[i], runs.front(), runs[i]));
  }
  return answer;
}

}  // namespace roofcast
