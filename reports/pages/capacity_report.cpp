#include "reports/pages/capacity_report.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "reports/pages/capacity_sections.hpp"
#include "reports/pages/load_figures.hpp"
#include "reports/pages/memory_figures.hpp"
#include "reports/pages/scenario_files.hpp"
#include "reports/pages/stored_report.hpp"
#include "roofcast/capacity.hpp"
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
  report.sections.front().lines.push_back(why + " The report shows what the store holds.");
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

/// "llama-3.1-8b on NVIDIA H100 SXM, vllm-0.19, for p95 TTFT ≤ 500 ms: the capacity is ...": the
/// question,
/// then the command's own sentences.
std::string answer_text(const CapacityAnswer& answer) {
  const std::string promise = promise_text(answer.inputs.scenario.slo);
  std::string text = answer.headline + (promise.empty() ? "" : ", with SLO " + promise) + ":";
  std::vector<std::string> sentences = capacity_sentences(answer);
  if (sentences.front().starts_with("The capacity")) sentences.front().front() = 't';
  for (const std::string& sentence : sentences) text += " " + sentence;
  return text;
}

/// Whether the user set the number of requests; otherwise the search takes as many as it needs.
bool states_length(const RunRow& row) {
  return row.command_line.find("num-prompts") != std::string::npos ||
         row.command_line.find("num-requests") != std::string::npos;
}

/// Repeats the command's search; nullopt if it gives another capacity.
std::optional<CapacityAnswer> found_again(const Run& run, const Scenario& scenario,
                                          const ReportEffort& effort) {
  for (const bool free_length : {true, false}) {
    if (free_length && states_length(run.row)) continue;
    const CapacityQuestion question{
        .scenario = scenario, .free_length = free_length, .threads = effort.threads};
    LoadStudy study = capacity_study(question);
    const bool grows = study.grows;
    CapacityAnswer answer = capacity(question, std::move(study), effort.progress);
    if (same(stored_capacity(run), answer.capacity)) return answer;
    if (free_length && !grows) break;  // the second search would be the same
  }
  return std::nullopt;
}

}  // namespace

Report capacity_report(const Run& run, const ReportEffort& effort) {
  // Only the command line states the required share of good requests.
  if (run.row.command_line.find("--least-goodput") != std::string::npos) {
    return from_store(run,
                      "A capacity with a required share of good requests is not searched again.");
  }
  std::optional<CapacityAnswer> found;
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
  if (!found) return from_store(run, "The repeated search found another capacity.");
  const CapacityAnswer& answer = *found;
  Report report = stored_report(run);
  report.sections.clear();
  report.verdict = answer.holds;
  report.answer = answer_text(answer);
  ReportSection curve{.heading = "Throughput against latency",
                      .figures = load_figures(answer.inputs.scenario.slo, answer.curve)};
  if (answer.capacity && answer.low && answer.high) {
    curve.lines.push_back(fmt::format(
        "The capacity is {}; with steps 1.28 standard deviations slower it is {}, faster {}.",
        load_text(answer.load, *answer.capacity), load_text(answer.load, *answer.low),
        load_text(answer.load, *answer.high)));
  }
  report.sections.push_back(std::move(curve));
  for (const Section& section : capacity_sections(answer)) {
    report.sections.push_back(
        {.heading = report.sections.size() == 1 ? "Full answer" : section.heading,
         .lines = section.lines});
    if (!section.table.columns.empty()) report.sections.back().tables.push_back(section.table);
  }
  report.sections.push_back({.heading = "Memory", .figures = {memory_figure(answer.pools)}});
  report.sections.push_back(input_section(run.row));
  return report;
}

}  // namespace roofcast
