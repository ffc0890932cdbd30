// A figure as an option object of Apache ECharts (echarts.apache.org, "Option manual"): the one
// place that says how figures look, but for colours, which are the theme's (reports/web/charts.js).
#pragma once

#include "reports/figures/chart_renderer.hpp"
#include "reports/figures/figure.hpp"

namespace roofcast {

/// What the chart carries beside its axes: a page has its own headings, a picture has not.
enum class ChartTitle { none, inside };

/// The figure's key as an id or the name of a file, whatever it holds: letters, digits and '-'.
std::string figure_id(const Figure& figure);

/// Bars that lie take room for each of them, all else is of one size.
ChartSize chart_size(const Figure& figure);

/// Points that are not finite, or not above zero on a logarithmic axis, are left out; series that
/// are empty then too. Series are told apart by shape or dash as well as by colour. Throws Error
/// naming the figure when nothing is left to draw, an axis has no title, or a point is in no
/// category.
Json chart_option(const Figure& figure, ChartTitle title = ChartTitle::none);

}  // namespace roofcast
