#include "cli/report/capacity_report.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <utility>

#include "cli/capacity_document.hpp"
#include "cli/report/load_figures.hpp"
#include "cli/report/memory_figures.hpp"
#include "cli/report/scenario_files.hpp"
#include "model/error.hpp"
#include "planner/capacity_answer.hpp"
#include "reports/numbers.hpp"
#include "simulator/io/scenario_reader.hpp"

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

}  // namespace

Report capacity_report(const Run& run, const ReportEffort& effort) {
  // What share of good requests was required is in the command line alone.
  if (run.row.command_line.find("--least-goodput") != std::string::npos) {
    return from_store(run, "A capacity for a share of good requests is not searched again.");
  }
  Execution execution{.threads = effort.threads};
  if (effort.progress) {
    constexpr std::int64_t kUsual = 60;  // simulations of a search
    execution.progress = [&](std::int64_t done) {
      return effort.progress(done, std::max(done, kUsual));
    };
  }
  std::optional<LoadStudy> study;
  try {
    const Scenario scenario = parse_scenario(run.row.scenario_json, "the stored scenario");
    if (!effort.opens_files && opens_files(scenario)) {
      return from_store(run,
                        "The run's scenario names files, which are not opened here: roofcast "
                        "report searches it again.");
    }
    study = study_of(scenario, {}, false);
  } catch (const Error& error) {
    return from_store(run, fmt::format("The capacity cannot be searched again: {}.", error.what()));
  }
  if (!study->run.refusal.empty()) return from_store(run, study->run.refusal + ".");
  const CapacityAnswer answer = answer_capacity(*std::move(study), {}, execution);
  if (!same(stored_capacity(run), answer.capacity.load)) {
    return from_store(run, "Searched again, the capacity came out otherwise.");
  }
  const Document document = capacity_document(answer, std::nullopt, execution.simulations);
  Report report = stored_report(run);
  report.sections.clear();
  report.verdict = holds(answer);
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
