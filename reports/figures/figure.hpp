// A picture as data: what is drawn, over which axes, in which units. Nothing of how it looks: one
// function (chart_option.hpp) makes a chart of it, for pages, files and pictures alike.
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
  std::vector<std::string> names{};     // of the categories: a point's x is its index here
  std::optional<double> low{}, high{};  // ends; unset: as the points need
};

/// How a series is drawn.
enum class Mark {
  line,          // points joined in their order
  step,          // a level that holds until the next point
  points,        // each by itself
  bars,          // side by side over categories
  stacked_bars,  // on top of each other over categories
};

struct FigurePoint {
  double x = 0;
  double y = 0;
  std::optional<double> low{}, high{};  // ends of what y may be; both or neither
  std::string label{};                  // shown when the pointer rests on it
};

struct FigureSeries {
  std::string name{};
  Mark mark = Mark::line;
  std::vector<FigurePoint> points{};
};

/// A line across the whole figure at one value of an axis: a limit, a ridge.
struct MarkedValue {
  enum class Across { x, y };  // the axis that the value is of
  Across axis = Across::y;
  double value = 0;
  std::string name{};
};

struct Figure {
  std::string key{};  // unlike any other's of its document, in [a-z0-9_]: names its files too
  std::string title{};
  std::string caption{};  // what is to be seen, in a sentence or two
  FigureAxis x{};
  FigureAxis y{};
  std::vector<FigureSeries> series{};
  std::vector<MarkedValue> marked{};
  bool diagonal = false;    // y = x is drawn, and both axes have one range
  bool horizontal = false;  // bars lie: the categories of x stand on the left
  Table table{};            // its numbers for a reader; without columns figure_table() lists them
};

}  // namespace roofcast
