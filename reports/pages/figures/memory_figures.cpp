#include "reports/pages/figures/memory_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include "base/numbers.hpp"
#include "base/units.hpp"
#include "planner/scenario/pool_description.hpp"

namespace roofcast {
namespace {

FigureSeries& series_of(std::vector<FigureSeries>& all, const std::string& name) {
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const FigureSeries& series) { return series.name == name; });
  if (found != all.end()) return *found;
  all.push_back({.name = name, .mark = Mark::stacked_bars});
  return all.back();
}

/// A term as legends have it: "attention weights" for "weights.attention".
std::string words_of_term(std::string name) {
  static const std::map<std::string, std::string, std::less<>> kWords = {
      {"kv_cache", "KV cache"},
      {"activation_peak", "activations"},
      {"non_torch", "outside PyTorch"},
      {"cuda_graphs", "CUDA graphs"},
      {"reserve", "left to others"},
      {"state_pool", "recurrent states"},
      {"weights.dense_ffn", "dense FFN weights"}};
  const auto known = kWords.find(name);
  if (known != kWords.end()) return known->second;
  constexpr std::string_view kWeights = "weights.";
  const bool weights = name.starts_with(kWeights);
  if (weights) name.erase(0, kWeights.size());
  std::ranges::replace(name, '_', ' ');
  std::ranges::replace(name, '.', ' ');
  return weights ? name + " weights" : name;
}

/// The memory that the terms divide up.
const char* total_of(const MemoryBar& bar) {
  return bar.rule == MemoryRule::textbook ? "the datasheet's memory"
                                          : "memory reported by the driver";
}

/// Whether the terms exceed the memory: a shortfall cannot be drawn as a term.
bool is_beyond(const MemoryBar& bar) {
  Bytes drawn{};
  for (const MemoryTerm& term : bar.plan.terms) drawn += std::max(Bytes{}, term.bytes);
  constexpr double kRounding = 1e-9;
  return drawn.value > (1 + kRounding) * bar.plan.total.value;
}

std::string caption_of(const std::vector<MemoryBar>& bars) {
  const std::string rule = bars.front().rule == MemoryRule::textbook
                               ? "All terms of the textbook rule, stacked; "
                               : "All terms of the engine's memory rule, stacked; ";
  if (std::any_of(bars.begin(), bars.end(), is_beyond)) {
    return rule + "they exceed the memory: the vertical line is the GPU's memory.";
  }
  return rule + "they add up to " + total_of(bars.front()) + ".";
}

Table term_table(const std::vector<MemoryBar>& bars) {
  Table table{
      .title = "", .columns = {{"Term", false}, {"GiB"}, {"Share"}, {"Why", false}}, .rows = {}};
  const bool several = bars.size() > 1;
  if (several) table.columns.insert(table.columns.begin(), {"Memory of", false});
  const auto add = [&](const MemoryBar& bar, std::vector<Cell> row) {
    if (several) row.insert(row.begin(), bar.name);
    table.rows.push_back(std::move(row));
  };
  for (const MemoryBar& bar : bars) {
    for (const MemoryTerm& term : bar.plan.terms) {
      add(bar, {term.name, printed::fixed(term.bytes.value / kGiB, 2),
                printed::percent(term.bytes / bar.plan.total), term.detail});
    }
    add(bar, {"total", printed::fixed(bar.plan.total.value / kGiB, 2), printed::percent(1.0),
              total_of(bar)});
  }
  return table;
}

}  // namespace

Figure memory_figure(const std::vector<MemoryBar>& bars) {
  Figure figure{.key = "memory",
                .title = "Memory of one GPU",
                .caption = caption_of(bars),
                .x = {.title = bars.size() > 1 ? "pool" : "GPU", .scale = AxisScale::category},
                .y = {.title = "memory (GiB)", .low = 0},
                .horizontal = true};
  for (const MemoryBar& bar : bars) {
    const auto x = static_cast<double>(figure.x.names.size());
    figure.x.names.push_back(bar.name);
    for (const MemoryTerm& term : bar.plan.terms) {
      if (term.bytes.value <= 0) continue;
      const double gib = term.bytes.value / kGiB;
      const std::string name = words_of_term(term.name);
      series_of(figure.series, name)
          .points.push_back({.x = x,
                             .y = gib,
                             .label = fmt::format("{}: {} GiB, {}", name, fixed(gib, 2),
                                                  as_percent(term.bytes / bar.plan.total))});
    }
  }
  for (const MemoryBar& bar : bars) {
    if (!is_beyond(bar)) continue;
    const double gib = bar.plan.total.value / kGiB;
    figure.marked.push_back({.axis = MarkedValue::Across::y,
                             .value = gib,
                             .name = fmt::format("{}: {} GiB", bar.name, fixed(gib, 2))});
  }
  figure.table = term_table(bars);
  return figure;
}

Figure memory_figure(std::span<const PoolRun> pools) {
  if (are_alike(pools)) {
    const PoolRun& pool = pools.front();
    return memory_figure({{"each", pool.plan, pool.deployment.engine.memory_rule}});
  }
  std::vector<MemoryBar> bars;
  for (const PoolRun& pool : pools)
    bars.push_back({pool.name, pool.plan, pool.deployment.engine.memory_rule});
  return memory_figure(bars);
}

}  // namespace roofcast
