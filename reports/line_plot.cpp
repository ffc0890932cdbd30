#include "reports/line_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/svg_marks.hpp"
#include "reports/svg_text.hpp"

namespace roofcast {
namespace {

// ---- geometry, in the SVG's own units

constexpr double kWidth = 340;  // of a panel's frame
constexpr double kHeight = 220;
constexpr double kLeft = 74;    // for the y axis
constexpr double kTop = 34;     // for the panel's title
constexpr double kBottom = 52;  // for the x axis
constexpr double kRight = 24;
constexpr double kHead = 40;  // for the figure's title
constexpr double kLegendLine = 18;
constexpr double kTickLength = 4;
constexpr int kColumns = 2;            // panels beside each other
constexpr std::size_t kMostNames = 8;  // under an axis; more would overlap
constexpr std::size_t kLongestName = 14;
constexpr double kPanelWidth = kLeft + kWidth + kRight;
constexpr double kPanelHeight = kTop + kHeight + kBottom;

struct Range {
  double low = 0;
  double high = 1;

  double share(double value) const { return (value - low) / (high - low); }
};

struct Frame {
  double left = 0;
  double top = 0;
  Range across{};
  Range up{};

  double x(double value) const { return left + kWidth * across.share(value); }
  double y(double value) const { return top + kHeight * (1 - up.share(value)); }
};

bool is_shown(const LinePoint& point) { return std::isfinite(point.x) && std::isfinite(point.y); }

template <class Visit>
void for_each_point(const LinePanel& panel, Visit visit) {
  for (const LineSeries& series : panel.series) {
    for (const LinePoint& point : series.points) {
      if (is_shown(point)) visit(point);
    }
  }
}

/// Names stand half a place from the frame's sides; numbers have a little room.
Range range_across(const LinePanel& panel) {
  if (!panel.names.empty()) return {-0.5, static_cast<double>(panel.names.size()) - 0.5};
  constexpr double kRoom = 0.05;
  double low = INFINITY;
  double high = -INFINITY;
  for_each_point(panel, [&](const LinePoint& point) {
    low = std::min(low, point.x);
    high = std::max(high, point.x);
  });
  if (!(low < high)) return {low - 1, high + 1};
  const double room = kRoom * (high - low);
  return {low - room, high + room};
}

/// From zero, or from below where there is something.
Range range_up(const LinePanel& panel) {
  constexpr double kRoom = 0.08;
  Range range{.low = 0, .high = 0};
  for_each_point(panel, [&](const LinePoint& point) {
    range.low = std::min({range.low, point.y, point.low.value_or(point.y)});
    range.high = std::max({range.high, point.y, point.high.value_or(point.y)});
  });
  if (range.low == range.high) range.high = 1;
  const double room = kRoom * (range.high - range.low);
  if (range.low < 0) range.low -= room;
  range.high += room;
  return range;
}

// ---- parts

using Names = std::vector<std::string>;

std::size_t index_of(const Names& names, const std::string& name) {
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

std::string shortened(const std::string& name) {
  return name.size() <= kLongestName ? name : name.substr(0, kLongestName - 1) + "…";
}

std::string text_at(const char* style, double x, double y, const std::string& text) {
  return fmt::format("<text class=\"{}\" x=\"{:.2f}\" y=\"{:.2f}\">{}</text>\n", style, x, y,
                     svg_escaped(text));
}

std::string titles_of(const LinePanel& panel, const Frame& frame) {
  const double middle = frame.left + kWidth / 2;
  const double y_title = frame.left - 58;
  std::string text = text_at("title", middle, frame.top - 12, panel.title);
  text += text_at("axis", middle, frame.top + kHeight + 38, panel.x_title);
  return text + fmt::format(
                    "<text class=\"axis\" x=\"{0:.2f}\" y=\"{1:.2f}\" transform=\"rotate(-90 "
                    "{0:.2f} {1:.2f})\">{2}</text>\n",
                    y_title, frame.top + kHeight / 2, svg_escaped(panel.y_title));
}

std::string ticks_up(const Frame& frame) {
  std::string text;
  for (const double tick : linear_ticks(frame.up.low, frame.up.high)) {
    const double y = frame.y(tick);
    text +=
        fmt::format("<path class=\"grid\" d=\"M{:.2f} {:.2f}h{:.2f}\"/>\n", frame.left, y, kWidth);
    text += text_at("tick end", frame.left - 2 * kTickLength, y + kTickLength,
                    fmt::format("{:.6g}", tick));
  }
  return text;
}

std::string ticks_across(const LinePanel& panel, const Frame& frame) {
  const double below = frame.top + kHeight + 4 * kTickLength;
  std::string text;
  if (panel.names.empty()) {
    for (const double tick : linear_ticks(frame.across.low, frame.across.high)) {
      text += text_at("tick", frame.x(tick), below, fmt::format("{:.6g}", tick));
    }
    return text;
  }
  const std::size_t step = (panel.names.size() + kMostNames - 1) / kMostNames;
  for (std::size_t i = 0; i < panel.names.size(); i += step) {
    text += text_at("tick", frame.x(static_cast<double>(i)), below, shortened(panel.names[i]));
  }
  return text;
}

std::string whisker_of(const LinePoint& point, const Frame& frame, std::string_view colour) {
  if (!point.low || !point.high) return "";
  return fmt::format("<path class=\"whisker\" stroke=\"{}\" d=\"M{:.2f} {:.2f}V{:.2f}\"/>\n",
                     colour, frame.x(point.x), frame.y(*point.low), frame.y(*point.high));
}

std::string series_of(const LineSeries& series, const Frame& frame, std::size_t look, bool joined) {
  std::string path;
  std::string marks;
  for (const LinePoint& point : series.points) {
    if (!is_shown(point)) continue;
    const double x = frame.x(point.x);
    const double y = frame.y(point.y);
    path += fmt::format("{}{:.2f} {:.2f}", path.empty() ? "M" : "L", x, y);
    marks += whisker_of(point, frame, svg_colour(look)) + svg_mark(look, x, y, point.label);
  }
  if (!joined || path.empty()) return marks;
  return fmt::format("<path class=\"line\" stroke=\"{}\" d=\"{}\"/>\n", svg_colour(look), path) +
         marks;
}

std::string panel_of(const LinePanel& panel, double left, double top, const Names& names) {
  bool any = false;
  for_each_point(panel, [&](const LinePoint&) { any = true; });
  Frame frame{.left = left, .top = top};
  std::string text = titles_of(panel, frame);
  text += fmt::format(
      "<rect class=\"frame\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\"/>\n",
      left, top, kWidth, kHeight);
  if (!any) {
    return text + text_at("axis", left + kWidth / 2, top + kHeight / 2, "nothing to show");
  }
  frame.across = range_across(panel);
  frame.up = range_up(panel);
  text += ticks_up(frame) + ticks_across(panel, frame);
  for (const LineSeries& series : panel.series) {
    text += series_of(series, frame, index_of(names, series.name), panel.names.empty());
  }
  return text;
}

/// Of all panels, each once; none where there is but one kind without a name.
Names names_of(const LinePlot& plot) {
  Names names;
  for (const LinePanel& panel : plot.panels) {
    for (const LineSeries& series : panel.series) {
      if (index_of(names, series.name) == names.size()) names.push_back(series.name);
    }
  }
  return names;
}

bool has_legend(const Names& names) {
  return std::any_of(names.begin(), names.end(), [](const std::string& n) { return !n.empty(); });
}

std::string legend_of(const Names& names, double top) {
  std::string text;
  double y = top;
  for (std::size_t i = 0; i < names.size(); ++i, y += kLegendLine) {
    text += svg_mark(i, kLeft, y, "") + text_at("legend", kLeft + 12, y + 4, names[i]);
  }
  return text;
}

}  // namespace

std::vector<double> linear_ticks(double low, double high) {
  constexpr double kFewest = 4;  // gaps between ticks, over the whole range
  const double widest = (high - low) / kFewest;
  const double power = std::pow(10.0, std::floor(std::log10(widest)));
  double step = power;
  for (const double multiple : {2.0, 5.0}) {
    if (multiple * power <= widest) step = multiple * power;
  }
  std::vector<double> ticks;
  const auto first = static_cast<std::int64_t>(std::ceil(low / step));
  const auto last = static_cast<std::int64_t>(std::floor(high / step));
  for (std::int64_t i = first; i <= last; ++i) ticks.push_back(static_cast<double>(i) * step);
  return ticks;
}

std::string line_svg(const LinePlot& plot) {
  const Names names = names_of(plot);
  const int panels = static_cast<int>(plot.panels.size());
  const int columns = std::clamp(panels, 1, kColumns);
  const int rows = (panels + columns - 1) / columns;
  const double width = columns * kPanelWidth;
  const double legend = kHead + rows * kPanelHeight + kLegendLine;
  const bool named = has_legend(names);
  const double height = legend + (named ? kLegendLine * static_cast<double>(names.size()) : 0);
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" role=\"img\">\n<title>{2}</title>\n",
      width, height, svg_escaped(plot.title));
  text += svg_style();
  text += text_at("head", kLeft, 26, plot.title);
  for (int i = 0; i < panels; ++i) {
    const double left = (i % columns) * kPanelWidth + kLeft;
    const double top = kHead + (i / columns) * kPanelHeight + kTop;
    text += panel_of(plot.panels[static_cast<std::size_t>(i)], left, top, names);
  }
  return text + (named ? legend_of(names, legend) : "") + "</svg>\n";
}

}  // namespace roofcast
