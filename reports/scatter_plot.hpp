// A figure as SVG: panels of points over logarithmic axes with the diagonal, so that what was
// predicted stands against what was measured. Self-contained (no script, no font, no file beside
// it), readable in light and dark, told apart by shape as well as by a palette safe for the colour
// blind (Okabe and Ito, 2008). The same bytes on every machine.
#pragma once

#include <string>
#include <vector>

namespace roofcast {

struct PlotPoint {
  double x = 0;
  double y = 0;
  std::string label{};  // shown when the pointer rests on it
};

/// Points of one kind.
struct PlotSeries {
  std::string name{};
  std::vector<PlotPoint> points{};
};

/// One square panel. Both axes have the same range, so that the diagonal is one of the square.
/// Points that are not above zero have no place on it and are left out.
struct PlotPanel {
  std::string title{};
  std::string x_title{};
  std::string y_title{};
  std::vector<PlotSeries> series{};  // names that several panels share look alike
};

struct ScatterPlot {
  std::string title{};
  std::vector<PlotPanel> panels{};
  double band = 0.1;  // lines beside the diagonal, so far above and below it
};

/// The whole SVG document.
std::string scatter_svg(const ScatterPlot& plot);

/// Ticks of a logarithmic axis over [low, high], both above zero: powers of ten; where there are
/// fewer than three of those their doubles and quintuples too, or all their multiples; never more
/// than eight.
std::vector<double> log_ticks(double low, double high);

}  // namespace roofcast
