// A chart as data: what is drawn, over which axes, in which units. How it looks is decided by one
// function (chart_option.hpp), for pages, files and pictures alike.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/document.hpp"

namespace roofcast {

enum class AxisScale { linear, logarithmic, category };

struct FigureAxis {
  std::string title{};  // with its unit: "TTFT (ms)"
  AxisScale scale = AxisScale::linear;
  std::vector<std::string> names{};     // categories; a point's x is an index into these
  std::optional<double> low{}, high{};  // ends; unset: chosen from the points
};

/// How a series is drawn.
enum class Mark {
  line,          // points joined in order
  step,          // each level holds until the next point
  points,        // unconnected
  bars,          // side by side over categories
  stacked_bars,  // on top of each other over categories
};

struct FigurePoint {
  double x = 0;
  double y = 0;
  std::optional<double> low{}, high{};  // error bar of y; both or neither
  std::string label{};                  // shown in the tooltip
  std::string name{};                   // written beside it, where there is room
};

struct FigureSeries {
  std::string name{};
  Mark mark = Mark::line;
  std::vector<FigurePoint> points{};
};

/// A line across the figure at one value of an axis: a limit, a ridge point.
struct MarkedValue {
  enum class Across { x, y };  // the axis that `value` is on
  Across axis = Across::y;
  double value = 0;
  std::string name{};
};

struct Figure {
  std::string key{};  // unique in its document, in [a-z0-9_]; also part of its file names
  std::string title{};
  std::string caption{};  // what the figure shows, in a sentence or two
  FigureAxis x{};
  FigureAxis y{};
  std::vector<FigureSeries> series{};
  std::vector<MarkedValue> marked{};
  bool diagonal = false;    // draws y = x, and gives both axes one range
  bool horizontal = false;  // horizontal bars: x categories on the vertical axis
  Table table{};            // its numbers; if it has no columns, figure_table() makes one
};

}  // namespace roofcast
