#include "reports/pages/figures/validation_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "base/statistics.hpp"
#include "base/text.hpp"
#include "base/wording.hpp"
#include "reports/figures/drawn_series.hpp"
#include "reports/pages/figures/figure_units.hpp"
#include "roofcast/what_if.hpp"

namespace roofcast {
namespace {

constexpr double kPercentPerShare = 100;

/// Converts times to the unit that suits the longest.
void scale_times(Figure& figure) {
  double longest = 0;
  for (const FigureSeries& series : figure.series) {
    for (const FigurePoint& point : series.points) {
      if (std::isfinite(point.x)) longest = std::max(longest, point.x);
    }
  }
  const TimeUnit unit = unit_for(longest);
  for (FigureSeries& series : figure.series) {
    for (FigurePoint& point : series.points) {
      point.x = unit.of(point.x);
      point.y = unit.of(point.y);
    }
  }
  figure.x.title = with_unit(figure.x.title, unit);
  figure.y.title = with_unit(figure.y.title, unit);
}

/// Keeps the characters that a figure's key may have.
std::string key_of(const std::string& title) {
  std::string key;
  for (const char letter : title) {
    const bool plain = (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9');
    key += plain ? letter : '_';
  }
  return key;
}

Figure& figure_of(std::vector<Figure>& figures, const ComparedFigure& compared) {
  const std::string key =
      "validation_" +
      key_of(compared.name + (compared.statistic == "value" ? "" : " " + compared.statistic));
  const auto found = std::find_if(figures.begin(), figures.end(),
                                  [&](const Figure& figure) { return figure.key == key; });
  if (found != figures.end()) return *found;
  const std::string title = title_of(compared);
  figures.push_back(
      {.key = key,
       .title = title,
       .caption = "Each point is a case; on the dashed line the prediction equals the measurement.",
       .x = {.title = "measured " + title, .scale = AxisScale::logarithmic},
       .y = {.title = "predicted " + title, .scale = AxisScale::logarithmic},
       .diagonal = true});
  return figures.back();
}

FigureSeries& series_of(std::vector<FigureSeries>& all, const std::string& name, Mark mark) {
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const FigureSeries& series) { return series.name == name; });
  if (found != all.end()) return *found;
  all.push_back({.name = name, .mark = mark});
  return all.back();
}

bool are_grouped(const std::vector<ComparedCase>& cases) {
  return std::any_of(cases.begin(), cases.end(),
                     [](const ComparedCase& compared) { return !compared.group.empty(); });
}

// ---- histogram of errors

constexpr std::array kEdges = {-0.5, -0.3, -0.2, -0.1, -0.05, 0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0};

std::string bin_name(std::size_t bin) {
  const auto percent = [](double share) { return fmt::format("{:.0f}", kPercentPerShare * share); };
  if (bin == 0) return "below " + percent(kEdges.front());
  if (bin == kEdges.size()) return percent(kEdges.back()) + " and more";
  return percent(kEdges[bin - 1]) + " to " + percent(kEdges[bin]);
}

std::size_t bin_of(double error) {
  const auto above = std::upper_bound(kEdges.begin(), kEdges.end(), error);
  return static_cast<std::size_t>(above - kEdges.begin());
}

}  // namespace

std::string title_of(const ComparedFigure& figure) {
  return title_of(MetricName{figure.name, figure.statistic});
}

std::vector<Figure> predicted_over_measured(const std::vector<ComparedCase>& cases) {
  const bool grouped = are_grouped(cases);
  std::vector<Figure> figures;
  std::set<std::string> times;  // keys
  for (const ComparedCase& compared : cases) {
    const std::string& kind = grouped ? compared.group : compared.engine;
    for (const ComparedFigure& figure : compared.figures) {
      const std::optional<double> error = relative_error(figure);
      Figure& drawn = figure_of(figures, figure);
      if (is_time(figure.name)) times.insert(drawn.key);
      series_of(drawn.series, kind.empty() ? "no group" : kind, Mark::points)
          .points.push_back(
              {.x = figure.measured,
               .y = figure.predicted,
               .label = compared.name +
                        (error ? fmt::format(": {:+.1f} %", kPercentPerShare * *error) : "")});
    }
  }
  std::erase_if(figures, [](const Figure& figure) { return !can_be_drawn(figure); });
  for (Figure& figure : figures) {
    if (times.contains(figure.key)) scale_times(figure);
  }
  return figures;
}

std::optional<Figure> errors_of_case(const ComparedCase& compared) {
  Figure figure{.key = "validation_case",
                .title = "Error of each prediction",
                .caption = fmt::format(
                    "Predicted / measured - 1, the largest first; whiskers: the prediction's {} "
                    "interval, which contains 0 where it holds what was measured.",
                    interval_percent()),
                .x = {.title = "figure", .scale = AxisScale::category},
                .y = {.title = "error (% of what was measured)"},
                .horizontal = true};
  std::vector<ComparedFigure> figures = compared.figures;
  std::erase_if(figures, [](const ComparedFigure& one) { return one.measured <= 0; });
  std::ranges::stable_sort(figures, [](const ComparedFigure& a, const ComparedFigure& b) {
    return std::abs(*relative_error(a)) > std::abs(*relative_error(b));
  });
  FigureSeries series{.name = "error", .mark = Mark::points};
  for (const ComparedFigure& one : figures) {
    const auto error = [&](double predicted) {
      return kPercentPerShare * (predicted / one.measured - 1);
    };
    series.points.push_back(
        {.x = static_cast<double>(figure.x.names.size()),
         .y = error(one.predicted),
         .low = error(one.interval.low),
         .high = error(one.interval.high),
         .label = fmt::format("{}: {:+.1f} %", title_of(one), error(one.predicted))});
    figure.x.names.push_back(title_of(one));
  }
  if (series.points.empty()) return std::nullopt;
  figure.series.push_back(std::move(series));
  figure.marked.push_back({.axis = MarkedValue::Across::y, .value = 0, .name = ""});
  return figure;
}

namespace {

/// An engine's bars, one per bin.
FigureSeries& bars_of(Figure& figure, const std::string& engine) {
  FigureSeries& series =
      series_of(figure.series, engine.empty() ? "unknown engine" : engine, Mark::stacked_bars);
  if (!series.points.empty()) return series;
  for (std::size_t bin = 0; bin <= kEdges.size(); ++bin) {
    series.points.push_back({.x = static_cast<double>(bin)});
  }
  return series;
}

}  // namespace

std::vector<Figure> error_histogram(const std::vector<ComparedCase>& cases) {
  Figure figure{.key = "validation_errors",
                .title = "Errors of the predictions",
                .caption = "Figures by prediction error: above 0 the prediction is too high.",
                .x = {.title = "error (% of what was measured)", .scale = AxisScale::category},
                .y = {.title = "figures", .low = 0},
                .horizontal = true};
  for (std::size_t bin = 0; bin <= kEdges.size(); ++bin) figure.x.names.push_back(bin_name(bin));
  bool any = false;
  for (const ComparedCase& compared : cases) {
    for (const ComparedFigure& one : compared.figures) {
      const auto error = relative_error(one);
      if (!error) continue;
      any = true;
      bars_of(figure, compared.engine).points[bin_of(*error)].y += 1;
    }
  }
  if (!any) return {};
  return {std::move(figure)};
}

std::vector<Figure> interval_coverage(const std::vector<LedgerLine>& ledger) {
  Figure figure{
      .key = "validation_coverage",
      .title = "Do the intervals contain the measured values?",
      .caption = fmt::format("Share of each metric's figures within their interval; {} is nominal.",
                             interval_percent()),
      .x = {.title = "metric", .scale = AxisScale::category},
      .y = {.title = "figures in their interval (%)", .low = 0, .high = kPercentPerShare},
      .horizontal = true};
  FigureSeries series{.name = "covered", .mark = Mark::bars};
  for (const LedgerLine& line : ledger) {
    if (line.by != LedgerBy::all) continue;
    series.points.push_back({.x = static_cast<double>(figure.x.names.size()),
                             .y = kPercentPerShare * line.errors.coverage});
    figure.x.names.push_back(title_of(MetricName{line.name, line.statistic}));
  }
  if (series.points.empty()) return {};
  figure.series = {std::move(series)};
  figure.marked = {{.axis = MarkedValue::Across::y,
                    .value = kPercentPerShare * kIntervalShare,
                    .name = "nominal: " + interval_percent()}};
  return {std::move(figure)};
}

}  // namespace roofcast
