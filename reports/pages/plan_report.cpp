#include "reports/pages/run_reports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/io/bounded_json.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "reports/pages/cost_cells.hpp"
#include "reports/pages/figure_units.hpp"
#include "reports/pages/limits_section.hpp"
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
struct Drawn {
  double (*value)(const RankedPlan&);
  std::string (*label)(double);
};

/// One series for each finalist, so that the legend names every point.
std::vector<FigureSeries> series_of(const std::vector<RankedPlan>& ranked, const Drawn& drawn) {
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
      tile.note = fmt::format("${} per million output tokens", fixed(*each, 2));
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
                     .note = fixed(*best.capacity_factor, 2) + " times the load"});
  }
  return tiles;
}

Table finalist_table(const std::vector<RankedPlan>& ranked) {
  Table table{.title = "Finalists", .columns = {{"Deployment", false}, {"GPUs"}}, .rows = {}};
  add_cost_columns(table);
  for (const char* title :
       {"TTFT p95 (ms)", "TPOT p95 (ms)", "MFU", "MBU", "P(SLO met)", "Breaks at (requests/s)"}) {
    table.columns.push_back({title});
  }
  table.columns.push_back({"Pareto", false});
  for (const RankedPlan& one : ranked) {
    std::vector<Cell> cells{one.title, printed::fixed(static_cast<double>(one.gpus), 0)};
    add_cost_cells(cells, one.cost);
    for (Cell cell : std::initializer_list<Cell>{
             printed::fixed(kMilliseconds.of(one.result.ttft_p95_s), 0),
             printed::fixed(kMilliseconds.of(one.result.tpot_p95_s), 1), mfu_cell(one.utilisation),
             mbu_cell(one.utilisation), printed::probability(one.confidence.probability),
             followed(printed::fixed(one.capacity_rate_per_s, 2),
                      breaks_on_few(one) ? " (few)" : ""),
             one.pareto ? "yes" : ""}) {
      cells.push_back(std::move(cell));
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

/// The pools of a mixed fleet, and how to start them.
ReportSection pools_section(const MixedPlan& mix) {
  ReportSection section{.heading = "Pools of the mix",
                        .lines = missed_by_pools(mix),
                        .tables = {pool_table(mix), margin_table(mix.result)}};
  for (const MixedPool& pool : mix.pools) {
    section.lines.push_back(pool.name + ":");
    section.lines.insert(section.lines.end(), pool.launch.begin(), pool.launch.end());
  }
  return section;
}

/// The errors that would reverse the verdict on the first, and its margins.
ReportSection spare_section(const RankedPlan& best) {
  return {.heading = "Margins of the first",
          .lines = causes_of(best),
          .tables = {margin_table(best.result)}};
}

ReportSection launch_section(const RankedPlan& best) {
  ReportSection section{.heading = "How to start the first"};
  std::string script;
  for (const std::string& line : best.launch) {
    // A line that names the server of the lines below becomes a comment.
    script += (script.empty() ? "" : "\n") + std::string(line.ends_with(':') ? "# " : "") + line;
  }
  if (!script.empty()) section.commands.push_back(std::move(script));
  return section;
}

/// Why nothing meets the SLO: what the limits rule out, and the closest candidates.
std::vector<std::string> refusal_lines(const PlanAnswer& answer) {
  std::vector<std::string> lines{"No deployment that was searched meets the SLO."};
  for (const RejectedPlan& one : answer.rejected) {
    if (one.outcome != ShapeOutcome::beyond_limits || one.why.empty()) continue;
    lines.push_back(fmt::format("The limits rule out {}, which {}.", one.shape.name, one.why));
  }
  for (const PlanCandidate& one : answer.closest) {
    lines.push_back(fmt::format("Closest: {}: {}.", one.title, miss_of(one.result)));
  }
  return lines;
}

ReportSection searched_section(const PlanAnswer& answer) {
  ReportSection section{.heading = "Search"};
  const auto count = [](std::int64_t number) { return fixed(static_cast<double>(number), 0); };
  section.lines.push_back(fmt::format(
      "{} candidates, {} simulations, {} more for probabilities and breaking points.",
      count(answer.candidates), count(answer.simulations), count(answer.finalist_simulations)));
  Table outcomes{
      .title = "Shapes by outcome", .columns = {{"Outcome", false}, {"Shapes"}}, .rows = {}};
  for (const auto& [outcome, shapes] : answer.shapes) {
    outcomes.rows.push_back({reason_text(outcome), count(shapes)});
  }
  section.tables.push_back(std::move(outcomes));
  Table rejected{.title = "The nearest of those that were rejected",
                 .columns = {{"Shape", false},
                             {"Replicas"},
                             {"TTFT p95"},
                             {"TPOT p95"},
                             {"SLO", false},
                             {"Outcome", false},
                             {"Why", false}},
                 .rows = {}};
  for (const RejectedPlan& one : answer.rejected) {
    const auto latency = [&](double CandidateFigures::*time) {
      return one.result ? as_time(Seconds{(*one.result).*time}) : "not simulated";
    };
    rejected.rows.push_back({one.shape.name, one.units ? count(*one.units) : "",
                             latency(&CandidateFigures::ttft_p95_s),
                             latency(&CandidateFigures::tpot_p95_s),
                             !one.result                 ? ""
                             : one.result->verdict.holds ? "met"
                                                         : "missed",
                             reason_text(one.outcome), one.why});
  }
  if (!rejected.rows.empty()) section.tables.push_back(std::move(rejected));
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
         .name = fmt::format("SLO: {} ≤ {}", name, as_time(Seconds{target.limit_s}))});
  }
}

/// The GPUs that were searched, the SLO, the chosen engine and the seed.
std::vector<std::pair<std::string, std::string>> plan_facts(const RunRow& row,
                                                            const PlanInputs& inputs) {
  std::vector<std::string> gpus, promises;
  for (const std::string& gpu : inputs.gpus) gpus.push_back(gpu_title(gpu));
  for (const PercentileTarget& target : inputs.scenario.slo.targets) {
    promises.push_back(words_of(target));
  }
  std::vector<std::pair<std::string, std::string>> facts = {{"Model", row.model},
                                                            {"GPUs searched", joined(gpus)},
                                                            {"SLO", joined(promises)},
                                                            {"Engine", row.engine},
                                                            {"Seed", std::to_string(row.seed)}};
  std::erase_if(facts, [](const auto& fact) { return fact.second.empty(); });
  return facts;
}

/// Price against latency, and against each finalist's capacity, with the chosen one marked. Empty
/// without finalists.
std::vector<Figure> plan_figures(const PlanAnswer& answer) {
  const std::vector<RankedPlan>& ranked = answer.ranked;
  if (ranked.empty()) return {};
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
  report.sections = {{.heading = "Cost", .figures = plan_figures(answer)}};
  if (answer.mixed) report.sections.push_back(pools_section(*answer.mixed));
  if (!answer.ranked.empty()) {
    report.tiles = tiles_of(answer.ranked.front());
    report.sections[0].tables.push_back(finalist_table(answer.ranked));
    report.sections.push_back(spare_section(answer.ranked.front()));
    report.sections.push_back(launch_section(answer.ranked.front()));
  } else {
    report.sections[0].heading = "Why nothing meets the SLO";
    report.sections[0].lines = refusal_lines(answer);
  }
  report.sections.push_back(searched_section(answer));
  report.sections.push_back(input_section(run.row));
  return report;
}

}  // namespace roofcast
