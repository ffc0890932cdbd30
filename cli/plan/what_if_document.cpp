#include "cli/plan/what_if_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "cli/plan/limits_section.hpp"
#include "roofcast/envelope.hpp"
#include "simulator/io/scenario_reader.hpp"

namespace roofcast {
namespace {

bool is_time(const MetricName& metric) {
  return metric.name.ends_with("_s") && !metric.name.ends_with("_per_s");
}

bool is_money(const MetricName& metric) { return metric.name.starts_with("cost_"); }

std::string name_of(const WhatIfRow& row) {
  return row.variant.settings.empty() ? "baseline" : to_text(row.variant.settings);
}

/// "holds", "holds in 3 of 5", "saturated"; without an SLO whether the engine keeps up.
std::string verdict_of(const WhatIfRow& row, bool promised) {
  const char* good = promised ? "holds" : "keeps up";
  if (row.held == row.runs) return good;
  if (row.held > 0) return fmt::format("{} in {} of {}", good, row.held, row.runs);
  if (row.saturated == row.runs) return "saturated";
  const char* bad = promised ? "MISSED" : "not all served";
  if (row.saturated == 0) return bad;
  return fmt::format("{}, saturated in {} of {}", bad, row.saturated, row.runs);
}

bool is_promised(const Slo& slo) { return !slo.targets.empty() || !slo.classes.empty(); }

const MetricRow* metric_of(const WhatIfRow& row, const std::string& name) {
  const auto found = std::find_if(row.metrics.begin(), row.metrics.end(),
                                  [&](const MetricRow& one) { return one.name == name; });
  return found == row.metrics.end() ? nullptr : &*found;
}

std::string dollars(const WhatIfRow& row, const std::string& name) {
  const MetricRow* metric = metric_of(row, name);
  return metric == nullptr ? "-" : fixed(metric->value, 2);
}

// ---- for people

/// Costs stand in every table, once.
std::vector<MetricName> unasked_costs(const WhatIfAnswer& answer) {
  std::vector<MetricName> costs;
  for (const char* name : {"cost_usd_per_h", "cost_usd_per_million_output_tokens"}) {
    const MetricName cost{name};
    const auto asked = std::find(answer.metrics.begin(), answer.metrics.end(), cost);
    if (asked == answer.metrics.end()) costs.push_back(cost);
  }
  return costs;
}

Table variant_table(const WhatIfAnswer& answer) {
  Table table{.title = "Variants", .columns = {{"Variant", false}}, .rows = {}};
  for (const MetricName& metric : answer.metrics) table.columns.push_back({title_of(metric)});
  const bool promised = is_promised(answer.rows.front().variant.scenario.slo);
  table.columns.push_back({promised ? "SLO" : "Load", false});
  const std::vector<MetricName> costs = unasked_costs(answer);
  for (const MetricName& cost : costs) table.columns.push_back({title_of(cost)});
  for (const WhatIfRow& row : answer.rows) {
    std::vector<std::string> cells = {name_of(row)};
    for (std::size_t i = 0; i < answer.metrics.size(); ++i) {
      const std::optional<double>& value = row.figures[i].value;
      cells.push_back(value ? metric_text(answer.metrics[i], *value) : "-");
    }
    cells.push_back(row.reason.empty() ? verdict_of(row, promised) : "no answer");
    for (const MetricName& cost : costs) cells.push_back(dollars(row, cost.name));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

/// Difference over the baseline's value; empty where that is zero or absent.
std::string relative_text(const std::optional<double>& value, double difference) {
  if (!value) return "";
  const double before = *value - difference;
  if (before == 0) return "";
  return fmt::format("{:+.1f} %", 100 * difference / std::abs(before));
}

std::vector<std::string> difference_cells(const MetricName& metric, const WhatIfFigure& figure) {
  if (!figure.value || !figure.difference) return {"-", "", "", ""};
  const Difference& difference = *figure.difference;
  std::string interval = "-";
  std::string significant = "-";
  if (difference.low) {
    interval = fmt::format("{} to {}", difference_text(metric, *difference.low),
                           difference_text(metric, *difference.high));
    significant = difference.significant() ? "yes" : "no";
  }
  return {difference_text(metric, difference.mean), relative_text(figure.value, difference.mean),
          interval, significant};
}

Table difference_table(const WhatIfAnswer& answer) {
  Table table{.title = "Against the baseline",
              .columns = {{"Variant", false},
                          {"Metric", false},
                          {"Difference"},
                          {"Relative"},
                          {"95 % interval"},
                          {"Significant", false}},
              .rows = {}};
  for (const WhatIfRow& row : answer.rows) {
    if (row.variant.settings.empty() || !row.reason.empty()) continue;
    for (std::size_t i = 0; i < answer.metrics.size(); ++i) {
      std::vector<std::string> cells = {name_of(row), title_of(answer.metrics[i])};
      const auto rest = difference_cells(answer.metrics[i], row.figures[i]);
      cells.insert(cells.end(), rest.begin(), rest.end());
      table.rows.push_back(std::move(cells));
    }
  }
  return table;
}

// ---- limits

/// Kinds of limits that some variant has, in their order.
std::vector<LimitKind> kinds_of(const WhatIfAnswer& answer) {
  std::vector<LimitKind> kinds;
  for (const WhatIfRow& row : answer.rows) {
    if (!row.limits) continue;
    for (const LimitGain& gain : row.limits->gains) kinds.push_back(gain.use.kind);
  }
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  return kinds;
}

std::string gain_of(const LimitReport& report, LimitKind kind) {
  for (const LimitGain& gain : report.gains) {
    if (gain.use.kind == kind) return gain_text(gain.gain);
  }
  return "-";
}

/// Which limit binds, variant by variant: of the first seed.
Section limits_of(const WhatIfAnswer& answer) {
  const std::vector<LimitKind> kinds = kinds_of(answer);
  Section section{.heading = "Which limit binds",
                  .lines = {"What changes with a tenth more of each (of queueing: with evenly "
                            "spaced arrivals), in the latency that is nearest to failing."},
                  .table = {.title = "",
                            .columns = {{"Variant", false}, {"Binds", false}, {"Latency", false}},
                            .rows = {}}};
  for (const LimitKind kind : kinds) section.table.columns.push_back({title_of(kind)});
  for (const WhatIfRow& row : answer.rows) {
    if (!row.limits) continue;
    const LimitReport& report = *row.limits;
    std::vector<std::string> cells = {name_of(row),
                                      report.binding ? title_of(*report.binding) : "none by itself",
                                      yardstick_title(report)};
    for (const LimitKind kind : kinds) cells.push_back(gain_of(report, kind));
    section.table.rows.push_back(std::move(cells));
  }
  return section;
}

/// A bar of eighths of a column, the longest kBarColumns.
std::string bar(double share) {
  constexpr int kBarColumns = 30;
  constexpr int kEighths = 8;
  static constexpr const char* kParts[kEighths] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(std::lround(share * kBarColumns * kEighths));
  std::string text;
  for (int i = 0; i < eighths / kEighths; ++i) text += "█";
  return text + kParts[eighths % kEighths];
}

/// One metric over the variants, a bar each.
Section curve_of(const WhatIfAnswer& answer, std::size_t metric) {
  Section section{.heading = title_of(answer.metrics[metric]), .lines = {}, .table = {}};
  double max = 0;
  std::size_t widest = 0;
  for (const WhatIfRow& row : answer.rows) {
    max = std::max(max, row.figures[metric].value.value_or(0));
    widest = std::max(widest, display_width(name_of(row)));
  }
  for (const WhatIfRow& row : answer.rows) {
    const std::optional<double>& value = row.figures[metric].value;
    const std::string name = name_of(row);
    const std::string line =
        name + std::string(widest - display_width(name) + 2, ' ') +
        (value ? fmt::format("{} {}", bar(max > 0 ? std::max(0.0, *value) / max : 0),
                             metric_text(answer.metrics[metric], *value))
               : std::string("-"));
    section.lines.push_back(line);
  }
  return section;
}

std::string method_of(const WhatIfAnswer& answer) {
  if (answer.by_blocks) {
    return fmt::format(
        "The trace is the same whatever the seed, so each variant ran once. Intervals leave out "
        "each of {} blocks of its requests in turn: what hangs on parts of this trace, not how "
        "another day would fare.",
        kBlocks);
  }
  if (answer.seeds == 1) return "One seed: nothing tells a difference from chance (--seeds 5).";
  const std::uint64_t first = answer.rows.front().variant.scenario.seed;
  return fmt::format(
      "Means over {} seeds ({} to {}); a seed gives every variant the same arrivals and lengths, "
      "and differences are taken within it. Intervals are Student's, of 95 % each by itself: of "
      "20 comparisons without effect one looks significant.",
      answer.seeds, first, first + static_cast<std::uint64_t>(answer.seeds) - 1);
}

/// Variants without figures, and why.
std::vector<std::string> reasons_of(const WhatIfAnswer& answer) {
  std::vector<std::string> lines;
  for (const WhatIfRow& row : answer.rows) {
    if (!row.reason.empty()) lines.push_back(fmt::format("{}: {}", name_of(row), row.reason));
  }
  return lines;
}

std::vector<std::string> notes_of(const WhatIfAnswer& answer) {
  std::vector<std::string> notes;
  for (const WhatIfRow& row : answer.rows) {
    const bool shown = row.reason.empty() && !row.variant.settings.empty();
    if (!shown || answer.rows.front().metrics.empty()) continue;
    const bool alike =
        std::equal(row.metrics.begin(), row.metrics.end(), answer.rows.front().metrics.begin(),
                   answer.rows.front().metrics.end(), [](const MetricRow& a, const MetricRow& b) {
                     return a.name == b.name && a.statistic == b.statistic && a.value == b.value;
                   });
    if (alike) notes.push_back(name_of(row) + ": no figure differs from the baseline's");
  }
  for (const WhatIfRow& row : answer.rows) {
    if (row.reason.empty() && metric_of(row, "cost_usd_per_h") == nullptr) {
      notes.push_back("no cost where a GPU's profile states no price");
      break;
    }
  }
  return notes;
}

// ---- for programs

Json optional_json(const std::optional<double>& number) {
  return number && std::isfinite(*number) ? Json(*number) : Json(nullptr);
}

Json figure_json(const MetricName& metric, const WhatIfFigure& figure) {
  Json json = {{"name", metric.name},
               {"statistic", metric.statistic},
               {"value", optional_json(figure.value)}};
  const bool compared = figure.difference.has_value();
  const Difference difference = figure.difference.value_or(Difference{});
  json["difference"] = compared ? Json(difference.mean) : Json(nullptr);
  json["difference_low"] = optional_json(difference.low);
  json["difference_high"] = optional_json(difference.high);
  json["significant"] = difference.low ? Json(difference.significant()) : Json(nullptr);
  return json;
}

Json row_json(const WhatIfAnswer& answer, const WhatIfRow& row) {
  Json settings = Json::object();
  for (const Setting& setting : row.variant.settings) settings[setting.key] = setting.value;
  Json json = {{"settings", std::move(settings)},
               {"is_baseline", row.variant.is_baseline},
               {"reason", row.reason},
               {"runs", row.runs},
               {"runs_holding", row.held},
               {"runs_saturated", row.saturated},
               {"binding", row.binding},
               {"metrics", Json::array()}};
  for (std::size_t i = 0; i < answer.metrics.size(); ++i) {
    json["metrics"].push_back(figure_json(answer.metrics[i], row.figures[i]));
  }
  for (const char* cost : {"cost_usd_per_h", "cost_usd_per_million_output_tokens"}) {
    const MetricRow* metric = metric_of(row, cost);
    json[cost] = metric == nullptr ? Json(nullptr) : Json(metric->value);
  }
  if (row.limits) json["limits"] = limits_json(*row.limits);
  json["scenario"] = Json::parse(to_json(row.variant.scenario));
  return json;
}

Json machine_of(const WhatIfAnswer& answer) {
  Json json =
      envelope("whatif", {{"scenario", Json::parse(to_json(answer.rows.front().variant.scenario))},
                          {"seeds", answer.seeds}});
  json["interval"] = answer.by_blocks ? "blocks of requests" : "seeds";
  json["variants"] = Json::array();
  for (const WhatIfRow& row : answer.rows) json["variants"].push_back(row_json(answer, row));
  return json;
}

}  // namespace

std::string title_of(const MetricName& metric) {
  static const std::map<std::string, std::string> kTitles = {
      {"ttft_s", "TTFT"},
      {"tpot_s", "TPOT"},
      {"itl_s", "ITL"},
      {"e2e_s", "E2E"},
      {"queue_s", "queue"},
      {"client_queue_s", "client queue"},
      {"output_tokens_per_s", "output tokens/s"},
      {"input_tokens_per_s", "input tokens/s"},
      {"request_rate_per_s", "requests/s"},
      {"offered_rate_per_s", "offered/s"},
      {"goodput_per_s", "goodput/s"},
      {"kv_blocks", "KV blocks"},
      {"kv_tokens", "KV tokens"},
      {"max_concurrency", "sequences at once"},
      {"step_s", "step time"},
      {"cost_usd_per_h", "$/h"},
      {"cost_usd_per_million_output_tokens", "$/M output"}};
  const auto known = kTitles.find(metric.name);
  const std::string title = known == kTitles.end() ? metric.name : known->second;
  return metric.statistic == "value" ? title : title + " " + metric.statistic;
}

std::string metric_text(const MetricName& metric, double value) {
  if (!std::isfinite(value)) return "-";
  if (is_time(metric)) return (value < 0 ? "-" : "") + as_time(Seconds{std::abs(value)});
  if (is_money(metric)) return fixed(value, 2);
  constexpr double kPlain = 9999.5;  // from here on four digits would need an exponent
  return std::abs(value) < kPlain ? fmt::format("{:.4g}", value) : fixed(value, 0);
}

std::string difference_text(const MetricName& metric, double value) {
  return (value > 0 ? "+" : "") + metric_text(metric, value);
}

Document what_if_document(const WhatIfAnswer& answer) {
  Document document{.machine = machine_of(answer), .sections = {}};
  const WhatIfRow& baseline = answer.rows.front();
  Section head{.heading = "What if: " + baseline.headline, .lines = {}, .table = {}};
  if (!baseline.workload.empty()) head.lines.push_back(baseline.workload);
  head.lines.push_back(method_of(answer));
  for (std::string& line : reasons_of(answer)) head.lines.push_back(std::move(line));
  head.table = variant_table(answer);
  document.sections.push_back(std::move(head));
  Table differences = difference_table(answer);
  if (!differences.rows.empty() && baseline.reason.empty()) {
    document.sections.push_back({.heading = "", .lines = {}, .table = std::move(differences)});
  }
  for (std::size_t i = 0; i < answer.metrics.size(); ++i) {
    document.sections.push_back(curve_of(answer, i));
  }
  Section limits = limits_of(answer);
  if (!limits.table.rows.empty()) document.sections.push_back(std::move(limits));
  std::vector<std::string> notes = notes_of(answer);
  if (!notes.empty()) {
    document.sections.push_back({.heading = "Notes", .lines = std::move(notes), .table = {}});
  }
  return document;
}

}  // namespace roofcast
