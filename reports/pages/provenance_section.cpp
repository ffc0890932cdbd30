#include "reports/pages/provenance_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "planner/capacity/load_study.hpp"
#include "planner/scenario/step_description.hpp"
#include "planner/verdict/confidence.hpp"
#include "roofcast/simulate.hpp"

namespace roofcast {
namespace {

Table uncertainty_table(const SimulationRun& run) {
  Table table{.title = "Uncertainty of the run's inputs (one standard deviation)",
              .columns = {{"What", false}, {"±"}, {"From", false}},
              .rows = {}};
  for (const PoolRun& pool : run.pools) {
    const std::string of = run.pools.size() > 1 ? " of " + pool.name : "";
    table.rows.push_back({"step times" + of, printed::percent(pool.step_uncertainty),
                          "operators weighted by their time in this run"});
    const double version = version_deviation(pool.deployment);
    if (version > 0) {
      table.rows.push_back({kVersionCause + of, printed::percent(version),
                            "how far servers of single versions were off on this vendor's GPUs"});
    }
    table.rows.push_back({"KV cache" + of, printed::percent(pool.plan.relative_uncertainty),
                          std::string(pool.deployment.engine.memory.residual_source)});
  }
  table.rows.push_back({"host work per request", printed::percent(kHostUncertainty, 0),
                        "host times of other machines' CPUs (assumption)"});
  return table;
}

/// Sources of time: one row per operator of both steps.
Table source_table(const GenerationEstimate& estimate) {
  Table table{.title = "Sources of step times",
              .columns = {{"Step", false}, {"Share of step time by source", false}, {"±"}},
              .rows = {}};
  table.rows.push_back({"prefill", describe_provenance(estimate.prefill),
                        printed::percent(estimate.prefill.relative_uncertainty, 0)});
  table.rows.push_back({"decode", describe_provenance(estimate.decode),
                        printed::percent(estimate.decode.relative_uncertainty, 0)});
  return table;
}

Table profile_table(const PoolRun& pool) {
  Table table{.title = "Hardware profile " + pool.deployment.gpu.name,
              .columns = {{"Number", false}, {"Source", false}},
              .rows = {}};
  for (const auto& [key, source] : pool.deployment.gpu.sources) table.rows.push_back({key, source});
  return table;
}

std::vector<std::string> confidence_lines(const SimulationRun& run,
                                          const std::optional<Confidence>& confidence) {
  if (run.result.slo.empty()) return {};
  if (!confidence) {
    return {
        fmt::format("The probability that the SLO is met is not computed for {}: it takes up to 25 "
                    "simulations.",
                    counted(std::ssize(run.workload.requests), "request"))};
  }
  std::vector<std::string> lines{
      fmt::format("With this uncertainty, the SLO is met with probability {}.",
                  as_probability(confidence->probability))};
  for (const Cause& cause : confidence->causes) {
    if (!cause.flips_at) continue;
    lines.push_back(fmt::format("{}: {:+.1f} standard deviations alone would reverse the verdict.",
                                cause.name, *cause.flips_at));
  }
  return lines;
}

}  // namespace

std::optional<Confidence> confidence_in(const SimulationRun& run, const ReportEffort& effort) {
  if (run.result.slo.empty() || std::ssize(run.workload.requests) > kSmallLoad) {
    return std::nullopt;
  }
  auto confidence = confidence_of(run, run.result.requirement, effort.threads, effort.progress);
  if (!confidence) throw_interrupted();
  return confidence;
}

ReportSection provenance_section(const SimulationRun& run, const GenerationEstimate& estimate,
                                 const std::optional<Confidence>& confidence) {
  ReportSection section{.heading = "Sources and uncertainty",
                        .lines = confidence_lines(run, confidence)};
  section.lines.insert(section.lines.end(), run.notes.begin(), run.notes.end());
  section.tables = {uncertainty_table(run), source_table(estimate)};
  std::vector<std::string> shown;
  for (const PoolRun& pool : run.pools) {
    if (std::find(shown.begin(), shown.end(), pool.deployment.gpu.name) != shown.end()) continue;
    shown.push_back(pool.deployment.gpu.name);
    section.tables.push_back(profile_table(pool));
  }
  return section;
}

}  // namespace roofcast
