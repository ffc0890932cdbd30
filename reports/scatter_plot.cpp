#include "reports/scatter_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>

#include "reports/svg_marks.hpp"
#include "reports/svg_text.hpp"

namespace roofcast {
namespace {

// ---- geometry, in the SVG's own units

constexpr double kSide = 260;   // of a panel's square
constexpr double kLeft = 74;    // for the y axis
constexpr double kTop = 34;     // for the panel's title
constexpr double kBottom = 52;  // for the x axis
constexpr double kRight = 18;
constexpr double kHead = 40;  // for the figure's title
constexpr double kLegendLine = 18;
constexpr int kColumns = 3;  // panels beside each other
constexpr double kPanelWidth = kLeft + kSide + kRight;
constexpr double kPanelHeight = kTop + kSide + kBottom;

/// A range of both axes of a panel, with room around the points.
struct Range {
  double low = 0;
  double high = 0;

  /// From 0 at `low` to 1 at `high`.
  double share(double value) const { return std::log(value / low) / std::log(high / low); }
};

bool is_shown(const PlotPoint& point) {
  return point.x > 0 && point.y > 0 && std::isfinite(point.x) && std::isfinite(point.y);
}

std::optional<Range> range_of(const PlotPanel& panel) {
  constexpr double kRoom = 1.25;
  std::optional<Range> range;
  for (const PlotSeries& series : panel.series) {
    for (const PlotPoint& point : series.points) {
      if (!is_shown(point)) continue;
      const double low = std::min(point.x, point.y);
      const double high = std::max(point.x, point.y);
      if (!range) range = Range{low, high};
      range->low = std::min(range->low, low);
      range->high = std::max(range->high, high);
    }
  }
  if (range) range = Range{range->low / kRoom, range->high * kRoom};
  return range;
}

/// Where a panel's square begins, and what it shows.
struct Frame {
  double left = 0;
  double top = 0;
  Range range{};

  double x(double value) const { return left + kSide * range.share(value); }
  double y(double value) const { return top + kSide * (1 - range.share(value)); }
};

// ---- parts

/// y = factor * x, cut where it leaves the square.
std::string line_of(const Frame& frame, double factor, const char* style) {
  const Range& range = frame.range;
  const double from = std::max(range.low, range.low / factor);
  const double to = std::min(range.high, range.high / factor);
  if (from >= to) return "";
  return fmt::format(
      "<line class=\"{}\" x1=\"{:.2f}\" y1=\"{:.2f}\" x2=\"{:.2f}\" y2=\"{:.2f}\"/>\n", style,
      frame.x(from), frame.y(from * factor), frame.x(to), frame.y(to * factor));
}

std::string ticks_of(const Frame& frame) {
  constexpr double kLength = 4;
  const double bottom = frame.top + kSide;
  std::string text;
  for (const double tick : log_ticks(frame.range.low, frame.range.high)) {
    const std::string number = fmt::format("{:g}", tick);
    const double x = frame.x(tick);
    const double y = frame.y(tick);
    text += fmt::format("<path class=\"grid\" d=\"M{:.2f} {:.2f}v{:.2f}M{:.2f} {:.2f}h{:.2f}\"/>\n",
                        x, frame.top, kSide, frame.left, y, kSide);
    text += fmt::format("<text class=\"tick\" x=\"{:.2f}\" y=\"{:.2f}\">{}</text>\n", x,
                        bottom + 4 * kLength, number);
    text += fmt::format("<text class=\"tick end\" x=\"{:.2f}\" y=\"{:.2f}\">{}</text>\n",
                        frame.left - 2 * kLength, y + kLength, number);
  }
  return text;
}

std::string titles_of(const PlotPanel& panel, double left, double top) {
  const double middle = left + kSide / 2;
  const double height = top + kSide / 2;
  const double y_title = left - 56;
  std::string text = fmt::format("<text class=\"title\" x=\"{:.2f}\" y=\"{:.2f}\">{}</text>\n",
                                 middle, top - 12, svg_escaped(panel.title));
  text += fmt::format("<text class=\"axis\" x=\"{:.2f}\" y=\"{:.2f}\">{}</text>\n", middle,
                      top + kSide + 38, svg_escaped(panel.x_title));
  text += fmt::format(
      "<text class=\"axis\" x=\"{0:.2f}\" y=\"{1:.2f}\" transform=\"rotate(-90 {0:.2f} "
      "{1:.2f})\">{2}</text>\n",
      y_title, height, svg_escaped(panel.y_title));
  return text;
}

using Names = std::vector<std::string>;

std::size_t index_of(const Names& names, const std::string& name) {
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

std::string marks_of(const PlotPanel& panel, const Frame& frame, const Names& names) {
  std::string text;
  for (const PlotSeries& series : panel.series) {
    const std::size_t look = index_of(names, series.name);
    for (const PlotPoint& point : series.points) {
      if (!is_shown(point)) continue;
      text += svg_mark(look, frame.x(point.x), frame.y(point.y), point.label);
    }
  }
  return text;
}

std::string panel_of(const PlotPanel& panel, double left, double top, double band,
                     const Names& names) {
  std::string text = titles_of(panel, left, top);
  text += fmt::format(
      "<rect class=\"frame\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\"/>\n",
      left, top, kSide, kSide);
  const std::optional<Range> range = range_of(panel);
  if (!range) {
    return text + fmt::format(
                      "<text class=\"axis\" x=\"{:.2f}\" y=\"{:.2f}\">nothing above "
                      "zero</text>\n",
                      left + kSide / 2, top + kSide / 2);
  }
  const Frame frame{.left = left, .top = top, .range = *range};
  text += ticks_of(frame);
  text += line_of(frame, 1, "diagonal");
  text += line_of(frame, 1 + band, "band");
  text += line_of(frame, 1 - band, "band");
  return text + marks_of(panel, frame, names);
}

Names names_of(const ScatterPlot& plot) {
  Names names;
  for (const PlotPanel& panel : plot.panels) {
    for (const PlotSeries& series : panel.series) {
      if (index_of(names, series.name) == names.size()) names.push_back(series.name);
    }
  }
  return names;
}

std::string legend_of(const Names& names, double top, double band) {
  std::string text;
  double y = top;
  for (std::size_t i = 0; i < names.size(); ++i, y += kLegendLine) {
    text += svg_mark(i, kLeft, y, "");
    text += fmt::format("<text class=\"legend\" x=\"{:.2f}\" y=\"{:.2f}\">{}</text>\n", kLeft + 12,
                        y + 4, svg_escaped(names[i]));
  }
  return text + fmt::format(
                    "<text class=\"legend\" x=\"{:.2f}\" y=\"{:.2f}\">solid: predicted as "
                    "measured; dashed: {:g} % off</text>\n",
                    kLeft + 12, y + 4, 100 * band);
}

}  // namespace

std::vector<double> log_ticks(double low, double high) {
  constexpr std::ptrdiff_t kFew = 3;
  constexpr std::ptrdiff_t kMany = 8;
  const int first = static_cast<int>(std::floor(std::log10(low)));
  const int last = static_cast<int>(std::ceil(std::log10(high)));
  const auto within = [&](std::initializer_list<double> steps) {
    std::vector<double> ticks;
    for (int power = first; power <= last; ++power) {
      for (const double step : steps) {
        const double tick = step * std::pow(10.0, power);
        if (tick >= low && tick <= high) ticks.push_back(tick);
      }
    }
    return ticks;
  };
  std::vector<double> ticks = within({1});
  if (std::ssize(ticks) < kFew) ticks = within({1, 2, 5});
  if (std::ssize(ticks) < kFew) ticks = within({1, 2, 3, 4, 5, 6, 7, 8, 9});
  while (std::ssize(ticks) > kMany) {  // every other one
    for (std::size_t i = 0; 2 * i < ticks.size(); ++i) ticks[i] = ticks[2 * i];
    ticks.resize((ticks.size() + 1) / 2);
  }
  return ticks;
}

std::string scatter_svg(const ScatterPlot& plot) {
  const Names names = names_of(plot);
  const int panels = static_cast<int>(plot.panels.size());
  const int columns = std::clamp(panels, 1, kColumns);
  const int rows = (panels + columns - 1) / columns;
  const double width = columns * kPanelWidth;
  const double legend = kHead + rows * kPanelHeight + kLegendLine;
  const double height = legend + kLegendLine * static_cast<double>(names.size() + 1);
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" role=\"img\">\n<title>{2}</title>\n",
      width, height, svg_escaped(plot.title));
  text += svg_style();
  text += fmt::format("<text class=\"head\" x=\"{:.2f}\" y=\"26\">{}</text>\n", kLeft,
                      svg_escaped(plot.title));
  for (int i = 0; i < panels; ++i) {
    const double left = (i % columns) * kPanelWidth + kLeft;
    const double top = kHead + (i / columns) * kPanelHeight + kTop;
    text += panel_of(plot.panels[static_cast<std::size_t>(i)], left, top, plot.band, names);
  }
  return text + legend_of(names, legend, plot.band) + "</svg>\n";
}

}  // namespace roofcast
