// Charts as SVG without a browser: Apache ECharts (reports/web/charts.js) in an embedded
// interpreter. The same option gives the same bytes on every machine.
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

/// Loads ECharts once (about 0.1 s). Not thread-safe.
class ChartRenderer {
 public:
  /// Throws Error in a build without charts.
  ChartRenderer();
  ~ChartRenderer();
  ChartRenderer(const ChartRenderer&) = delete;
  ChartRenderer& operator=(const ChartRenderer&) = delete;

  /// `option` is an ECharts option (https://echarts.apache.org/en/option.html), with `renderItem`
  /// given as a name of reports/web/charts.js. `key` prefixes all ids inside, so that one page can
  /// hold several SVGs: letters, digits and '-'. Throws Error with the library's message.
  std::string svg(const Json& option, ChartSize size, std::string_view key);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Whether this build can draw charts.
bool has_charts();

/// The script that draws charts in a page; it defines `RoofcastCharts` (mount, update). Empty in a
/// build without charts.
std::string_view chart_script();

}  // namespace roofcast
