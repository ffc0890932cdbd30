#include "reports/pages/figures/roofline_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/numbers.hpp"
#include "reports/answers/operator_table.hpp"

namespace roofcast {
namespace {

constexpr double kTera = 1e12;

/// Bytes of all calls that must cross HBM: its time if it computed nothing, times the bandwidth.
Bytes hbm_bytes(const Work& work, const Gpu& gpu) {
  Work moving = work;
  moving.flops = {};
  return Bytes{physical_limit(moving, gpu).value * gpu.memory_bandwidth.value};
}

/// Sets the operator's point; false if it lies under none of the roofs.
bool place(const OperatorEstimate& part, const Gpu& gpu, FigurePoint& point) {
  if (part.work.family == OperatorFamily::collective || part.time.value <= 0) return false;
  const double bytes = hbm_bytes(part.work, gpu).value;
  if (part.work.flops.value <= 0 || bytes <= 0) return false;
  point.x = part.work.flops.value / bytes;
  point.y = part.work.flops.value / part.time.value / kTera;
  point.name = std::string(part.work.name);
  point.label = fmt::format("{}: {} in {}, {}-bound, {} FLOP/byte, {} TFLOP/s", part.work.name,
                            as_time(part.time), name_of(part.work.compute), name_of(part.bound),
                            fixed(point.x, 1), fixed(point.y, 2));
  return true;
}

/// The roof between intensities `low` and `high`: slope, ridge point, flat part.
FigureSeries roof(const Gpu& gpu, DType compute, double low, double high) {
  const double peak = gpu.peak_for(compute).value / kTera;
  const double slope = gpu.memory_bandwidth.value / kTera;
  const double ridge = ridge_point(gpu, compute).value;
  FigureSeries series{.name =
                          fmt::format("{} {}", name_of(compute), as_rate(gpu.peak_for(compute)))};
  series.points.push_back({.x = low, .y = std::min(peak, low * slope)});
  if (ridge > low && ridge < high) series.points.push_back({.x = ridge, .y = peak});
  series.points.push_back({.x = high, .y = std::min(peak, high * slope)});
  return series;
}

Figure empty_roofline(const Gpu& gpu) {
  return {.key = "roofline",
          .title = "Roofline of " + gpu.display_name,
          .x = {.title = "arithmetic intensity (FLOP/byte)", .scale = AxisScale::logarithmic},
          .y = {.title = "rate (TFLOP/s)", .scale = AxisScale::logarithmic}};
}

/// Whole powers of ten that include the points and the roofs' ridge points.
struct Span {
  double low = 1, high = 1000;

  void hold(double x) {
    low = std::min(low, std::pow(10.0, std::floor(std::log10(x))));
    high = std::max(high, std::pow(10.0, std::ceil(std::log10(x))));
  }
};

/// The figure's values for each operator of a step, in the rows of operator_table().
std::vector<std::vector<Cell>> drawn_cells(const StepEstimate& step, const Gpu& gpu) {
  std::vector<std::vector<Cell>> cells;
  for (const OperatorEstimate& part : step.operators) {
    FigurePoint point;
    const bool drawn = place(part, gpu, point);
    cells.push_back({drawn ? printed::fixed(point.x, 1) : "-",
                     drawn ? printed::fixed(point.y, 2) : "-",
                     drawn ? std::string(name_of(part.work.compute)) : ""});
  }
  return cells;
}

Table operators_of(const std::vector<RooflineStep>& steps, const Gpu& gpu) {
  Table table;
  for (const RooflineStep& one : steps) {
    Table more = operator_table(
        {.operators = operators_of(one.step), .host = one.step.host, .total = one.step.total}, "");
    if (table.columns.empty()) {
      table.columns = more.columns;
      table.columns.insert(table.columns.begin(), {"Step", false});
      for (const char* title : {"FLOP/byte of HBM", "TFLOP/s"}) table.columns.push_back({title});
      table.columns.push_back({"Format", false});
    }
    const auto drawn = drawn_cells(one.step, gpu);
    for (std::size_t i = 0; i < more.rows.size(); ++i) {
      std::vector<Cell> row = std::move(more.rows[i]);
      row.insert(row.begin(), one.name);
      const std::vector<Cell> none{"", "", ""};  // for the host's row
      const std::vector<Cell>& cells = i < drawn.size() ? drawn[i] : none;
      row.insert(row.end(), cells.begin(), cells.end());
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

/// Operators of a step that lie together share one name, at the rightmost of them: beside it, none
/// of their marks is in the way.
void join_names(std::vector<FigurePoint>& points) {
  constexpr double kTogether = 1.6;  // as a ratio on either axis
  constexpr std::size_t kNamed = 3;
  std::vector<std::pair<std::size_t, std::string>> done;  // names, and where they are written
  const auto near = [](double a, double b) { return a < b * kTogether && b < a * kTogether; };
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].name.empty()) continue;
    std::size_t named = 1, more = 0, rightmost = i;
    for (std::size_t j = i + 1; j < points.size(); ++j) {
      if (points[j].name.empty() || !near(points[i].x, points[j].x) ||
          !near(points[i].y, points[j].y)) {
        continue;
      }
      if (named < kNamed) {
        points[i].name += ", " + points[j].name;
        ++named;
      } else {
        ++more;
      }
      points[j].name.clear();
      if (points[j].x > points[rightmost].x) rightmost = j;
    }
    if (more > 0) points[i].name += fmt::format(" +{}", more);
    if (rightmost != i) done.emplace_back(rightmost, std::exchange(points[i].name, ""));
  }
  for (auto& [place, name] : done) points[place].name = std::move(name);
}

}  // namespace

Figure roofline_figure(const Gpu& gpu, const std::vector<RooflineStep>& steps) {
  Figure figure = empty_roofline(gpu);
  figure.caption =
      "Each operator of a step at its arithmetic intensity and expected rate, under the memory "
      "slope of " +
      as_rate(gpu.memory_bandwidth) +
      " and the peaks. Bytes that stay in the L2 cache do not count; collectives and operators "
      "without FLOPs or memory traffic are only in the table.";
  std::vector<DType> formats;
  std::vector<FigureSeries> points;
  Span span;
  for (const RooflineStep& one : steps) {
    FigureSeries series{.name = one.name, .mark = Mark::points};
    for (const OperatorEstimate& part : one.step.operators) {
      FigurePoint point;
      if (!place(part, gpu, point)) continue;
      span.hold(point.x);
      series.points.push_back(std::move(point));
      const DType format = part.work.compute;
      if (std::find(formats.begin(), formats.end(), format) == formats.end()) {
        formats.push_back(format);
      }
    }
    join_names(series.points);
    points.push_back(std::move(series));
  }
  for (const DType format : formats) span.hold(ridge_point(gpu, format).value);
  for (const DType format : formats) {
    figure.series.push_back(roof(gpu, format, span.low, span.high));
  }
  for (FigureSeries& series : points) figure.series.push_back(std::move(series));
  figure.x.low = span.low;
  figure.x.high = span.high;
  figure.table = operators_of(steps, gpu);
  return figure;
}

Figure roofline_figure(const Gpu& gpu) {
  Figure figure = empty_roofline(gpu);
  figure.caption =
      "Limits that no kernel can exceed: below a format's ridge point the memory bandwidth of " +
      as_rate(gpu.memory_bandwidth) +
      ", above it the format's dense peak. Vertical lines: the ridge points, in FLOP/byte.";
  figure.table = {.title = "",
                  .columns = {{"Format", false}, {"Dense peak"}, {"Ridge (FLOP/byte)"}},
                  .rows = {}};
  Span span;
  for (const auto& [format, peak] : gpu.dense_peak) span.hold(ridge_point(gpu, format).value);
  std::map<double, std::string> roofs;  // formats with the same peak share a roof
  for (const auto& [format, peak] : gpu.dense_peak) {
    const double ridge = ridge_point(gpu, format).value;
    const auto [known, fresh] = roofs.emplace(peak.value, name_of(format));
    if (!fresh) known->second += fmt::format(", {}", name_of(format));
    figure.table.rows.push_back(
        {std::string(name_of(format)), printed::rate(peak), printed::fixed(ridge, 1)});
    if (!fresh) continue;
    figure.series.push_back(roof(gpu, format, span.low, span.high));
    figure.marked.push_back(
        {.axis = MarkedValue::Across::x, .value = ridge, .name = fixed(ridge, 0)});
  }
  std::size_t next = 0;
  for (const auto& [format, peak] : gpu.dense_peak) {
    const auto roof_of = roofs.extract(peak.value);
    if (roof_of.empty()) continue;
    figure.series[next++].name = roof_of.mapped() + " " + as_rate(peak);
  }
  figure.x.low = span.low;
  figure.x.high = span.high;
  return figure;
}

}  // namespace roofcast
