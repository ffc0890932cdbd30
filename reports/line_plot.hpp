// A figure as SVG: panels of lines over linear axes that begin at zero, so that what a knob does to
// a figure can be seen. Self-contained and the same bytes on every machine, as scatter_plot.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace roofcast {

struct LinePoint {
  double x = 0;  // a number, or a position in LinePanel::names
  double y = 0;
  std::optional<double> low{}, high{};  // ends of a whisker; both or neither
  std::string label{};                  // shown when the pointer rests on it
};

/// Points in order of x, joined by a line unless x are names.
struct LineSeries {
  std::string name{};
  std::vector<LinePoint> points{};
};

/// Points that are not finite are left out.
struct LinePanel {
  std::string title{};
  std::string x_title{};
  std::string y_title{};
  std::vector<std::string> names{};  // of x = 0, 1, 2 ...; empty where x are numbers
  std::vector<LineSeries> series{};  // names that several panels share look alike
};

struct LinePlot {
  std::string title{};
  std::vector<LinePanel> panels{};
};

/// The whole SVG document.
std::string line_svg(const LinePlot& plot);

/// Ticks of a linear axis over [low, high]: multiples of 1, 2 or 5 times a power of ten, four to
/// nine of them. Precondition: low < high, both finite.
std::vector<double> linear_ticks(double low, double high);

}  // namespace roofcast
