#include "cli/report/plan_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "cli/report/figure_units.hpp"
#include "cli/report/simulation_report.hpp"
#include "model/error.hpp"
#include "model/io/json_depth.hpp"
#include "reports/numbers.hpp"
#include "reports/store_query.hpp"
#include "simulator/wording.hpp"

namespace roofcast {
namespace {

constexpr TimeUnit kMilliseconds{"ms", 1e-3};

std::optional<double> number(const Json& json, const char* key) {
  if (!json.is_object() || !json.contains(key) || !json[key].is_number()) return std::nullopt;
  return json[key].get<double>();
}

std::string text(const Json& json, const char* key) {
  if (!json.is_object() || !json.contains(key) || !json[key].is_string()) return "";
  return json[key].get<std::string>();
}

const Json& part(const Json& json, const char* key) {
  static const Json kNothing;
  return json.is_object() && json.contains(key) ? json[key] : kNothing;
}

/// "3x h100-sxm TP 2"
std::string name_of(const Json& finalist) {
  return fmt::format("{} x {}", number(finalist, "units").value_or(1),
                     text(part(finalist, "deployment"), "name"));
}

/// What a finalist costs: dollars where all have a price, else GPUs.
struct Price {
  bool dollars = false;

  explicit Price(const Json& ranked)
      : dollars(std::all_of(ranked.begin(), ranked.end(), [](const Json& one) {
          return number(one, "cost_usd_per_h").has_value();
        })) {}
  std::optional<double> of(const Json& one) const {
    return number(one, dollars ? "cost_usd_per_h" : "gpus");
  }
  const char* title() const { return dollars ? "price ($ per hour)" : "GPUs"; }
};

/// A number of a finalist to draw, and as its label says it.
struct Drawn {
  std::optional<double> (*value)(const Json&);
  std::string (*label)(double);
};

/// Chosen, in the Pareto set, and all others, each a series.
std::vector<FigureSeries> series_of(const Json& ranked, const Drawn& drawn) {
  const Price price(ranked);
  std::vector<FigureSeries> series{{.name = "chosen", .mark = Mark::points},
                                   {.name = "in the Pareto set", .mark = Mark::points},
                                   {.name = "beaten by another", .mark = Mark::points}};
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    const Json& one = ranked[i];
    const auto x = price.of(one), y = drawn.value(one);
    if (!x || !y) continue;
    const bool pareto = part(one, "pareto").is_boolean() && part(one, "pareto").get<bool>();
    series[i == 0   ? 0
           : pareto ? 1
                    : 2]
        .points.push_back({.x = *x,
                           .y = *y,
                           .label = fmt::format(
                               "{}: {}{}, {}", name_of(one), price.dollars ? "$" : "",
                               price.dollars ? fixed(*x, 2) + " per hour" : fixed(*x, 0) + " GPUs",
                               drawn.label(*y))});
  }
  std::erase_if(series, [](const FigureSeries& one) { return one.points.empty(); });
  return series;
}

/// Never "1": what is left out of the probability is more than that.
std::string probability_text(const std::optional<double>& probability) {
  constexpr double kNearly = 0.999;
  if (!probability) return "-";
  if (*probability > kNearly) return "over 0.999";
  return *probability < 1 - kNearly ? "under 0.001" : fixed(*probability, 3);
}

Table finalist_table(const Json& ranked) {
  Table table{.title = "Finalists",
              .columns = {{"Deployment", false},
                          {"GPUs"},
                          {"$/h"},
                          {"$ per million output tokens"},
                          {"TTFT p95 (ms)"},
                          {"TPOT p95 (ms)"},
                          {"P(holds)"},
                          {"Breaks at (requests/s)"},
                          {"Pareto", false}},
              .rows = {}};
  const auto shown = [](const std::optional<double>& value, int decimals, double scale = 1) {
    return value ? fixed(*value * scale, decimals) : std::string("-");
  };
  constexpr double kPerSecond = 1e3;
  for (const Json& one : ranked) {
    const Json& result = part(one, "result");
    const bool pareto = part(one, "pareto").is_boolean() && part(one, "pareto").get<bool>();
    table.rows.push_back({name_of(one), shown(number(one, "gpus"), 0),
                          shown(number(one, "cost_usd_per_h"), 2),
                          shown(number(one, "usd_per_million_output_tokens"), 2),
                          shown(number(result, "ttft_p95_s"), 0, kPerSecond),
                          shown(number(result, "tpot_p95_s"), 1, kPerSecond),
                          probability_text(number(one, "probability")),
                          shown(number(one, "capacity_rate_per_s"), 2), pareto ? "yes" : ""});
  }
  return table;
}

/// What would have to be off for the verdict on the first to turn, and its margins.
ReportSection spare_section(const Json& best) {
  ReportSection section{.heading = "What the first has to spare"};
  for (const Json& cause : part(best, "causes")) {
    const auto flips = number(cause, "flips_at_deviations");
    if (!flips) continue;
    section.lines.push_back(fmt::format("{}: {:+.1f} standard deviations alone turn the verdict.",
                                        text(cause, "cause"), *flips));
  }
  Table table{
      .title = "", .columns = {{"Target", false}, {"Limit"}, {"Achieved"}, {"Margin"}}, .rows = {}};
  for (const Json& target : part(part(best, "result"), "targets")) {
    table.rows.push_back({text(target, "target"),
                          as_time(Seconds{number(target, "limit_s").value_or(0)}),
                          as_time(Seconds{number(target, "achieved_s").value_or(0)}),
                          as_percent(number(target, "margin").value_or(0), 0)});
  }
  section.tables.push_back(std::move(table));
  return section;
}

ReportSection launch_section(const Json& best) {
  ReportSection section{.heading = "How to run the first"};
  for (const Json& line : part(best, "launch")) {
    if (line.is_string()) section.commands.push_back(line.get<std::string>());
  }
  return section;
}

ReportSection searched_section(const Json& answer) {
  ReportSection section{.heading = "What was searched"};
  section.lines.push_back(
      fmt::format("{} candidates, {} simulations, {} more for probabilities and breaking points.",
                  fixed(number(answer, "candidates").value_or(0), 0),
                  fixed(number(answer, "simulations").value_or(0), 0),
                  fixed(number(answer, "finalist_simulations").value_or(0), 0)));
  Table fates{.title = "Shapes by fate", .columns = {{"Fate", false}, {"Shapes"}}, .rows = {}};
  const Json& shapes = part(answer, "shapes");
  for (const auto& [fate, count] : shapes.items()) {
    if (count.is_number()) fates.rows.push_back({fate, fixed(count.get<double>(), 0)});
  }
  section.tables.push_back(std::move(fates));
  Table losers{.title = "Why the others lost",
               .columns = {{"GPU", false}, {"Shape", false}, {"Fate", false}, {"Why", false}},
               .rows = {}};
  for (const Json& loser : part(answer, "losers")) {
    losers.rows.push_back({text(loser, "gpu"), text(part(loser, "shape"), "name"),
                           text(loser, "fate"), text(loser, "why")});
  }
  if (!losers.rows.empty()) section.tables.push_back(std::move(losers));
  return section;
}

Json stored_answer(const std::string& store_path, std::int64_t id) {
  const QueryAnswer rows = query_store(
      store_path,
      fmt::format("SELECT answer_json FROM plans WHERE run_id = {} AND complete = 1", id));
  const std::string* found =
      rows.rows.empty() ? nullptr : std::get_if<std::string>(&rows.rows.front().front());
  if (found == nullptr || found->empty()) {
    throw Error(fmt::format("{}: plan {} did not come to its end: run the same command again",
                            store_path, id));
  }
  Json answer = Json::parse(*found, bounded_depth<Json>(store_path), false);
  if (!answer.is_object()) {
    throw Error(fmt::format("{}: the answer of plan {} is no JSON object", store_path, id));
  }
  return answer;
}

/// Limits of the plan's scenario on a metric at p95, drawn across.
void mark_limits(Figure& figure, const Json& ranked, const char* target_name,
                 const TimeUnit& unit) {
  for (const Json& target : part(part(ranked.front(), "result"), "targets")) {
    if (text(target, "target") != target_name) continue;
    const double limit = number(target, "limit_s").value_or(0);
    figure.marked.push_back(
        {.axis = MarkedValue::Across::y,
         .value = unit.of(limit),
         .name = fmt::format("SLO: {} ≤ {}", target_name, as_time(Seconds{limit}))});
  }
}

}  // namespace

std::vector<Figure> plan_figures(const Json& answer) {
  const Json& ranked = part(answer, "ranked");
  if (!ranked.is_array() || ranked.empty()) return {};
  const Price price(ranked);
  Figure latency{.key = "plan_price_latency",
                 .title = "Price against latency",
                 .caption =
                     "Every finalist holds the SLO; lower and further left is better. What "
                     "no other beats in price and in what it has to spare is the Pareto set.",
                 .x = {.title = price.title(), .low = 0},
                 .y = {.title = "TTFT p95 (ms)", .low = 0}};
  latency.series =
      series_of(ranked, {[](const Json& one) -> std::optional<double> {
                           const auto ttft = number(part(one, "result"), "ttft_p95_s");
                           if (!ttft) return std::nullopt;
                           return kMilliseconds.of(*ttft);
                         },
                         [](double value) { return "TTFT p95 " + fixed(value, 0) + " ms"; }});
  mark_limits(latency, ranked, "p95 ttft", kMilliseconds);
  Figure capacity{
      .key = "plan_price_capacity",
      .title = "Price against what each carries",
      .caption = "The greatest load that each finalist still holds: its breaking point.",
      .x = {.title = price.title(), .low = 0},
      .y = {.title = "breaking point (requests/s)", .low = 0}};
  capacity.series = series_of(
      ranked, {[](const Json& one) { return number(one, "capacity_rate_per_s"); },
               [](double value) { return "breaks at " + fixed(value, 2) + " requests/s"; }});
  std::vector<Figure> figures;
  for (Figure* figure : {&latency, &capacity}) {
    if (!figure->series.empty()) figures.push_back(std::move(*figure));
  }
  return figures;
}

Report plan_report(const std::string& store_path, const Run& run) {
  const Json answer = stored_answer(store_path, run.row.id);
  const Json& ranked = part(answer, "ranked");
  Report report = stored_report(run);
  report.title = "Plan for " + run.row.model;
  report.answer = text(answer, "answer");
  report.sections.clear();
  if (part(answer, "holds").is_boolean()) report.verdict = part(answer, "holds").get<bool>();
  report.sections.push_back({.heading = "What it costs", .figures = plan_figures(answer)});
  if (ranked.is_array() && !ranked.empty()) {
    report.sections[0].tables.push_back(finalist_table(ranked));
    report.sections.push_back(spare_section(ranked.front()));
    report.sections.push_back(launch_section(ranked.front()));
  } else {
    report.sections[0].lines.emplace_back("Nothing that was searched holds what was promised.");
  }
  report.sections.push_back(searched_section(answer));
  report.sections.push_back(input_section(run.row));
  report.machine["plan"] = answer;
  return report;
}

}  // namespace roofcast
