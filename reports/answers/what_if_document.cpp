#include "reports/answers/answer_documents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "planner/scenario/prices.hpp"
#include "reports/answers/cost_cells.hpp"
#include "reports/answers/limits_section.hpp"
#include "reports/answers/what_if_sections.hpp"
#include "roofcast/what_if.hpp"

namespace roofcast {
namespace {

/// "met", "met in 3 of 5", "saturated"; without an SLO, whether the engine keeps up.
std::string verdict_of(const VariantAnswer& row, bool judged) {
  const char* good = judged ? "met" : "keeps up";
  if (row.held == row.runs) {
    if (row.undecided == 0) return good;
    return row.undecided == row.runs
               ? fmt::format("{}, undecided", good)
               : fmt::format("{}, undecided in {} of {}", good, row.undecided, row.runs);
  }
  if (row.undecided > 0 && row.held == 0 && row.undecided == row.runs) return "undecided";
  if (row.undecided > 0 && row.held + row.undecided == row.runs) {
    return fmt::format("{} in {} of {}, else undecided", good, row.held, row.runs);
  }
  if (row.held > 0) return fmt::format("{} in {} of {}", good, row.held, row.runs);
  if (row.saturated == row.runs) return "saturated";
  const char* bad = judged ? "missed" : "not all requests served";
  if (row.saturated == 0) return bad;
  return fmt::format("{}, saturated in {} of {}", bad, row.saturated, row.runs);
}

// ---- text

/// The costs that have columns of their own where they were not asked for.
std::vector<const CostFigure*> unasked_costs(const std::vector<MetricAnswer>& metrics) {
  std::vector<const CostFigure*> costs;
  for (const CostFigure& cost : kCostFigures) {
    const bool asked = std::ranges::any_of(
        metrics, [&](const MetricName& metric) { return metric.name == cost.name; });
    if (!asked && cost.in_tables) costs.push_back(&cost);
  }
  return costs;
}

/// Difference / baseline; empty if the baseline is zero or absent.
Cell relative_cell(const std::optional<double>& value, double difference) {
  if (!value) return "";
  const double before = *value - difference;
  if (before == 0) return "";
  return signed_by(difference > 0 ? "+" : "", printed::percent(difference / std::abs(before)));
}

std::vector<Cell> difference_cells(const MetricAnswer& metric) {
  if (!metric.value || !metric.difference) return {"-", "", "", ""};
  Cell interval = "-";
  std::string significant = "-";
  if (metric.low && metric.high) {
    interval = range(difference_cell(metric, *metric.low), difference_cell(metric, *metric.high));
    significant = metric.significant.value_or(false) ? "yes" : "no";
  }
  return {difference_cell(metric, *metric.difference),
          relative_cell(metric.value, *metric.difference), interval, significant};
}

Table difference_table(const WhatIfAnswer& answer) {
  Table table{.title = "Compared with the baseline",
              .columns = {{"Variant", false},
                          {"Metric", false},
                          {"Difference"},
                          {"Relative"},
                          {"95 % interval"},
                          {"Significant", false}},
              .rows = {}};
  for (const VariantAnswer& row : answer.variants) {
    if (row.settings.empty() || !row.reason.empty()) continue;
    for (const MetricAnswer& metric : row.metrics) {
      if (grows(row, metric) || grows(answer.variants.front(), metric)) continue;
      std::vector<Cell> cells = {name_of(row), title_of(metric)};
      const auto rest = difference_cells(metric);
      cells.insert(cells.end(), rest.begin(), rest.end());
      table.rows.push_back(std::move(cells));
    }
  }
  return table;
}

// ---- limits

/// Kinds of limits that any variant has, in order.
std::vector<LimitKind> kinds_of(const WhatIfAnswer& answer) {
  std::vector<LimitKind> kinds;
  for (const VariantAnswer& row : answer.variants) {
    if (!row.limits) continue;
    for (const LimitAnswer& limit : row.limits->limits) kinds.push_back(limit.limit);
  }
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  return kinds;
}

Cell gain_of(const LimitsAnswer& limits, LimitKind kind) {
  for (const LimitAnswer& limit : limits.limits) {
    if (limit.limit == kind) return gain_cell(limit.relative_gain);
  }
  return "-";
}

/// The binding limit of each variant, from the first seed.
Section limits_of(const WhatIfAnswer& answer) {
  const std::vector<LimitKind> kinds = kinds_of(answer);
  Section section{
      .heading = "Which limit binds",
      .lines = {"Change with 10 % more of each (queueing: with evenly spaced arrivals), in the "
                "latency with the smallest margin."},
      .table = {.title = "",
                .columns = {{"Variant", false}, {"Binding limit", false}, {"Latency", false}},
                .rows = {}}};
  for (const LimitKind kind : kinds) section.table.columns.push_back({title_of(kind)});
  for (const VariantAnswer& row : answer.variants) {
    if (!row.limits) continue;
    const LimitsAnswer& limits = *row.limits;
    std::vector<Cell> cells = {name_of(row),
                               limits.binding ? title_of(*limits.binding) : "no single one",
                               limits.yardstick};
    for (const LimitKind kind : kinds) cells.push_back(gain_of(limits, kind));
    section.table.rows.push_back(std::move(cells));
  }
  return section;
}

/// A bar in eighths of a column, at most kBarColumns long.
std::string bar(double share) {
  constexpr int kBarColumns = 30;
  constexpr int kEighths = 8;
  static constexpr const char* kParts[kEighths] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(std::lround(share * kBarColumns * kEighths));
  std::string text;
  for (int i = 0; i < eighths / kEighths; ++i) text += "█";
  return text + kParts[eighths % kEighths];
}

/// One metric over the variants, one bar each.
Section curve_of(const WhatIfAnswer& answer, std::size_t metric) {
  const MetricName& name = answer.variants.front().metrics[metric];
  Section section{.heading = title_of(name), .lines = {}, .table = {}};
  double max = 0;
  std::size_t widest = 0;
  for (const VariantAnswer& row : answer.variants) {
    if (!grows(row, row.metrics[metric])) {
      max = std::max(max, row.metrics[metric].value.value_or(0));
    }
    widest = std::max(widest, display_width(name_of(row)));
  }
  for (const VariantAnswer& row : answer.variants) {
    const std::optional<double>& value = row.metrics[metric].value;
    const std::string variant = name_of(row);
    const std::string line =
        variant + std::string(widest - display_width(variant) + 2, ' ') +
        (grows(row, row.metrics[metric]) ? std::string("grows without bound")
         : value ? fmt::format("{} {}", bar(max > 0 ? std::max(0.0, *value) / max : 0),
                               metric_text(name, *value))
                 : std::string("-"));
    section.lines.push_back(line);
  }
  return section;
}

std::string method_of(const WhatIfAnswer& answer) {
  if (answer.by_blocks) {
    return fmt::format(
        "A trace does not depend on the seed, so each variant ran once. Intervals leave out each "
        "of {} blocks of its requests in turn: they show how much depends on parts of this trace, "
        "not how another day would differ.",
        kBlocks);
  }
  if (answer.seeds == 1) {
    return "One seed cannot separate a difference from chance (use --seeds 5).";
  }
  const std::uint64_t first = answer.baseline.seed;
  return fmt::format(
      "Means over {} seeds ({} to {}); a seed gives every variant the same arrivals and lengths, "
      "and differences are taken within a seed. Intervals are Student's t, each at 95 %: expect 1 "
      "false positive in 20 comparisons.",
      answer.seeds, first, first + static_cast<std::uint64_t>(answer.seeds) - 1);
}

/// Variants without figures, and the reasons.
std::vector<std::string> reasons_of(const WhatIfAnswer& answer) {
  std::vector<std::string> lines;
  for (const VariantAnswer& row : answer.variants) {
    if (!row.reason.empty()) lines.push_back(fmt::format("{}: {}", name_of(row), row.reason));
  }
  return lines;
}

bool same_figures(const VariantAnswer& a, const VariantAnswer& b) {
  return std::equal(a.all_figures.begin(), a.all_figures.end(), b.all_figures.begin(),
                    b.all_figures.end(), [](const RunFigure& one, const RunFigure& other) {
                      return one.metric == other.metric && one.value == other.value;
                    });
}

/// Of the first undecided run: "undecided; the first: 94.8 to 100.0 % of ..."; of a single run
/// without "the first".
std::string first_finding(const VariantAnswer& row) {
  const std::string& finding = *row.finding;
  constexpr std::string_view kWord = "undecided: ";
  if (row.undecided == 1 || !finding.starts_with(kWord)) return finding;
  return fmt::format("undecided; the first: {}", finding.substr(kWord.size()));
}

std::vector<std::string> notes_of(const WhatIfAnswer& answer) {
  std::vector<std::string> notes;
  const VariantAnswer& baseline = answer.variants.front();
  for (const VariantAnswer& row : answer.variants) {
    const bool shown = row.reason.empty() && !row.settings.empty();
    if (!shown || baseline.all_figures.empty() || !same_figures(row, baseline)) continue;
    notes.push_back(name_of(row) + ": all figures equal the baseline's");
  }
  // Of the first variant, in full: the reason is mostly that of all of them, too few requests.
  std::int64_t more = 0;
  for (const VariantAnswer& row : answer.variants) {
    if (row.undecided == 0 || !row.finding) continue;
    if (more++ > 0) continue;
    notes.push_back(fmt::format("{}, {} of {} {}", name_of(row), row.undecided,
                                counted(row.runs, "run"), first_finding(row)));
  }
  if (more > 1) notes.push_back(counted(more - 1, "more variant") + " undecided");
  if (more > 0) {
    notes.emplace_back(answer.by_blocks
                           ? "undecided: a longer trace may give another verdict"
                           : "undecided: more requests (`num_prompts`) may give another verdict");
  }
  if (const std::string prices = words_of(answer.baseline.pricing); !prices.empty()) {
    notes.push_back("prices of the baseline: " + prices);
  }
  for (const VariantAnswer& row : answer.variants) {
    if (row.reason.empty() && !row.cost.dollars_per_hour) {
      notes.push_back("no cost, because a GPU's profile has no price");
      break;
    }
  }
  return notes;
}

}  // namespace

bool grows(const VariantAnswer& row, const MetricName& metric) {
  const bool waits = metric.name == "ttft_s" || metric.name == "e2e_s" ||
                     metric.name == "queue_s" || metric.name == "client_queue_s";
  return waits && row.runs > 0 && row.saturated == row.runs;
}

Table variant_table(const WhatIfAnswer& answer) {
  Table table{.title = "Variants", .columns = {{"Variant", false}}, .rows = {}};
  const std::vector<MetricAnswer>& metrics = answer.variants.front().metrics;
  for (const MetricAnswer& metric : metrics) table.columns.push_back({title_of(metric)});
  const bool judged = has_targets(answer.baseline.slo);
  table.columns.push_back({judged ? "SLO" : "Load", false});
  const std::vector<const CostFigure*> costs = unasked_costs(metrics);
  table.columns.push_back({"MFU"});
  table.columns.push_back({"MBU"});
  for (const CostFigure* cost : costs) table.columns.push_back({cost->title});
  for (const VariantAnswer& row : answer.variants) {
    std::vector<Cell> cells = {name_of(row)};
    for (const MetricAnswer& metric : row.metrics) {
      cells.push_back(grows(row, metric) ? "grows without bound"
                      : metric.value     ? metric_cell(metric, *metric.value)
                                         : "-");
    }
    cells.push_back(row.reason.empty() ? verdict_of(row, judged) : "no answer");
    cells.push_back(mfu_cell(row.utilisation));
    cells.push_back(mbu_cell(row.utilisation));
    for (const CostFigure* cost : costs) cells.push_back(cost_text(row.cost, *cost));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

Document what_if_document(const WhatIfAnswer& answer) {
  Document document{.machine = to_json(answer), .sections = {}};
  const VariantAnswer& baseline = answer.variants.front();
  Section head{.heading = "What if: " + baseline.labels.headline, .lines = {}, .table = {}};
  if (!baseline.labels.workload.empty()) head.lines.push_back(baseline.labels.workload);
  head.lines.push_back(method_of(answer));
  for (std::string& line : reasons_of(answer)) head.lines.push_back(std::move(line));
  head.table = variant_table(answer);
  document.sections.push_back(std::move(head));
  Table differences = difference_table(answer);
  if (!differences.rows.empty() && baseline.reason.empty()) {
    document.sections.push_back({.heading = "", .lines = {}, .table = std::move(differences)});
  }
  for (std::size_t i = 0; i < baseline.metrics.size(); ++i) {
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
