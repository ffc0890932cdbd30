#include "reports/pages/plan_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/io/bounded_json.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "base/wording.hpp"
#include "cli/plan/plan_document.hpp"
#include "reports/pages/figure_units.hpp"
#include "reports/pages/stored_report.hpp"
#include "reports/store_query.hpp"

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

/// "3 replicas of 1x NVIDIA L40S", as `plan` says it; an older store has it in parts.
std::string name_of(const Json& tried) {
  if (std::string title = text(tried, "title"); !title.empty()) return title;
  const Json& deployment = part(tried, "deployment");
  const auto units = static_cast<std::int64_t>(number(tried, "units").value_or(1));
  const std::string unit = text(deployment, "name");
  std::int64_t prefill = 0, decode = 0;
  for (const Json& pool : part(part(deployment, "cluster"), "pools")) {
    const auto replicas = static_cast<std::int64_t>(number(pool, "replicas").value_or(1));
    if (text(pool, "role") == "prefill") prefill += replicas;
    if (text(pool, "role") == "decode") decode += replicas;
  }
  if (prefill == 0 || decode == 0) return counted(units, "replica") + " of " + unit;
  return fmt::format("{} prefill and {} decode replicas of {}", prefill * units, decode * units,
                     unit);
}

/// Whether the load ends before the engine has filled at the breaking point, so that it seems
/// later.
bool breaks_on_few(const Json& one) {
  const auto requests = number(part(one, "result"), "requests");
  const auto needed = number(one, "capacity_requests_needed");
  return requests && needed && *requests < *needed;
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
    const auto probability = number(one, "probability");
    const bool pareto = part(one, "pareto").is_boolean() && part(one, "pareto").get<bool>();
    table.rows.push_back(
        {name_of(one), shown(number(one, "gpus"), 0), shown(number(one, "cost_usd_per_h"), 2),
         shown(number(one, "usd_per_million_output_tokens"), 2),
         shown(number(result, "ttft_p95_s"), 0, kPerSecond),
         shown(number(result, "tpot_p95_s"), 1, kPerSecond),
         probability ? as_probability(*probability) : "-",
         shown(number(one, "capacity_rate_per_s"), 2) + (breaks_on_few(one) ? " (few)" : ""),
         pareto ? "yes" : ""});
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
  std::string script;
  for (const Json& line : part(best, "launch")) {
    if (!line.is_string()) continue;
    const std::string said = line.get<std::string>();
    // Which servers the lines below are of is a remark.
    script += (script.empty() ? "" : "\n") + std::string(said.ends_with(':') ? "# " : "") + said;
  }
  if (!script.empty()) section.commands.push_back(std::move(script));
  return section;
}

/// A fate as the store names it, in words; of another version as it stands.
std::string outcome_text(const std::string& outcome) {
  for (const ShapeOutcome one :
       {ShapeOutcome::cannot_run, ShapeOutcome::does_not_fit, ShapeOutcome::too_slow,
        ShapeOutcome::beyond_limits, ShapeOutcome::searched, ShapeOutcome::more_expensive,
        ShapeOutcome::misses, ShapeOutcome::ranked}) {
    if (name_of(one) == outcome) return reason_text(one);
  }
  return outcome;
}

/// What a candidate that was simulated misses by most.
std::string miss_of(const Json& tried) {
  const Json& result = part(tried, "result");
  std::string binding = text(result, "binding");
  for (const Json& target : part(result, "targets")) {
    if (text(target, "target") != binding) continue;
    return fmt::format("{} {} of {}", binding, duration(number(target, "achieved_s").value_or(0)),
                       duration(number(target, "limit_s").value_or(0)));
  }
  return binding;
}

/// Why nothing holds: what the limits rule out, and what came nearest.
std::vector<std::string> refusal_lines(const Json& answer) {
  std::vector<std::string> lines{"Nothing that was searched holds what was promised."};
  for (const Json& loser : part(answer, "losers")) {
    if (text(loser, "fate") != name_of(ShapeOutcome::beyond_limits)) continue;
    if (text(loser, "why").empty()) continue;
    lines.push_back(fmt::format("What the limits allow rules out {}, which {}.",
                                text(part(loser, "shape"), "name"), text(loser, "why")));
  }
  for (const Json& tried : part(answer, "closest")) {
    lines.push_back(fmt::format("Closest: {}: {}.", name_of(tried), miss_of(tried)));
  }
  return lines;
}

ReportSection searched_section(const Json& answer) {
  ReportSection section{.heading = "What was searched"};
  section.lines.push_back(
      fmt::format("{} candidates, {} simulations, {} more for probabilities and breaking points.",
                  fixed(number(answer, "candidates").value_or(0), 0),
                  fixed(number(answer, "simulations").value_or(0), 0),
                  fixed(number(answer, "finalist_simulations").value_or(0), 0)));
  Table outcomes{.title = "Shapes by fate", .columns = {{"They", false}, {"Shapes"}}, .rows = {}};
  const Json& shapes = part(answer, "shapes");
  for (const auto& [outcome, count] : shapes.items()) {
    if (count.is_number())
      outcomes.rows.push_back({outcome_text(outcome), fixed(count.get<double>(), 0)});
  }
  section.tables.push_back(std::move(outcomes));
  Table rejected{.title = "Why the others lost",
                 .columns = {{"GPU", false}, {"Shape", false}, {"Fate", false}, {"Why", false}},
                 .rows = {}};
  for (const Json& loser : part(answer, "losers")) {
    rejected.rows.push_back({text(loser, "gpu"), text(part(loser, "shape"), "name"),
                             outcome_text(text(loser, "fate")), text(loser, "why")});
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
    throw Error(fmt::format("{}: plan {} did not come to its end: run the same command again",
                            store_path, id));
  }
  try {
    Json answer = parse_bounded<Json>(*found, store_path);
    if (answer.is_object()) return answer;
  } catch (const Json::exception&) {
    // as of any other text that is no object
  }
  throw Error(fmt::format("{}: the answer of plan {} is no JSON object", store_path, id));
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

/// The GPUs that were searched, what is promised, and where it is chosen.
std::vector<std::pair<std::string, std::string>> plan_facts(const RunRow& row, const Json& answer) {
  const Json& scenario = part(part(answer, "inputs"), "scenario");
  std::vector<std::string> gpus, promises;
  for (const Json& gpu : part(part(answer, "inputs"), "gpus")) {
    if (gpu.is_string()) gpus.push_back(gpu_title(gpu.get<std::string>()));
  }
  for (const Json& target : part(part(scenario, "slo"), "targets")) {
    std::string metric = text(target, "metric");
    for (char& letter : metric) {
      if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
    }
    promises.push_back(fmt::format("p{:g} {} ≤ {}", number(target, "percentile").value_or(0),
                                   metric, duration(number(target, "limit_s").value_or(0))));
  }
  std::vector<std::pair<std::string, std::string>> facts = {{"Model", row.model},
                                                            {"GPUs searched", joined(gpus)},
                                                            {"SLO", joined(promises)},
                                                            {"Engine", row.engine},
                                                            {"Seed", std::to_string(row.seed)}};
  std::erase_if(facts, [](const auto& fact) { return fact.second.empty(); });
  return facts;
}

}  // namespace

std::vector<Figure> plan_figures(const Json& answer) {
  const Json& ranked = part(answer, "ranked");
  if (!ranked.is_array() || ranked.empty()) return {};
  const Price price(ranked);
  const bool few = std::any_of(ranked.begin(), ranked.end(), breaks_on_few);
  Figure latency{.key = "plan_price_latency",
                 .title = "Price against latency",
                 .caption =
                     "Every finalist holds the SLO; lower and further left is better. What "
                     "no other beats in cost, in what it has to spare and in what it carries is "
                     "the Pareto set.",
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
      .caption = few ? "The load at which each finalist breaks. The requests of some end before "
                       "their engine has filled there (few): a load that lasts may break them "
                       "sooner."
                     : "The greatest load that each finalist still holds: its breaking point.",
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
  report.facts = plan_facts(run.row, answer);
  report.sections.clear();
  if (part(answer, "holds").is_boolean()) report.verdict = part(answer, "holds").get<bool>();
  report.sections.push_back({.heading = "What it costs", .figures = plan_figures(answer)});
  if (ranked.is_array() && !ranked.empty()) {
    report.sections[0].tables.push_back(finalist_table(ranked));
    report.sections.push_back(spare_section(ranked.front()));
    report.sections.push_back(launch_section(ranked.front()));
  } else {
    report.sections[0].heading = "Why nothing holds";
    report.sections[0].lines = refusal_lines(answer);
  }
  report.sections.push_back(searched_section(answer));
  report.sections.push_back(input_section(run.row));
  report.machine["plan"] = answer;
  return report;
}

}  // namespace roofcast
