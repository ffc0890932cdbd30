#include "reports/pages/run_reports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/io/bounded_json.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "base/wording.hpp"
#include "reports/answers/capacity_sections.hpp"
#include "reports/answers/limits_section.hpp"
#include "reports/pages/capacity_table_report.hpp"
#include "reports/pages/figures/load_figures.hpp"
#include "reports/pages/figures/memory_figures.hpp"
#include "reports/pages/scenario_files.hpp"
#include "reports/pages/stored_report.hpp"
#include "roofcast/capacity.hpp"
#include "simulator/results/figures.hpp"

namespace roofcast {
namespace {

/// "llama-3.1-8b on NVIDIA H100 SXM, vllm-0.19, with SLO p95 TTFT ≤ 500 ms: the capacity is ...":
/// the question, then the command's own sentences.
std::string answer_text(const CapacityAnswer& answer) {
  const std::string promise = joined(promises_of(answer.inputs.scenario.slo));
  std::string text = answer.headline + (promise.empty() ? "" : ", with SLO " + promise) + ":";
  std::vector<std::string> sentences = capacity_sentences(answer);
  if (sentences.front().starts_with("The capacity")) sentences.front().front() = 't';
  for (const std::string& sentence : sentences) text += " " + sentence;
  return text;
}

std::vector<ReportTile> tiles_of(const CapacityAnswer& answer) {
  std::vector<ReportTile> tiles;
  if (answer.asked) {
    const SloVerdict& verdict = answer.asked->verdict;
    tiles.push_back(
        {.name = "At the requested load",
         .value = verdict_word(verdict),
         .note = fmt::format("{}; probability {}", as_load(answer.asked->kind, answer.asked->load),
                             as_probability(answer.asked->probability))});
  }
  if (!answer.capacity) {
    tiles.push_back({.name = "Capacity", .value = "none", .note = "no load meets the SLO"});
    return tiles;
  }
  ReportTile capacity{
      .name = "Capacity",
      .value = (answer.bounded ? "" : "at least ") + as_load(answer.load, *answer.capacity)};
  if (answer.doubt) {
    capacity.note = "too few requests to be sure";
  } else if (answer.low && answer.high) {
    capacity.note = fmt::format("{} to {} in {} of cases", fixed(*answer.low, 2),
                                fixed(*answer.high, 2), interval_percent());
  }
  tiles.push_back(std::move(capacity));
  if (answer.headroom) {
    tiles.push_back({.name = "Headroom",
                     .value = fixed(*answer.headroom, 2) + " times",
                     .note = "the requested load"});
  }
  if (answer.cost.dollars_per_hour) {
    ReportTile cost{.name = "Cost",
                    .value = "$" + fixed(*answer.cost.dollars_per_hour, 2) + " per hour"};
    if (const auto& each = answer.cost.dollars_per_million_output_tokens) {
      cost.note = fmt::format("${} per million output tokens at the capacity", amount(*each, 2));
    }
    tiles.push_back(std::move(cost));
  }
  if (answer.limits.binding) {
    tiles.push_back({.name = "Binding limit",
                     .value = title_of(*answer.limits.binding),
                     .note = "just beyond the capacity"});
  }
  return tiles;
}

/// Marks the output throughput at the capacity.
void mark_capacity(std::vector<Figure>& figures, const CapacityAnswer& answer) {
  if (!answer.capacity) return;
  const auto at = std::ranges::find_if(
      answer.curve, [&](const CapacityPoint& point) { return point.load == *answer.capacity; });
  if (at == answer.curve.end()) return;
  for (Figure& figure : figures) {
    figure.marked.push_back(
        {.axis = MarkedValue::Across::x, .value = at->output_tokens_per_s, .name = "capacity"});
  }
}

/// The figure of each pool's memory; none where the deployment can no longer be resolved.
std::vector<Figure> memory_figures(const CapacityInputs& inputs, const ReportEffort& effort) {
  if (!beyond_effort(inputs.scenario, effort).empty()) return {};
  try {
    return {memory_figure(study_of(inputs.scenario, {}, false).run.pools)};
  } catch (const Error&) {
    return {};  // a model or profile is gone: the rest of the answer stands
  }
}

}  // namespace

Report capacity_report(const Store& store, const Run& run, const ReportEffort& effort) {
  Report report = stored_report(run);
  const auto stored = store.answer_of(run.row.id);
  if (!stored) {
    report.sections.front().lines.push_back(
        "An earlier version of the program made it: its curve was not stored.");
    return report;
  }
  CapacityAnswer answer;
  try {
    answer = capacity_answer_from_json(parse_bounded<Json>(stored->json, "the stored answer"));
  } catch (const Error& error) {
    report.sections.front().lines.push_back(unreadable_text(error, run.row));
    return report;
  }
  report.sections.clear();
  const bool few = answer.doubt || (answer.asked && proves_little(answer.asked->verdict));
  const bool open = (answer.holds && few) || (answer.asked && is_undecided(answer.asked->verdict));
  if (!open) report.verdict = answer.holds;
  report.answer = answer_text(answer);
  if (answer.fits) report.tiles = tiles_of(answer);
  ReportSection curve{.heading = "Throughput against latency",
                      .figures = load_figures(answer.inputs.scenario.slo, answer.curve)};
  mark_capacity(curve.figures, answer);
  if (answer.capacity && answer.low && answer.high) {
    curve.lines.push_back(fmt::format(
        "The capacity is {}; from the uncertainty of step times and host work it is {} to {} in {} "
        "of cases.",
        load_text(answer.load, *answer.capacity), load_text(answer.load, *answer.low),
        load_text(answer.load, *answer.high), interval_percent()));
  }
  report.sections.push_back(std::move(curve));
  for (const Section& section : capacity_sections(answer)) {
    const bool first = report.sections.size() == 1;
    report.sections.push_back(report_section(section));
    if (first) report.sections.back().heading = "Full answer";
  }
  if (auto figures = memory_figures(answer.inputs, effort); !figures.empty()) {
    report.sections.push_back({.heading = "Memory", .figures = std::move(figures)});
  }
  report.sections.push_back(input_section(run.row));
  return report;
}

Report stored_capacity_table_report(const Store& store, const Run& run) {
  Report report = stored_report(run);
  const auto stored = store.answer_of(run.row.id);
  if (!stored) return report;
  Report table;
  std::int64_t deployments = 0;
  try {
    const CapacityTableAnswer answer =
        capacity_table_answer_from_json(parse_bounded<Json>(stored->json, "the stored answer"));
    deployments = std::ssize(answer.rows);
    table = capacity_table_report(answer);
  } catch (const Error& error) {
    report.sections.front().lines.push_back(unreadable_text(error, run.row));
    return report;
  }
  report.title = fmt::format("{}: capacity of {} (run {})", run.row.model,
                             counted(deployments, "deployment"), run.row.id);
  std::erase_if(report.facts, [](const auto& fact) { return fact.first == "Runs on"; });
  report.answer = std::move(table.answer);
  report.verdict = table.verdict;
  report.tiles = std::move(table.tiles);
  report.sections = std::move(table.sections);
  report.sections.push_back(input_section(run.row));
  return report;
}

}  // namespace roofcast
