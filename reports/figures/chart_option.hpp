// A figure as an option object of Apache ECharts (echarts.apache.org, "Option manual"). All of a
// figure's looks are decided here except colours, which belong to the theme
// (reports/web/charts.js).
#pragma once

#include "reports/figures/chart_renderer.hpp"
#include "reports/figures/figure.hpp"

namespace roofcast {

/// Whether the chart includes its title: pages have their own headings, pictures do not.
enum class ChartTitle { none, inside };

/// The figure's key as an id or file name: only letters, digits and '-'.
std::string figure_id(const Figure& figure);

/// Horizontal bars make the chart taller; otherwise one size fits all.
ChartSize chart_size(const Figure& figure);

/// Leaves out points that are not finite, or not above zero on a logarithmic axis, and series that
/// are then empty. Series differ by shape or dash as well as by colour. Throws Error naming the
/// figure if nothing is left to draw, an axis has no title, or a point is in no category.
Json chart_option(const Figure& figure, ChartTitle title = ChartTitle::none);

}  // namespace roofcast
