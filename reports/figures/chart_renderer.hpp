// Charts as SVG, without a browser: Apache ECharts (reports/web/charts.js) in an interpreter inside
// the program. The same bytes for the same option on every machine.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "reports/document.hpp"

namespace roofcast {

/// In CSS pixels.
struct ChartSize {
  int width = 720;
  int height = 360;
};

/// Loads ECharts once (about a tenth of a second); for one thread at a time.
class ChartRenderer {
 public:
  /// Throws Error in a build without charts.
  ChartRenderer();
  ~ChartRenderer();
  ChartRenderer(const ChartRenderer&) = delete;
  ChartRenderer& operator=(const ChartRenderer&) = delete;

  /// `option` of ECharts, https://echarts.apache.org/en/option.html, besides `renderItem` by the
  /// names of charts.js. `key` begins the ids inside, so that several SVGs can stand in one page:
  /// letters, digits and '-'. Throws Error with what the library says.
  std::string svg(const Json& option, ChartSize size, std::string_view key);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Whether this build can draw.
bool has_charts();

/// The script that draws charts in a page: defines `RoofcastCharts` (mount, update). Empty in a
/// build without charts.
std::string_view chart_script();

}  // namespace roofcast
