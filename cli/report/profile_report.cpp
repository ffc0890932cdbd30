#include "cli/report/profile_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "cli/gpus_document.hpp"
#include "cli/report/figure_units.hpp"
#include "cli/report/roofline_figures.hpp"
#include "cli/report/simulation_report.hpp"
#include "model/io/gpu_reader.hpp"
#include "model/roofline.hpp"
#include "reports/numbers.hpp"
#include "simulator/wording.hpp"

namespace roofcast {
namespace {

constexpr double kPercent = 100;
// Lines that can be told apart in one figure.
constexpr std::size_t kMostLines = 6;

/// What varies along a family's curve.
const char* size_title(OperatorFamily family) {
  switch (family) {
    case OperatorFamily::gemm:
    case OperatorFamily::moe:
      return "tokens";
    case OperatorFamily::prefill_attention:
      return "new tokens of a sequence";
    case OperatorFamily::decode_attention:
      return "sequences";
    case OperatorFamily::memory_bound:
    case OperatorFamily::collective:
      break;
  }
  return "bytes";
}

std::string words_of(OperatorFamily family) {
  std::string words(name_of(family));
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

std::string label_of(const OperatorShape& shape) {
  switch (shape.family) {
    case OperatorFamily::gemm:
      return fmt::format("{} {} x {}", shape.format, shape.outputs, shape.inputs);
    case OperatorFamily::moe:
      return fmt::format("{} {} experts of {} x {}", shape.format, shape.experts, shape.outputs,
                         shape.inputs);
    case OperatorFamily::prefill_attention:
    case OperatorFamily::decode_attention:
      return fmt::format("{} {}/{} heads of {}{}", name_of(shape.cache), shape.query_heads,
                         shape.kv_heads, shape.head_dim,
                         shape.beside_prefill ? ", beside prefill" : "");
    case OperatorFamily::collective:
      return fmt::format("{} over {}", name_of(shape.exchange), shape.ranks);
    case OperatorFamily::memory_bound:
      break;
  }
  return shape.name;
}

/// Of curves with a second axis the points of its most frequent value.
std::vector<MeasuredPoint> points_of(const MeasuredCurve& curve) {
  if (!has_second_axis(curve.shape.family)) return curve.points;
  std::map<double, std::size_t> counts;
  for (const MeasuredPoint& point : curve.points) ++counts[point.y];
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  std::vector<MeasuredPoint> points;
  for (const MeasuredPoint& point : curve.points) {
    if (most != counts.end() && point.y == most->first) points.push_back(point);
  }
  return points;
}

FigureSeries series_of(const MeasuredCurve& curve, const Gpu& gpu) {
  FigureSeries series{.name = label_of(curve.shape)};
  for (const MeasuredPoint& point : points_of(curve)) {
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
    table.rows.push_back({label_of(curve->shape), curve->kernel,
                          with_separators(std::ssize(curve->points)),
                          as_percent(curve->median_error), as_percent(curve->p90_error)});
  }
  return table;
}

Figure family_figure(OperatorFamily family, std::vector<const MeasuredCurve*> curves,
                     const Gpu& gpu) {
  std::stable_sort(curves.begin(), curves.end(),
                   [](const MeasuredCurve* one, const MeasuredCurve* other) {
                     return one->points.size() > other->points.size();
                   });
  const std::size_t shown = std::min(kMostLines, curves.size());
  Figure figure{.key = fmt::format("measured_{}", name_of(family)),
                .title = "Measured: " + words_of(family),
                .caption = fmt::format(
                    "Share of the roofline's limit that kernels reach by size; {} of {} drawn, "
                    "those with most points. Errors in the table: each point answered from the "
                    "others.",
                    shown, counted(std::ssize(curves), "curve")),
                .x = {.title = size_title(family), .scale = AxisScale::logarithmic},
                .y = {.title = "share of the limit (%)", .low = 0}};
  for (std::size_t i = 0; i < shown; ++i) figure.series.push_back(series_of(*curves[i], gpu));
  figure.table = curve_table(curves);
  return figure;
}

std::optional<Figure> curves_figure(const std::string& key, const std::string& title,
                                    const std::string& size,
                                    const std::vector<std::pair<std::string, Curve>>& curves) {
  Figure figure{
      .key = key,
      .title = title,
      .caption =
          "Share of the datasheet's limit that kernels of this family are taken "
          "to reach, by size.",
      .x = {.title = size, .scale = AxisScale::logarithmic},
      .y = {.title = "share of the limit (%)", .low = 0, .high = kPercent},
      .table = {
          .title = "", .columns = {{"Curve", false}, {"Points"}, {"Source", false}}, .rows = {}}};
  for (const auto& [name, curve] : curves) {
    FigureSeries series{.name = name};
    for (const Curve::Point& point : curve.points) {
      series.points.push_back({.x = point.x, .y = kPercent * point.y});
    }
    if (series.points.empty()) continue;
    figure.series.push_back(std::move(series));
    figure.table.rows.push_back({name, with_separators(std::ssize(curve.points)), curve.source});
  }
  if (figure.series.empty()) return std::nullopt;
  return figure;
}

// ---- a calibration

/// Times of one family: a series a kernel, each point its median with p10 and p90.
Figure timed_figure(const std::string& family, const std::vector<const TimedPointRow*>& rows) {
  double longest = 0;
  for (const TimedPointRow* row : rows) longest = std::max(longest, row->median_s);
  const TimeUnit unit = unit_for(longest);
  Figure figure{
      .key = "timed_" + family,
      .title = "Timed: " + family,
      .caption =
          "Median time of one call by size, with the tenth and ninetieth "
          "percentile of its samples.",
      .x = {.title = "size (tokens, sequences or bytes)", .scale = AxisScale::logarithmic},
      .y = {.title = with_unit("time of a call", unit), .scale = AxisScale::logarithmic},
      .table = {.title = "",
                .columns = {{"Point", false},
                            {"Kernel", false},
                            {"Median"},
                            {"p10"},
                            {"p90"},
                            {"Remark", false}},
                .rows = {}}};
  std::map<std::string, FigureSeries> kernels;
  for (const TimedPointRow* row : rows) {
    FigureSeries& series = kernels[row->kernel];
    series.name = row->kernel.empty() ? "kernel not named" : row->kernel;
    series.mark = Mark::points;
    series.points.push_back({.x = row->x,
                             .y = unit.of(row->median_s),
                             .low = unit.of(row->p10_s),
                             .high = unit.of(row->p90_s),
                             .label = row->name + ": " + as_time(Seconds{row->median_s})});
    figure.table.rows.push_back({row->name, row->kernel, as_time(Seconds{row->median_s}),
                                 as_time(Seconds{row->p10_s}), as_time(Seconds{row->p90_s}),
                                 row->throttled ? "throttled"
                                 : row->bimodal ? "bimodal"
                                                : ""});
  }
  for (auto& [kernel, series] : kernels) figure.series.push_back(std::move(series));
  return figure;
}

/// A family whose points all have no size or time cannot be drawn over logarithms.
bool has_point(const Figure& figure) {
  return std::any_of(figure.series.begin(), figure.series.end(), [](const FigureSeries& series) {
    return std::any_of(series.points.begin(), series.points.end(),
                       [](const FigurePoint& point) { return point.x > 0 && point.y > 0; });
  });
}

}  // namespace

std::vector<Figure> measured_figures(const Gpu& gpu) {
  if (!gpu.measured) return {};
  std::vector<Figure> figures;
  for (int i = 0; i < kOperatorFamilies; ++i) {
    const auto family = static_cast<OperatorFamily>(i);
    // Collectives go over a link, whose roof is another.
    if (family == OperatorFamily::collective) continue;
    std::vector<const MeasuredCurve*> curves;
    for (const MeasuredCurve& curve : gpu.measured->curves) {
      if (curve.shape.family == family) curves.push_back(&curve);
    }
    if (curves.empty()) continue;
    Figure figure = family_figure(family, std::move(curves), gpu);
    if (has_point(figure)) figures.push_back(std::move(figure));
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
  add(curves_figure("efficiency_gemm", "Efficiency: matrix products", "tokens", gemm));
  add(curves_figure("efficiency_moe", "Efficiency: experts", "tokens", moe));
  add(curves_figure("efficiency_prefill", "Efficiency: attention of prompts", "tokens attended",
                    prefill));
  add(curves_figure("efficiency_decode", "Efficiency: attention of decoding", "KV bytes read",
                    decode));
  add(curves_figure("efficiency_memory", "Efficiency: memory-bound operators", "bytes moved",
                    moved));
  return figures;
}

Report profile_report(const std::string& name) {
  const GpuProfile profile = load_gpu(name);
  const Gpu& gpu = profile.gpu;
  const Document document = gpu_document(profile);
  Report report{.title = "Hardware profile: " + gpu.display_name,
                .footer = fmt::format("Profile {}, hash {}.", gpu.name, profile.hash),
                .machine = document.machine};
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
          : "; kernels' shares of these are fitted or the families' defaults.";
  ReportSection roofline{.heading = "Roofline"};
  if (!gpu.dense_peak.empty()) roofline.figures.push_back(roofline_figure(gpu));
  report.sections.push_back(std::move(roofline));
  ReportSection kernels{.heading = "What kernels reach", .figures = measured_figures(gpu)};
  for (Figure& figure : efficiency_figures(gpu)) kernels.figures.push_back(std::move(figure));
  if (kernels.figures.empty()) {
    kernels.lines.emplace_back(
        "The profile has neither timed nor fitted curves: the defaults of each operator family "
        "hold, "
        "with their wider uncertainty.");
  }
  report.sections.push_back(std::move(kernels));
  ReportSection numbers{.heading = "Numbers and their sources"};
  for (const Section& section : document.sections) {
    for (const std::string& line : section.lines) numbers.lines.push_back(line);
    if (!section.table.rows.empty()) numbers.tables.push_back(section.table);
  }
  report.sections.push_back(std::move(numbers));
  return report;
}

Report calibration_report(const Store& store, const Run& run) {
  Report report = stored_report(run);
  const std::vector<TimedPointRow> rows = store.timed_points(run.row.id);
  std::map<std::string, std::vector<const TimedPointRow*>> families;
  for (const TimedPointRow& row : rows) families[row.family].push_back(&row);
  ReportSection section{.heading = "Timed points"};
  section.lines.push_back(counted(std::ssize(rows), "point") + " timed on this device.");
  for (const auto& [family, points] : families) {
    Figure figure = timed_figure(family, points);
    if (has_point(figure)) section.figures.push_back(std::move(figure));
  }
  report.sections.insert(report.sections.begin(), std::move(section));
  return report;
}

}  // namespace roofcast
