#include "reports/figures/chart_option.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.hpp"
#include "reports/figures/drawn_series.hpp"

namespace roofcast {
namespace {

constexpr std::array kDashes = {"solid", "dashed", "dotted"};
constexpr std::array kSymbols = {"circle", "rect", "triangle", "diamond", "emptyCircle"};
constexpr int kLineWidth = 2;
// Lines that are not data; visible on white and on black.
constexpr const char* kNeutral = "#808080";
constexpr int kPointSize = 9;
// With more points than this, a symbol at each would hide the line.
constexpr std::size_t kMaxSymbols = 40;
// Pixels around the axes, for the legend above and the axis names.
constexpr int kLegendRow = 28;
constexpr int kLegendGap = 14;  // between its entries and between its rows, which are 14 high
constexpr int kLegendLine = 24, kLegendSymbol = 12;
constexpr int kTitleHeight = 28;
constexpr int kAboveAxes = 12;
constexpr int kAboveAxesMarked = 24;  // room for the names of vertical lines

bool is_bars(Mark mark) { return mark == Mark::bars || mark == Mark::stacked_bars; }

[[noreturn]] void refuse(const Figure& figure, const std::string& why) {
  throw Error(fmt::format("figure {}: {}", figure.key, why));
}

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void hold(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

/// Common range of both axes of a figure with a diagonal: whole powers of ten on a logarithmic
/// axis.
Range joint_range(const Figure& figure, const std::vector<FigureSeries>& drawn) {
  Range range;
  for (const FigureSeries& series : drawn) {
    for (const FigurePoint& point : series.points) {
      range.hold(point.x);
      range.hold(point.y);
    }
  }
  if (figure.x.scale != AxisScale::logarithmic) return {std::min(0.0, range.low), range.high};
  const double low = std::floor(std::log10(range.low));
  // At least one decade.
  const double high = std::max(low + 1, std::ceil(std::log10(range.high)));
  return {std::pow(10.0, low), std::pow(10.0, high)};
}

Json axis_option(const FigureAxis& axis, const char* where) {
  Json option{{"name", axis.title}, {"nameLocation", "middle"}};
  const bool upright = std::string(where) == "yAxis";
  option["nameGap"] = upright ? 52 : 30;
  switch (axis.scale) {
    case AxisScale::category:
      option["type"] = "category";
      option["data"] = axis.names;
      break;
    case AxisScale::logarithmic:
      option["type"] = "log";
      break;
    case AxisScale::linear:
      option["type"] = "value";
      break;
  }
  if (axis.low && std::isfinite(*axis.low)) option["min"] = *axis.low;
  if (axis.high && std::isfinite(*axis.high)) option["max"] = *axis.high;
  option["axisLabel"] = {{"hideOverlap", true}};
  return option;
}

/// x and y of a point in the chart's order: swapped for horizontal bars.
Json place_of(const Figure& figure, const FigurePoint& point) {
  if (figure.horizontal) return Json::array({point.y, point.x});
  return Json::array({point.x, point.y});
}

/// Where a point's name is written: names of points far on the right have no room beside them, and
/// on the left of others the figure's lines are more often in the way.
const char* name_position(const FigureAxis& axis, double x) {
  if (!axis.low || !axis.high || axis.scale == AxisScale::category) return "right";
  constexpr double kMiddle = 0.6, kRight = 0.85;  // of the axis
  const auto along = [&](double value) {
    return axis.scale == AxisScale::logarithmic ? std::log(value) : value;
  };
  const double share = (along(x) - along(*axis.low)) / (along(*axis.high) - along(*axis.low));
  return share > kRight ? "left" : share > kMiddle ? "bottom" : "right";
}

Json data_of(const Figure& figure, const FigureSeries& series) {
  Json data = Json::array();
  for (const FigurePoint& point : series.points) {
    if (point.label.empty() && point.name.empty()) {
      data.push_back(place_of(figure, point));
      continue;
    }
    Json one{{"name", point.label}, {"value", place_of(figure, point)}};
    if (!point.name.empty()) {
      one["label"] = {{"show", true},
                      {"formatter", point.name},
                      {"position", name_position(figure.x, point.x)}};
    }
    data.push_back(std::move(one));
  }
  return data;
}

void style_line(Json& option, const FigureSeries& series, std::size_t index) {
  option["type"] = "line";
  if (series.mark == Mark::step) option["step"] = "end";
  option["lineStyle"] = {{"width", kLineWidth}, {"type", kDashes[index % kDashes.size()]}};
  option["showSymbol"] = series.points.size() <= kMaxSymbols && series.mark == Mark::line;
  option["symbol"] = kSymbols[index % kSymbols.size()];
  option["symbolSize"] = kPointSize - 2;
}

Json series_option(const Figure& figure, const FigureSeries& series, std::size_t index) {
  Json option{{"name", series.name}};
  switch (series.mark) {
    case Mark::line:
    case Mark::step:
      style_line(option, series, index);
      break;
    case Mark::points:
      option["type"] = "scatter";
      option["symbol"] = kSymbols[index % kSymbols.size()];
      option["symbolSize"] = kPointSize;
      break;
    case Mark::stacked_bars:
      option["stack"] = "all";
      [[fallthrough]];
    case Mark::bars:
      option["type"] = "bar";
      option["barMaxWidth"] = 48;
      break;
  }
  option["data"] = data_of(figure, series);
  const bool named = std::ranges::any_of(
      series.points, [](const FigurePoint& point) { return !point.name.empty(); });
  if (named) {
    option["label"] = {{"fontSize", 10}};
    option["labelLayout"] = {{"moveOverlap", "shiftY"}, {"hideOverlap", true}};
  }
  return option;
}

/// Error bars from low to high at each point that has them, in the colour of the series, which
/// charts assign by name; nullopt if no point has them.
std::optional<Json> whiskers(const Figure& figure, const FigureSeries& series) {
  Json data = Json::array();
  for (const FigurePoint& point : series.points) {
    if (!point.low || !point.high) continue;
    if (!drawable(figure.y, *point.low) || !drawable(figure.y, *point.high)) continue;
    data.push_back(Json::array({point.x, *point.low, *point.high}));
  }
  if (data.empty()) return std::nullopt;
  const Json ends = Json::array({1, 2});
  const Json encode = figure.horizontal ? Json{{"x", ends}, {"y", 0}} : Json{{"x", 0}, {"y", ends}};
  return Json{{"name", series.name},
              {"type", "custom"},
              {"renderItem", figure.horizontal ? "lying_whisker" : "whisker"},
              {"encode", encode},
              {"z", 3},
              {"silent", true},
              {"data", std::move(data)}};
}

/// Merges marked lines at the same value of the same axis, joining their names.
std::vector<MarkedValue> distinct(const std::vector<MarkedValue>& all) {
  std::vector<MarkedValue> kept;
  for (const MarkedValue& marked : all) {
    const auto same = std::find_if(kept.begin(), kept.end(), [&](const MarkedValue& other) {
      return other.axis == marked.axis && other.value == marked.value;
    });
    if (same == kept.end()) {
      kept.push_back(marked);
    } else {
      same->name += ", " + marked.name;
    }
  }
  return kept;
}

/// End of the drawn points on the horizontal axis.
double max_drawn(const Figure& figure) {
  Range range;
  for (const FigureSeries& series : figure.series) {
    for (const FigurePoint& point : series.points) {
      const double along = figure.horizontal ? point.y : point.x;
      if (std::isfinite(along)) range.hold(along);
    }
  }
  return range.high;
}

Json marked_lines(const Figure& figure) {
  Json lines = Json::array();
  for (const MarkedValue& marked : distinct(figure.marked)) {
    const bool of_x = marked.axis == MarkedValue::Across::x;
    if (!drawable(of_x ? figure.x : figure.y, marked.value)) continue;
    const bool upright = of_x != figure.horizontal;
    Json label{{"position", upright ? "end" : "insideStartTop"}};
    // At the right end of the axis a centred name would run out of the picture.
    constexpr double kLeft = 0.15;
    if (upright && marked.value > max_drawn(figure)) {
      label["align"] = "right";
    } else if (upright && marked.value < kLeft * max_drawn(figure)) {
      label["align"] = "left";  // nor over the scale of the other axis
    }
    lines.push_back({{upright ? "xAxis" : "yAxis", marked.value},
                     {"name", marked.name},
                     {"label", std::move(label)}});
  }
  return {{"silent", true},
          {"symbol", "none"},
          {"lineStyle", {{"type", "dashed"}, {"width", kLineWidth - 0.5}, {"color", kNeutral}}},
          {"label", {{"formatter", "{b}"}}},
          {"data", std::move(lines)}};
}

/// An invisible series at the limits, so that the axes include them whatever the legend hides.
Json marks_series(const Figure& figure, const FigurePoint& seen) {
  Json data = Json::array();
  for (const MarkedValue& marked : figure.marked) {
    const bool of_x = marked.axis == MarkedValue::Across::x;
    if (!drawable(of_x ? figure.x : figure.y, marked.value)) continue;
    if (of_x && figure.x.scale == AxisScale::category) continue;
    data.push_back(
        place_of(figure, {.x = of_x ? marked.value : seen.x, .y = of_x ? seen.y : marked.value}));
  }
  return {{"type", "scatter"},       {"silent", true},
          {"symbolSize", 0},         {"tooltip", {{"show", false}}},
          {"data", std::move(data)}, {"markLine", marked_lines(figure)}};
}

bool has_upright_lines(const Figure& figure) {
  return std::any_of(figure.marked.begin(), figure.marked.end(), [&](const MarkedValue& marked) {
    return (marked.axis == MarkedValue::Across::x) != figure.horizontal;
  });
}

bool is_point(const FigureSeries& series) {
  return series.mark == Mark::points || is_bars(series.mark);
}

/// True also for one series if the figure has a diagonal: figures of that kind have groups.
bool has_legend(const Figure& figure, const std::vector<FigureSeries>& drawn) {
  return drawn.size() > 1 || figure.diagonal;
}

/// Estimated number of legend rows at the width of chart_size(). The drawing script measures the
/// text and makes room for rows after the first (reports/web/charts.js).
int legend_rows(const std::vector<FigureSeries>& drawn) {
  constexpr double kLetter = 6.6, kRoom = 680;
  double width = 0;
  int rows = 1;
  for (const FigureSeries& series : drawn) {
    const double item = kLegendLine + 5 + kLetter * static_cast<double>(series.name.size());
    if (width > 0 && width + item > kRoom) {
      ++rows;
      width = 0;
    }
    width += item + kLegendGap;
  }
  return rows;
}

/// y = x has no entry: captions explain the dashed line.
Json legend_option(const std::vector<FigureSeries>& drawn, int top) {
  Json names = Json::array();
  for (const FigureSeries& series : drawn) names.push_back(series.name);
  // Symbols fill their legend entry: next to lines they would be as wide as a line's entry.
  const bool points = std::any_of(drawn.begin(), drawn.end(), is_point);
  return {{"top", top},
          {"left", "center"},
          {"width", "94%"},
          {"data", std::move(names)},
          {"itemWidth", points ? kLegendSymbol : kLegendLine},
          {"itemHeight", kLegendSymbol},
          {"itemGap", kLegendGap}};
}

Json diagonal_series(const Range& range) {
  return {{"type", "line"},
          {"silent", true},
          {"showSymbol", false},
          {"symbol", "none"},
          {"lineStyle", {{"type", "dashed"}, {"width", 1}, {"color", kNeutral}}},
          {"itemStyle", {{"color", kNeutral}}},
          {"data", Json::array({Json::array({range.low, range.low}),
                                Json::array({range.high, range.high})})}};
}

Json tooltip_option(const Figure& figure, const std::vector<FigureSeries>& drawn) {
  const bool labelled = std::any_of(drawn.begin(), drawn.end(), [](const FigureSeries& series) {
    return std::any_of(series.points.begin(), series.points.end(),
                       [](const FigurePoint& point) { return !point.label.empty(); });
  });
  // Labels hold more than the value along the axis.
  const bool by_point = labelled || std::any_of(drawn.begin(), drawn.end(), is_point);
  Json option{{"trigger", by_point ? "item" : "axis"}, {"confine", true}};
  if (by_point && labelled) option["formatter"] = "{a}<br/>{b}";
  if (!figure.diagonal && !by_point) option["axisPointer"] = {{"type", "line"}};
  return option;
}

bool needs_patterns(const std::vector<FigureSeries>& drawn) {
  return drawn.size() > 1 &&
         std::all_of(drawn.begin(), drawn.end(),
                     [](const FigureSeries& series) { return is_bars(series.mark); });
}

/// Removes control characters: an SVG with one, even escaped, is invalid.
void clean(Json& json) {
  if (json.is_structured()) {
    for (Json& part : json) clean(part);
    return;
  }
  if (!json.is_string()) return;
  std::string cleaned;
  for (const char letter : json.get_ref<const std::string&>()) {
    if (static_cast<unsigned char>(letter) < ' ' && letter != '\t' && letter != '\n') {
      cleaned += "\xEF\xBF\xBD";  // U+FFFD
    } else {
      cleaned += letter;
    }
  }
  json = std::move(cleaned);
}

/// Replaces bytes that are not UTF-8 by U+FFFD; names may hold any bytes.
Json in_utf8(const Json& option) {
  Json text = Json::parse(option.dump(-1, ' ', false, Json::error_handler_t::replace));
  clean(text);
  return text;
}

}  // namespace

std::string figure_id(const Figure& figure) {
  std::string id = figure.key;
  for (char& letter : id) {
    const bool plain = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                       (letter >= '0' && letter <= '9');
    if (!plain) letter = '-';
  }
  return id;
}

ChartSize chart_size(const Figure& figure) {
  constexpr int kWidth = 720, kUsual = 340, kFrame = 102, kTall = 460;
  constexpr int kBar = 44, kThinBar = 26, kMaxThick = 5;
  const std::vector<FigureSeries> drawn = drawn_series(figure);
  const int legend = has_legend(figure, drawn) ? kLegendRow * legend_rows(drawn) : 0;
  const auto bars = static_cast<int>(figure.x.names.size());
  const int lying = bars * (bars > kMaxThick ? kThinBar : kBar);
  if (figure.horizontal) return {.width = kWidth, .height = kFrame + lying + legend};
  // kUsual includes the first row of a legend.
  return {.width = kWidth,
          .height = (figure.diagonal ? kTall : kUsual) + std::max(0, legend - kLegendRow)};
}

Json chart_option(const Figure& figure, ChartTitle title) {
  if (figure.x.title.empty() || figure.y.title.empty()) refuse(figure, "an axis has no title");
  const std::vector<FigureSeries> drawn = drawn_series(figure);
  if (drawn.empty()) refuse(figure, "nothing to draw: expected a series with a finite point");
  const bool titled = title == ChartTitle::inside;
  const int top = titled ? kTitleHeight : 0;

  Json option{{"tooltip", tooltip_option(figure, drawn)}};
  if (titled) {
    option["title"] = {
        {"text", figure.title}, {"left", 8}, {"top", 4}, {"textStyle", {{"fontSize", 15}}}};
  }
  const bool legend = has_legend(figure, drawn);
  if (legend) option["legend"] = legend_option(drawn, top);
  const int above =
      top + (legend ? kLegendRow : 0) + (has_upright_lines(figure) ? kAboveAxesMarked : kAboveAxes);
  option["grid"] = {{"left", 72}, {"right", 40}, {"top", above}, {"bottom", 52}};
  FigureAxis x = figure.x, y = figure.y;
  option["series"] = Json::array();
  if (figure.diagonal) {
    const Range range = joint_range(figure, drawn);
    x.low = y.low = range.low;
    x.high = y.high = range.high;
  }
  option["xAxis"] = axis_option(figure.horizontal ? y : x, "xAxis");
  option["yAxis"] = axis_option(figure.horizontal ? x : y, "yAxis");
  if (figure.horizontal) option["yAxis"]["inverse"] = true;  // first category on top
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    option["series"].push_back(series_option(figure, drawn[i], i));
  }
  for (const FigureSeries& series : drawn) {
    if (auto ends = whiskers(figure, series)) option["series"].push_back(std::move(*ends));
  }
  if (figure.diagonal) option["series"].push_back(diagonal_series({*x.low, *x.high}));
  if (!figure.marked.empty()) {
    option["series"].push_back(marks_series(figure, drawn.front().points.front()));
  }
  if (needs_patterns(drawn)) option["aria"] = {{"enabled", true}, {"decal", {{"show", true}}}};
  return in_utf8(option);
}

}  // namespace roofcast
