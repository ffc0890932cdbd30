#include "reports/pages/capacity_report.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "cli/plan/capacity_document.hpp"
#include "planner/capacity/capacity_answer.hpp"
#include "reports/pages/load_figures.hpp"
#include "reports/pages/memory_figures.hpp"
#include "reports/pages/scenario_files.hpp"
#include "reports/pages/stored_report.hpp"
#include "roofcast/deployment_description.hpp"
#include "roofcast/pool_description.hpp"
#include "simulator/io/scenario_reader.hpp"
#include "simulator/results/figures.hpp"

namespace roofcast {
namespace {

std::optional<double> stored_capacity(const Run& run) {
  for (const MetricRow& metric : run.metrics) {
    if (metric.name.starts_with("capacity_") && metric.statistic == "value") return metric.value;
  }
  return std::nullopt;
}

bool same(const std::optional<double>& stored, const std::optional<double>& found) {
  constexpr double kEqual = 1e-9;
  if (!stored || !found) return !stored && !found;
  return std::abs(*stored - *found) <= kEqual * std::abs(*stored);
}

Report from_store(const Run& run, const std::string& why) {
  Report report = stored_report(run);
  report.sections.front().lines.push_back(why + " What follows is what the store holds.");
  return report;
}

std::string promise_text(const Slo& slo) {
  std::string text;
  const auto add = [&](const std::vector<PercentileTarget>& targets, const std::string& whose) {
    for (const PercentileTarget& target : targets) {
      text += fmt::format("{}p{:g} {}{} ≤ {}", text.empty() ? "" : ", ", target.percentile,
                          title_of(target.metric), whose, as_time(target.limit));
    }
  };
  add(slo.targets, "");
  for (const SloClass& one : slo.classes) add(one.targets, " of " + one.name);
  return text;
}

/// "llama-3.1-8b on NVIDIA H100 SXM, vllm-0.19, for p95 TTFT ≤ 500 ms: carries ...": what was
/// asked, then the command's own words.
std::string answer_text(const CapacityAnswer& answer, const Section& first) {
  const SimulationRun& run = answer.study.run;
  const std::string promise = promise_text(run.scenario.slo);
  std::string text = headline(run.pools) + (promise.empty() ? "" : ", for " + promise) + ":";
  // Before them stands what the load is.
  const auto said = static_cast<std::size_t>(1 + std::ssize(run.workload.notes));
  for (std::size_t i = said; i < first.lines.size(); ++i) {
    std::string line = first.lines[i];
    if (i == said && line.starts_with("Carries")) line.front() = 'c';
    text += " " + line;
  }
  return text;
}

/// Whether the user said how many requests there are; else the search takes as many as it needs.
bool states_length(const RunRow& row) {
  return row.command_line.find("num-prompts") != std::string::npos ||
         row.command_line.find("num-requests") != std::string::npos;
}

struct FoundAgain {
  CapacityAnswer answer{};
  std::int64_t simulations = 0;
};

/// The search as the command made it; nothing where another capacity comes out.
std::optional<FoundAgain> found_again(const Run& run, const Scenario& scenario,
                                      const ReportEffort& effort) {
  for (const bool free_length : {true, false}) {
    if (free_length && states_length(run.row)) continue;
    Execution execution{.threads = effort.threads};
    if (effort.progress) {
      static constexpr std::int64_t kUsual = 60;  // simulations of a search
      execution.progress = [&](std::int64_t done) {
        return effort.progress(done, std::max(done, kUsual));
      };
    }
    LoadStudy study = study_of(scenario, {}, free_length);
    const bool grows = study.grows;
    CapacityAnswer answer = answer_capacity(std::move(study), {}, execution);
    if (same(stored_capacity(run), answer.capacity.load)) {
      return FoundAgain{std::move(answer), execution.simulations};
    }
    if (free_length && !grows) break;  // it would be the same search
  }
  return std::nullopt;
}

}  // namespace

Report capacity_report(const Run& run, const ReportEffort& effort) {
  // What share of good requests was required is in the command line alone.
  if (run.row.command_line.find("--least-goodput") != std::string::npos) {
    return from_store(run, "A capacity for a share of good requests is not searched again.");
  }
  std::optional<FoundAgain> found;
  try {
    const Scenario scenario = parse_scenario(run.row.scenario_json, "the stored scenario");
    if (const std::string why = beyond_effort(scenario, effort); !why.empty()) {
      return from_store(run, why);
    }
    if (const auto study = study_of(scenario, {}, false); !study.run.refusal.empty()) {
      return from_store(run, study.run.refusal + ".");
    }
    found = found_again(run, scenario, effort);
  } catch (const Error& error) {
    return from_store(run, fmt::format("The capacity cannot be searched again: {}.", error.what()));
  }
  if (!found) return from_store(run, "Searched again, the capacity came out otherwise.");
  const CapacityAnswer& answer = found->answer;
  const Document document = capacity_document(answer, std::nullopt, found->simulations);
  Report report = stored_report(run);
  report.sections.clear();
  report.verdict = holds(answer);
  report.answer = answer_text(answer, document.sections.front());
  ReportSection curve{.heading = "Throughput against latency",
                      .figures = load_figures(answer.study, answer.curve)};
  if (answer.capacity.load && answer.low && answer.high) {
    curve.lines.push_back(
        fmt::format("The capacity is {}; with steps 1.28 standard deviations slower {}, faster {}.",
                    load_text(answer.study, *answer.capacity.load),
                    load_text(answer.study, *answer.low), load_text(answer.study, *answer.high)));
  }
  report.sections.push_back(std::move(curve));
  for (const Section& section : document.sections) {
    report.sections.push_back(
        {.heading = report.sections.size() == 1 ? "The answer in full" : section.heading,
         .lines = section.lines});
    if (!section.table.columns.empty()) report.sections.back().tables.push_back(section.table);
  }
  report.sections.push_back({.heading = "Memory", .figures = {memory_figure(answer.study.run)}});
  report.sections.push_back(input_section(run.row));
  return report;
}

}  // namespace roofcast
