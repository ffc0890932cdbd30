#include "cli/validate_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace roofcast {
namespace {

/// " (s)" of "ttft_s", " (per s)" of a rate, nothing of a count.
std::string unit_of(const std::string& name) {
  if (name.find("_per_s") != std::string::npos) return " (per s)";
  return name.ends_with("_s") ? " (s)" : "";
}

std::string title_of(const ComparedFigure& figure) {
  return figure.statistic == "value" ? figure.name : figure.name + " " + figure.statistic;
}

PlotPanel& panel_of(std::vector<PlotPanel>& panels, const ComparedFigure& figure) {
  const std::string title = title_of(figure);
  const auto found = std::find_if(panels.begin(), panels.end(),
                                  [&](const PlotPanel& panel) { return panel.title == title; });
  if (found != panels.end()) return *found;
  const std::string unit = unit_of(figure.name);
  panels.push_back(
      {.title = title, .x_title = "measured" + unit, .y_title = "predicted" + unit, .series = {}});
  return panels.back();
}

PlotSeries& series_of(PlotPanel& panel, const std::string& name) {
  const auto found = std::find_if(panel.series.begin(), panel.series.end(),
                                  [&](const PlotSeries& series) { return series.name == name; });
  if (found != panel.series.end()) return *found;
  panel.series.push_back({.name = name, .points = {}});
  return panel.series.back();
}

}  // namespace

ScatterPlot validation_plot(const std::string& title, const std::vector<ValidatedCase>& cases) {
  const bool grouped = std::any_of(cases.begin(), cases.end(), [](const ValidatedCase& validated) {
    return !validated.compared.group.empty();
  });
  ScatterPlot plot{.title = title, .panels = {}};
  for (const ValidatedCase& validated : cases) {
    const ComparedCase& compared = validated.compared;
    const std::string& kind = grouped ? compared.group : compared.engine;
    for (const ComparedFigure& figure : compared.figures) {
      const std::optional<double> error = relative_error(figure);
      series_of(panel_of(plot.panels, figure), kind.empty() ? "no group" : kind)
          .points.push_back(
              {.x = figure.measured,
               .y = figure.predicted,
               .label = compared.name + (error ? fmt::format(": {:+.1f} %", 100 * *error) : "")});
    }
  }
  return plot;
}

}  // namespace roofcast
