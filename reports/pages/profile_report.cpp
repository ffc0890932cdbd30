#include "reports/pages/profile_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "model/io/gpu_reader.hpp"
#include "model/step/roofline.hpp"
#include "reports/answers/gpu_sections.hpp"
#include "reports/answers/operator_words.hpp"
#include "reports/figures/drawn_series.hpp"
#include "reports/pages/figures/figure_units.hpp"
#include "reports/pages/figures/roofline_figures.hpp"

namespace roofcast {
namespace {

constexpr double kPercent = 100;
// More lines cannot be told apart in one figure.
constexpr std::size_t kMostLines = 6;

FigureSeries series_of(const MeasuredCurve& curve, const Gpu& gpu) {
  FigureSeries series{.name = operator_label(curve.shape)};
  for (const MeasuredPoint& point : points_drawn(curve)) {
    const Seconds limit = physical_limit(work_of(curve.shape, point.x, point.y), gpu);
    if (point.time.value <= 0 || limit.value <= 0) continue;
    series.points.push_back(
        {.x = point.x,
         .y = kPercent * (limit / point.time),
         .label = fmt::format("{}: {} at {}", series.name, as_time(point.time),
                              with_separators(static_cast<std::int64_t>(point.x)))});
  }
  return series;
}

Table curve_table(const std::vector<const MeasuredCurve*>& curves) {
  Table table{.title = "",
              .columns = {{"Operator", false},
                          {"Kernel", false},
                          {"Points"},
                          {"Error, median"},
                          {"Error, p90"}},
              .rows = {}};
  for (const MeasuredCurve* curve : curves) {
    table.rows.push_back(
        {operator_label(curve->shape), curve->kernel, printed::count(std::ssize(curve->points)),
         printed::percent(curve->median_error), printed::percent(curve->p90_error)});
  }
  return table;
}

constexpr std::string_view kBytes = "bytes";

/// Rescales sizes in bytes to kB, MB or GB.
void in_units(Figure& figure) {
  std::vector<double> sizes;
  for (const FigureSeries& series : figure.series) {
    for (const FigurePoint& point : series.points) sizes.push_back(point.x);
  }
  const SizeUnit unit = size_unit_for(sizes);
  for (FigureSeries& series : figure.series) {
    for (FigurePoint& point : series.points) point.x = unit.of(point.x);
  }
  figure.x.title = fmt::format("bytes moved ({})", unit.name);
}

Figure family_figure(OperatorFamily family, std::vector<const MeasuredCurve*> curves,
                     const Gpu& gpu) {
  std::stable_sort(curves.begin(), curves.end(),
                   [](const MeasuredCurve* one, const MeasuredCurve* other) {
                     return one->points.size() > other->points.size();
                   });
  const std::size_t shown = std::min(kMostLines, curves.size());
  Figure figure{
      .key = fmt::format("measured_{}", name_of(family)),
      .title = "Measured: " + family_words(family),
      .caption = fmt::format(
          "Share of the roofline's limit that kernels reach, by size; {} of {} drawn, those with "
          "the most points. Errors in the table: each point predicted from the others.",
          shown, counted(std::ssize(curves), "curve")),
      .x = {.title = family_size(family), .scale = AxisScale::logarithmic},
      .y = {.title = "share of the limit (%)", .low = 0}};
  for (std::size_t i = 0; i < shown; ++i) figure.series.push_back(series_of(*curves[i], gpu));
  if (figure.x.title == kBytes) in_units(figure);
  figure.table = curve_table(curves);
  return figure;
}

/// The size axis of efficiency curves.
struct SizeAxis {
  std::string title{};
  bool bytes = false;
};

std::vector<double> sizes_of(const std::vector<std::pair<std::string, Curve>>& curves) {
  std::vector<double> sizes;
  for (const auto& [name, curve] : curves) {
    for (const Curve::Point& point : curve.points) sizes.push_back(point.x);
  }
  return sizes;
}

std::optional<Figure> curves_figure(const std::string& key, const std::string& title,
                                    const SizeAxis& size,
                                    const std::vector<std::pair<std::string, Curve>>& curves) {
  const SizeUnit unit = size.bytes ? size_unit_for(sizes_of(curves)) : SizeUnit{"", 1};
  Figure figure{
      .key = key,
      .title = title,
      .caption =
          "Assumed share of the datasheet's limit that kernels of this family reach, by size.",
      .x = {.title = size.bytes ? fmt::format("{} ({})", size.title, unit.name) : size.title,
            .scale = AxisScale::logarithmic},
      .y = {.title = "share of the limit (%)", .low = 0, .high = kPercent},
      .table = {
          .title = "", .columns = {{"Curve", false}, {"Points"}, {"Source", false}}, .rows = {}}};
  for (const auto& [name, curve] : curves) {
    FigureSeries series{.name = name};
    for (const Curve::Point& point : curve.points) {
      series.points.push_back({.x = unit.of(point.x), .y = kPercent * point.y});
    }
    if (series.points.empty()) continue;
    if (figure.series.size() < kMostLines) figure.series.push_back(std::move(series));
    figure.table.rows.push_back({name, printed::count(std::ssize(curve.points)), curve.source});
  }
  if (figure.series.empty()) return std::nullopt;
  if (figure.table.rows.size() > figure.series.size()) {
    figure.caption +=
        fmt::format(" {} of {} curves drawn.", figure.series.size(), figure.table.rows.size());
  }
  return figure;
}

}  // namespace

std::vector<Figure> measured_figures(const Gpu& gpu) {
  if (!gpu.measured) return {};
  std::vector<Figure> figures;
  for (int i = 0; i < kOperatorFamilies; ++i) {
    const auto family = static_cast<OperatorFamily>(i);
    // Collectives are limited by a link, not by this roofline.
    if (family == OperatorFamily::collective) continue;
    std::vector<const MeasuredCurve*> curves;
    for (const MeasuredCurve& curve : gpu.measured->curves) {
      if (curve.shape.family == family) curves.push_back(&curve);
    }
    if (curves.empty()) continue;
    Figure figure = family_figure(family, std::move(curves), gpu);
    if (can_be_drawn(figure)) figures.push_back(std::move(figure));
  }
  return figures;
}

std::vector<Figure> efficiency_figures(const Gpu& gpu) {
  const Efficiencies& of = gpu.efficiencies;
  std::vector<std::pair<std::string, Curve>> gemm, moe, prefill, decode, moved;
  for (const auto& [format, curve] : of.gemm) gemm.emplace_back(format, curve);
  for (const auto& [format, curve] : of.moe) moe.emplace_back(format, curve);
  if (of.prefill_attention) prefill.emplace_back("prefill attention", *of.prefill_attention);
  for (const auto& [cache, curve] : of.decode_attention) {
    decode.emplace_back(std::string(name_of(cache)) + " KV cache", curve);
  }
  if (of.memory_bound) moved.emplace_back("norms, RoPE, activations", *of.memory_bound);
  std::vector<Figure> figures;
  const auto add = [&](std::optional<Figure> figure) {
    if (figure) figures.push_back(*std::move(figure));
  };
  add(curves_figure("efficiency_gemm", "Efficiency: matrix products", {"tokens"}, gemm));
  add(curves_figure("efficiency_moe", "Efficiency: experts", {"tokens"}, moe));
  add(curves_figure("efficiency_prefill", "Efficiency: prefill attention", {"tokens attended"},
                    prefill));
  add(curves_figure("efficiency_decode", "Efficiency: decode attention", {"KV read", true},
                    decode));
  add(curves_figure("efficiency_memory", "Efficiency: memory-bound operators", {"moved", true},
                    moved));
  return figures;
}

Report profile_report(const std::string& name) {
  const GpuProfile profile = load_gpu(name);
  const Gpu& gpu = profile.gpu;
  const GpuAnswer facts = describe_gpu(profile);
  Report report{.title = "Hardware profile: " + gpu.display_name,
                .footer = fmt::format("Profile {}, hash {}.", gpu.name, profile.hash),
                .machine = to_json(facts)};
  report.machine["command"] = "report";
  const auto bf16 = gpu.dense_peak.find(DType::bf16);
  report.answer = fmt::format("{}: {} of memory at {}", gpu.display_name,
                              as_gib(gpu.memory_visible), as_rate(gpu.memory_bandwidth));
  if (bf16 != gpu.dense_peak.end()) {
    report.answer +=
        fmt::format(", {} in bf16: memory-bound below {} FLOP/byte", as_rate(bf16->second),
                    fixed(ridge_point(gpu, DType::bf16).value, 0));
  }
  report.answer +=
      gpu.measured
          ? fmt::format("; {} of operators were timed on {}.",
                        counted(std::ssize(gpu.measured->curves), "curve"), gpu.measured->device)
          : "; the shares that kernels reach are fitted, or defaults of the operator families.";
  ReportSection roofline{.heading = "Roofline"};
  if (!gpu.dense_peak.empty()) roofline.figures.push_back(roofline_figure(gpu));
  report.sections.push_back(std::move(roofline));
  ReportSection kernels{.heading = "Measured kernels", .figures = measured_figures(gpu)};
  for (Figure& figure : efficiency_figures(gpu)) kernels.figures.push_back(std::move(figure));
  if (kernels.figures.empty()) {
    kernels.lines.emplace_back(
        "The profile has neither timed nor fitted curves: the defaults of each operator family "
        "apply, with wider uncertainty.");
  }
  report.sections.push_back(std::move(kernels));
  ReportSection numbers{.heading = "Numbers and their sources"};
  for (const Section& section : gpu_sections(facts)) {
    for (const std::string& line : section.lines) numbers.lines.push_back(line);
    if (!section.table.rows.empty()) numbers.tables.push_back(section.table);
  }
  report.sections.push_back(std::move(numbers));
  return report;
}

}  // namespace roofcast
