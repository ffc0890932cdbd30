#include "reports/pages/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "base/error.hpp"
#include "base/version.hpp"
#include "base/wording.hpp"
#include "planner/capacity/load_study.hpp"
#include "planner/scenario/pool_description.hpp"
#include "planner/scenario/simulation_notes.hpp"
#include "planner/verdict/steady_run.hpp"
#include "reports/pages/scenario_files.hpp"
#include "reports/rows/simulation_rows.hpp"
#include "simulator/io/scenario_reader.hpp"

namespace roofcast {
namespace {

const MetricRow* find(const std::vector<MetricRow>& rows, const MetricRow& like) {
  for (const MetricRow& row : rows) {
    if (row.name == like.name && row.statistic == like.statistic) return &row;
  }
  return nullptr;
}

/// Number of stored metrics that have another value in `run`.
std::int64_t differing(const Run& stored, const SimulationRun& run) {
  // The store keeps doubles exactly; another compiler may round the last digit of a mean
  // differently.
  constexpr double kEqual = 1e-9;
  const std::vector<MetricRow> now = simulation_metrics(run);
  std::int64_t count = 0;
  for (const MetricRow& then : stored.metrics) {
    const MetricRow* same = find(now, then);
    if (same == nullptr) continue;
    if (std::abs(same->value - then.value) > kEqual * std::abs(then.value)) ++count;
  }
  return count;
}

/// As the run was judged when it was stored: an undecided verdict of a load that could have been
/// longer was a no, although its figures meet the SLO.
SloRequirement requirement_of(const Run& stored, const Scenario& scenario) {
  const bool refused = std::ranges::any_of(stored.metrics, [](const MetricRow& metric) {
    return metric.name == "slo_met" && metric.value == 0;
  });
  return {.sample = is_sample(scenario), .must_stand = refused};
}

std::string by_version(const Run& stored) {
  if (stored.row.tool_version == kVersion) return "";
  return fmt::format(" (roofcast {} made the run, this is {})", stored.row.tool_version, kVersion);
}

/// A trace that the page was given is in the store, under a name that is not a path. Returns its
/// requests; 0: the scenario has none.
std::int64_t take_trace(const Store& store, Scenario& scenario) {
  auto* trace = std::get_if<TraceWorkload>(&scenario.workload);
  if (trace == nullptr || trace->path.find('/') != std::string::npos) return 0;
  auto kept = store.trace(trace->path);
  if (!kept) return 0;
  trace->bytes = std::make_shared<const std::string>(std::move(kept->content));
  return kept->requests;
}

Replay not_the_same(const std::string& why) {
  return {.run = {}, .remark = why + " The report shows what the store holds."};
}

}  // namespace

Replay replayed(const Store& store, const Run& stored, const ReportEffort& effort) {
  SimulationRun run;
  try {
    Scenario scenario = parse_scenario(stored.row.scenario_json, "the stored scenario");
    const std::int64_t recorded = take_trace(store, scenario);
    if (const std::string why = beyond_effort(scenario, effort, recorded); !why.empty()) {
      return not_the_same(why);
    }
    run = prepare_simulation(scenario);
  } catch (const Error& error) {
    return not_the_same(fmt::format("The run cannot be simulated again: {}.", error.what()));
  }
  if (!run.refusal.empty()) {
    return not_the_same(fmt::format("The run cannot be simulated again: {}.", run.refusal));
  }
  if (profile_hashes_of(run.pools) != stored.row.profile_hash) {
    return not_the_same("The hardware profile has changed since the run.");
  }
  simulate_with_notes(run, effort.progress);
  if (run.result.stopped) throw_interrupted();
  if (effort.progress) run.stopped = [&effort] { return !effort.progress(0, 1); };
  settled_verdict(run, requirement_of(stored, run.scenario));
  const bool interrupted = run.stopped && run.stopped();
  run.stopped = {};
  if (interrupted) throw_interrupted();
  if (const std::int64_t others = differing(stored, run); others > 0) {
    return not_the_same(fmt::format("The repeated simulation differs in {} of {}{}.", others,
                                    counted(std::ssize(stored.metrics), "stored figure"),
                                    by_version(stored)));
  }
  return {.run = std::move(run),
          .remark =
              fmt::format("Simulated again for this report: all stored figures were reproduced{}.",
                          by_version(stored))};
}

}  // namespace roofcast
