#include "reports/answers/plan_sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>

#include "base/joined.hpp"
#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "reports/answers/cost_cells.hpp"
#include "reports/answers/limits_section.hpp"
#include "roofcast/plan_words.hpp"

namespace roofcast {
namespace {

Table ranked_table(const PlanAnswer& answer) {
  Table table{.title = "", .columns = {{"Deployment", false}, {"GPUs"}}, .rows = {}};
  add_cost_columns(table);
  for (const char* title :
       {"TTFT p95 (ms)", "TPOT p95 (ms)", "MFU", "MBU", "Margin", "P(SLO met)", "Breaks at"}) {
    table.columns.push_back({title});
  }
  table.columns.push_back({"Step times", false});
  table.columns.push_back({"Pareto", false});
  const auto add = [&](const std::string& title, const PlanProspects& one,
                       const CandidateFigures& result, bool pareto) {
    const auto& capacity = one.capacity_factor;
    std::vector<Cell> cells{title, printed::count(one.gpus)};
    add_cost_cells(cells, one.cost);
    for (Cell cell : std::initializer_list<Cell>{
             printed::fixed(1e3 * result.ttft_p95_s, 0), printed::fixed(1e3 * result.tpot_p95_s, 1),
             mfu_cell(one.utilisation), mbu_cell(one.utilisation),
             signed_percent(result.verdict.worst_margin, 0),
             printed::probability(one.confidence.probability),
             capacity ? followed(in(*capacity, 2, "x"), breaks_on_few(one) ? " (few)" : "")
                      : Cell("-"),
             step_source_words(result.step_sources, result.step_uncertainty),
             pareto ? "yes" : ""}) {
      cells.push_back(std::move(cell));
    }
    table.rows.push_back(std::move(cells));
  };
  if (answer.mixed) {
    const MixedPlan& mix = *answer.mixed;
    add(mix.title, mix, mix.result, mix.pareto);
  }
  for (const RankedPlan& one : answer.ranked) add(one.title, one, one.result, one.pareto);
  return table;
}

/// The best candidate's margin per limit, and how far off inputs would have to be to flip the
/// verdict.
Section spare_section(const RankedPlan& best, bool of_one_kind) {
  Section section{
      .heading = of_one_kind ? "Margins of the first of one kind" : "Margins of the first",
      .lines = causes_of(best),
      .table = margin_table(best.result)};
  if (section.lines.empty()) {
    section.lines.emplace_back(
        fmt::format("No error of {} within 4 standard deviations would reverse the verdict.",
                    uncertain_input_names()));
  }
  return section;
}

/// What more than the ranked deployments take depends on what is minimised.
std::string reason_of(const PlanAnswer& answer, ShapeOutcome outcome) {
  if (outcome == ShapeOutcome::more_expensive) {
    switch (answer.inputs.objective) {
      case PlanObjective::cost:
        break;
      case PlanObjective::gpus:
        return "takes more GPUs than the ranked deployments, or has less margin";
      case PlanObjective::power:
        return "its boards may draw more than the ranked deployments', or it has less margin";
    }
  }
  return reason_text(outcome);
}

/// How much more than the first a rejected candidate that holds takes.
std::string surplus_of(const PlanAnswer& answer, const RejectedPlan& one) {
  if (answer.ranked.empty()) return {};
  if (one.beyond_first <= 0) return ", but with less margin";
  switch (answer.inputs.objective) {
    case PlanObjective::cost:
      return fmt::format(", and costs {} per hour more than the first", dollars(one.beyond_first));
    case PlanObjective::gpus:
      return fmt::format(", and needs {} more than the first",
                         counted(std::llround(one.beyond_first), "GPU"));
    case PlanObjective::power:
      break;
  }
  return fmt::format(", and its boards may draw {} W more than the first's",
                     fixed(one.beyond_first, 0));
}

std::string rejected_text(const PlanAnswer& answer, const RejectedPlan& one) {
  const std::string& title = one.title.empty() ? one.shape.name : one.title;  // empty: read back
  if (one.result) {
    return fmt::format("{}: {}{}.", title, miss_of(*one.result, answer.inputs.min_probability),
                       one.holds ? surplus_of(answer, one) : "");
  }
  return fmt::format("{}: {}.", title, one.why.empty() ? reason_of(answer, one.outcome) : one.why);
}

/// Counts by reason, and the nearest candidate of each GPU that is not in the answer; empty if all
/// shapes are ranked.
Section rejected_section(const PlanAnswer& answer) {
  Section section{
      .heading = answer.stopped ? "Shapes searched so far" : "Why the others were rejected",
      .lines = {},
      .table = {.title = "", .columns = {{"Shapes"}, {"Outcome", false}}, .rows = {}}};
  for (const auto& [outcome, count] : answer.shapes) {
    if (outcome == ShapeOutcome::ranked && !answer.stopped) continue;
    section.table.rows.push_back({printed::count(count), reason_of(answer, outcome)});
  }
  for (const RejectedPlan& one : answer.rejected) {
    section.lines.push_back(rejected_text(answer, one));
  }
  return section;
}

/// --explain: every shape with its outcome.
Section explained(const PlanAnswer& answer) {
  Section section{.heading = "All shapes",
                  .lines = {},
                  .table = {.title = "",
                            .columns = {{"Shape", false}, {"Bound"}, {"Limit"}, {"Outcome", false}},
                            .rows = {}}};
  for (const PlanShape& one : answer.every_shape) {
    section.table.rows.push_back({one.title, printed::count(one.min_units),
                                  printed::count(one.max_units),
                                  one.why.empty() ? reason_of(answer, one.outcome) : one.why});
  }
  return section;
}

/// The trace by the hour.
Section hours_section(const PlanHours& day) {
  Section section{.heading = "Load by the hour",
                  .lines = {},
                  .table = {.title = "",
                            .columns = {{"Hour"},
                                        {"Requests/s"},
                                        {"Prompt tokens/s"},
                                        {"Output tokens/s"},
                                        {"Units"},
                                        {"", false}},
                            .rows = {}}};
  constexpr double kHour = 3600;
  for (std::size_t i = 0; i < day.hours.size(); ++i) {
    const PlanHour& hour = day.hours[i];
    section.table.rows.push_back(
        {printed::count(static_cast<std::int64_t>(i)),
         printed::fixed(static_cast<double>(hour.requests) / kHour, 2),
         printed::count(hour.input_tokens / 3600), printed::count(hour.output_tokens / 3600),
         hour.units > 0 ? printed::count(hour.units) : "-", i == day.busiest ? "busiest" : ""});
  }
  return section;
}

/// The pools of a mixed fleet.
Section mix_section(const MixedPlan& mix) {
  return {.heading = "Pools of the mix", .lines = missed_by_pools(mix), .table = pool_table(mix)};
}

/// A command with a file before it has several lines.
std::vector<std::string> line_by_line(const std::vector<std::string>& commands) {
  std::vector<std::string> lines;
  for (const std::string& command : commands) {
    std::istringstream text(command);
    for (std::string line; std::getline(text, line);) lines.push_back(line);
  }
  return lines;
}

std::vector<std::string> launch_of(const MixedPlan& mix) {
  const std::string routes = joined(mix.pools, [](const MixedPool& pool) {
    return fmt::format("{} to {}", routed_text(pool), pool.name);
  });
  std::vector<std::string> lines{
      fmt::format("# before them a router, which these commands do not start, sends {}", routes)};
  for (const MixedPool& pool : mix.pools) {
    lines.push_back(pool.name + ":");
    std::ranges::move(line_by_line(pool.launch), std::back_inserter(lines));
  }
  return lines;
}

/// Requests of the longest simulation in the answer.
std::int64_t longest(const PlanAnswer& answer) {
  std::int64_t most = 0;
  for (const RankedPlan& one : answer.ranked) most = std::max(most, one.result.requests);
  for (const PlanCandidate& one : answer.closest) most = std::max(most, one.result.requests);
  return most;
}

std::string searched_text(const PlanAnswer& answer) {
  std::int64_t shapes = 0;
  for (const auto& [outcome, count] : answer.shapes) shapes += count;
  const std::string each =
      answer.requests == 0 ? ""  // read back
                           : fmt::format(" of {}{}", counted(answer.requests, "request"),
                                         longest(answer) > answer.requests ? " or more" : " each");
  return fmt::format("Searched: {} of {}; {}{}; {} more for probabilities and breaking points.",
                     counted(answer.candidates, "candidate"), counted(shapes, "shape"),
                     counted(answer.simulations, "simulation"), each,
                     with_separators(answer.finalist_simulations));
}

}  // namespace

std::string promises_of(const PlanInputs& inputs) {
  std::vector<std::string> promises = promises_of(inputs.scenario.slo);
  if (inputs.min_goodput_share) {
    promises.push_back(fmt::format("goodput {}", as_percent(*inputs.min_goodput_share)));
  }
  return joined(promises);
}

std::optional<Section> launch_section(const PlanAnswer& answer) {
  if (answer.mixed) {
    return Section{
        .heading = "How to start the mix", .lines = launch_of(*answer.mixed), .table = {}};
  }
  if (answer.ranked.empty() || answer.ranked.front().launch.empty()) return std::nullopt;
  return Section{.heading = "How to start the first",
                 .lines = line_by_line(answer.ranked.front().launch),
                 .table = {}};
}

std::vector<Section> plan_sections(const PlanAnswer& answer) {
  Section head{.heading = fmt::format("{} for {}", answer.inputs.scenario.deployment.model,
                                      promises_of(answer.inputs)),
               .lines = {},
               .table = {}};
  if (!answer.workload.empty()) head.lines.push_back(answer.workload);  // empty: read back
  for (std::string& line : plan_sentences(answer)) head.lines.push_back(std::move(line));
  head.lines.push_back(searched_text(answer));
  if (answer.mixed || !answer.ranked.empty()) head.table = ranked_table(answer);
  std::vector<Section> sections{std::move(head)};
  if (answer.mixed) {
    sections.push_back(mix_section(*answer.mixed));
    sections.push_back({.heading = "Margins of the mix",
                        .lines = {},
                        .table = margin_table(answer.mixed->result)});
  }
  if (!answer.ranked.empty()) {
    sections.push_back(spare_section(answer.ranked.front(), answer.mixed.has_value()));
  }
  if (answer.limits) sections.push_back(limits_section(*answer.limits));
  if (answer.limits && answer.limits->advice) sections.push_back(advice_section(*answer.limits));
  if (answer.by_hour) sections.push_back(hours_section(*answer.by_hour));
  Section rejected = rejected_section(answer);
  if (!rejected.table.rows.empty() || !rejected.lines.empty()) {
    sections.push_back(std::move(rejected));
  }
  if (!answer.every_shape.empty()) sections.push_back(explained(answer));
  return sections;
}

}  // namespace roofcast
