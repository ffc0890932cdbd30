#include "cli/report/memory_figures.hpp"

#include <algorithm>
#include <utility>

#include "cli/pool_description.hpp"
#include "model/units.hpp"
#include "reports/numbers.hpp"

namespace roofcast {
namespace {

FigureSeries& series_of(std::vector<FigureSeries>& all, const std::string& name) {
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const FigureSeries& series) { return series.name == name; });
  if (found != all.end()) return *found;
  all.push_back({.name = name, .mark = Mark::stacked_bars});
  return all.back();
}

Table term_table(const std::vector<MemoryBar>& bars) {
  Table table{
      .title = "", .columns = {{"Term", false}, {"GiB"}, {"Share"}, {"Why", false}}, .rows = {}};
  const bool several = bars.size() > 1;
  if (several) table.columns.insert(table.columns.begin(), {"Memory of", false});
  const auto add = [&](const MemoryBar& bar, std::vector<std::string> row) {
    if (several) row.insert(row.begin(), bar.name);
    table.rows.push_back(std::move(row));
  };
  for (const MemoryBar& bar : bars) {
    for (const MemoryTerm& term : bar.plan.terms) {
      add(bar, {term.name, fixed(term.bytes.value / kGiB, 2),
                as_percent(term.bytes / bar.plan.total), term.detail});
    }
    add(bar, {"total", fixed(bar.plan.total.value / kGiB, 2), as_percent(1.0),
              "what the driver reports"});
  }
  return table;
}

}  // namespace

Figure memory_figure(const std::vector<MemoryBar>& bars) {
  Figure figure{.key = "memory",
                .title = "Memory of one GPU",
                .caption =
                    "Every term of the engine's own rule, stacked; they sum to what the "
                    "driver reports.",
                .x = {.title = "memory of", .scale = AxisScale::category},
                .y = {.title = "memory (GiB)", .low = 0},
                .horizontal = true};
  for (const MemoryBar& bar : bars) {
    const auto x = static_cast<double>(figure.x.names.size());
    figure.x.names.push_back(bar.name);
    for (const MemoryTerm& term : bar.plan.terms) {
      if (term.bytes.value <= 0) continue;
      const double gib = term.bytes.value / kGiB;
      series_of(figure.series, term.name)
          .points.push_back({.x = x, .y = gib, .label = term.name + ": " + fixed(gib, 2) + " GiB"});
    }
  }
  figure.table = term_table(bars);
  return figure;
}

Figure memory_figure(const SimulationRun& run) {
  if (are_alike(run.pools)) return memory_figure({{"one GPU", run.pools.front().plan}});
  std::vector<MemoryBar> bars;
  for (const PoolRun& pool : run.pools) bars.push_back({pool.name, pool.plan});
  return memory_figure(bars);
}

}  // namespace roofcast
