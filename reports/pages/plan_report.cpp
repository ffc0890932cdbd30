#include "reports/pages/run_reports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <variant>

#include "base/error.hpp"
#include "base/io/bounded_json.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "base/wording.hpp"
#include "reports/answers/plan_sections.hpp"
#include "reports/pages/figures/figure_units.hpp"
#include "reports/pages/stored_report.hpp"
#include "reports/store_query.hpp"
#include "roofcast/plan_words.hpp"
#include "simulator/results/figures.hpp"

namespace roofcast {
namespace {

constexpr TimeUnit kMilliseconds{"ms", 1e-3};

/// Price of a finalist: dollars if all have a price, else GPUs.
struct Price {
  bool dollars = false;

  explicit Price(const std::vector<RankedPlan>& ranked)
      : dollars(std::all_of(ranked.begin(), ranked.end(), [](const RankedPlan& one) {
          return one.cost.dollars_per_hour.has_value();
        })) {}
  double of(const RankedPlan& one) const {
    return dollars ? *one.cost.dollars_per_hour : static_cast<double>(one.gpus);
  }
  const char* title() const { return dollars ? "price ($ per hour)" : "GPUs"; }
};

/// A number of a finalist to draw, and the text of its label.
struct DrawnPlans {
  double (*value)(const RankedPlan&);
  std::string (*label)(double);
};

/// One series for each finalist, so that the legend names every point.
std::vector<FigureSeries> series_of(const std::vector<RankedPlan>& ranked,
                                    const DrawnPlans& drawn) {
  const Price price(ranked);
  std::vector<FigureSeries> series;
  for (const RankedPlan& one : ranked) {
    const double x = price.of(one), y = drawn.value(one);
    const char* role = &one == ranked.data() ? " (chosen)" : one.pareto ? "" : " (dominated)";
    const std::string cost =
        price.dollars ? "$" + fixed(x, 2) + " per hour" : fixed(x, 0) + " GPUs";
    series.push_back(
        {.name = one.title + role,
         .mark = Mark::points,
         .points = {{.x = x,
                     .y = y,
                     .label = fmt::format("{}: {}, {}", one.title, cost, drawn.label(y))}}});
  }
  return series;
}

std::vector<ReportTile> tiles_of(const RankedPlan& best) {
  std::vector<ReportTile> tiles;
  if (best.cost.dollars_per_hour) {
    ReportTile tile{.name = "Cost",
                    .value = "$" + fixed(*best.cost.dollars_per_hour, 2) + " per hour"};
    if (const auto& each = best.cost.dollars_per_million_output_tokens) {
      tile.note = fmt::format("${} per million output tokens", amount(*each, 2));
    }
    tiles.push_back(std::move(tile));
  }
  tiles.push_back({.name = "GPUs", .value = with_separators(best.gpus), .note = best.title});
  tiles.push_back({.name = "SLO met",
                   .value = as_probability(best.confidence.probability),
                   .note = "probability"});
  const SloVerdict& verdict = best.result.verdict;
  tiles.push_back(
      {.name = "Margin",
       .value = (verdict.worst_margin > 0 ? "+" : "") + as_percent(verdict.worst_margin, 0),
       .note = binding_words(verdict)});
  if (best.capacity_factor) {
    tiles.push_back({.name = "Breaks at",
                     .value = fixed(best.capacity_rate_per_s, 2) + " requests/s",
                     .note = fixed(*best.capacity_factor, 2) + " times the load" +
                             (breaks_on_few(best) ? "; too few requests to be sure" : "")});
  }
  return tiles;
}

/// The lines of the answer's commands as one script.
ReportSection script_section(const Section& launch) {
  ReportSection section{.heading = launch.heading};
  std::string script;
  for (const std::string& line : launch.lines) {
    // A line that names the server of the lines below becomes a comment.
    script += (script.empty() ? "" : "\n") + std::string(line.ends_with(':') ? "# " : "") + line;
  }
  section.commands.push_back(std::move(script));
  return section;
}

Json stored_answer(const std::string& store_path, std::int64_t id) {
  const QueryAnswer rows = query_store(
      store_path,
      fmt::format("SELECT answer_json FROM plans WHERE run_id = {} AND complete = 1", id));
  const std::string* found =
      rows.rows.empty() ? nullptr : std::get_if<std::string>(&rows.rows.front().front());
  if (found == nullptr || found->empty()) {
    throw Error(
        fmt::format("{}: plan {} is unfinished: run the same command again", store_path, id));
  }
  try {
    Json answer = parse_bounded<Json>(*found, store_path);
    if (answer.is_object()) return answer;
  } catch (const Json::exception&) {
    // reported below, like any other text that is not an object
  }
  throw Error(fmt::format("{}: the answer of plan {} is not a JSON object", store_path, id));
}

/// Draws the scenario's p95 limits on a metric.
void mark_limits(Figure& figure, const RankedPlan& best, const char* name, const TimeUnit& unit) {
  for (const TargetMargin& target : best.result.verdict.margins) {
    if (lower(target.what) != lower(name)) continue;  // once stored as "p95 ttft"
    figure.marked.push_back(
        {.axis = MarkedValue::Across::y,
         .value = unit.of(target.limit_s),
         .name = fmt::format("SLO: {} ≤ {}", name, limit_words(Seconds{target.limit_s}))});
  }
}

/// "2,000 requests at 10 requests/s, input 1024, output 128"; a trace by its name, as reports of a
/// plan open no files.
std::string load_words(const Scenario& scenario) {
  if (const auto* trace = std::get_if<TraceWorkload>(&scenario.workload)) {
    return "trace " + trace->path;
  }
  const auto& load = std::get<SyntheticWorkload>(scenario.workload);
  const char* noun = load.sessions ? "session" : "request";
  std::string rate = " at varying rates";
  if (std::holds_alternative<SteadyRate>(load.pattern)) {
    rate = std::isinf(load.request_rate) ? " all at once"
                                         : fmt::format(" at {:g} {}s/s", load.request_rate, noun);
  }
  if (scenario.max_concurrency) rate += fmt::format(", {} in flight", *scenario.max_concurrency);
  return fmt::format("{}{}, input {}, output {}", counted(load.num_prompts, noun), rate,
                     to_text(load.input), to_text(load.output));
}

/// The GPUs that were searched, the load, the SLO, the chosen engine and the seed.
std::vector<std::pair<std::string, std::string>> plan_facts(const RunRow& row,
                                                            const PlanInputs& inputs) {
  std::vector<std::string> gpus;
  for (const std::string& gpu : inputs.gpus) gpus.push_back(gpu_title(gpu));
  std::vector<std::pair<std::string, std::string>> facts = {{"Model", row.model},
                                                            {"GPUs searched", joined(gpus)},
                                                            {"Load", load_words(inputs.scenario)},
                                                            {"SLO", promises_of(inputs)},
                                                            {"Engine", row.engine},
                                                            {"Seed", std::to_string(row.seed)}};
  std::erase_if(facts, [](const auto& fact) { return fact.second.empty(); });
  return facts;
}

/// Price against latency, and against each finalist's capacity, with the chosen one marked.
/// Precondition: there are finalists.
std::vector<Figure> plan_figures(const PlanAnswer& answer) {
  const std::vector<RankedPlan>& ranked = answer.ranked;
  const Price price(ranked);
  const bool few = std::any_of(ranked.begin(), ranked.end(), breaks_on_few);
  Figure latency{.key = "plan_price_latency",
                 .title = "Price against latency",
                 .caption =
                     "Every finalist meets the SLO; lower and further left is better. Another "
                     "finalist beats a "
                     "dominated one in cost, margin and capacity at once.",
                 .x = {.title = price.title(), .low = 0},
                 .y = {.title = "TTFT p95 (ms)", .low = 0}};
  latency.series = series_of(
      ranked, {[](const RankedPlan& one) { return kMilliseconds.of(one.result.ttft_p95_s); },
               [](double value) { return "TTFT p95 " + fixed(value, 0) + " ms"; }});
  mark_limits(latency, ranked.front(), "p95 TTFT", kMilliseconds);
  Figure capacity{
      .key = "plan_price_capacity",
      .title = "Price against capacity",
      .caption =
          few ? "The load at which each finalist breaks. For some (few), the requests end before "
                "their engine has filled: a sustained load may break them sooner."
              : "The highest load at which each finalist still meets the SLO: its breaking point.",
      .x = {.title = price.title(), .low = 0},
      .y = {.title = "breaking point (requests/s)", .low = 0}};
  capacity.series = series_of(
      ranked, {[](const RankedPlan& one) { return one.capacity_rate_per_s; },
               [](double value) { return "breaks at " + fixed(value, 2) + " requests/s"; }});
  return {std::move(latency), std::move(capacity)};
}

}  // namespace

Report plan_report(const std::string& store_path, const Run& run) {
  const Json json = stored_answer(store_path, run.row.id);
  Report report = stored_report(run);
  report.title = "Plan for " + run.row.model;
  report.machine["plan"] = json;
  PlanAnswer answer;
  try {
    answer = plan_answer_from_json(json);
  } catch (const Error& error) {
    report.sections.front().lines.push_back(unreadable_text(error, run.row));
    return report;
  }
  report.answer = answer.headline;
  report.facts = plan_facts(run.row, answer.inputs);
  report.verdict = answer.holds;
  report.sections.clear();
  if (!answer.ranked.empty()) {
    report.tiles = tiles_of(answer.ranked.front());
    report.sections.push_back({.heading = "Cost", .figures = plan_figures(answer)});
  }
  for (Section& section : plan_sections(answer)) {
    report.sections.push_back(report_section(std::move(section)));
  }
  if (const auto launch = launch_section(answer)) {
    report.sections.push_back(script_section(*launch));
  }
  report.sections.push_back(input_section(run.row));
  return report;
}

}  // namespace roofcast
