#include "reports/pages/run_reports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "model/io/gpu_reader.hpp"
#include "reports/answers/operator_words.hpp"
#include "reports/figures/drawn_series.hpp"
#include "reports/pages/figures/figure_units.hpp"
#include "reports/pages/stored_report.hpp"

namespace roofcast {
namespace {

using Rows = std::vector<const TimedPointRow*>;

// More lines cannot be told apart in one figure.
constexpr std::size_t kMaxLines = 5;

std::optional<OperatorFamily> family_named(const std::string& name) {
  for (int i = 0; i < kOperatorFamilies; ++i) {
    if (name_of(static_cast<OperatorFamily>(i)) == name) return static_cast<OperatorFamily>(i);
  }
  return std::nullopt;
}

// The same product timed repeatedly, to show whether the device was steady.
constexpr std::string_view kSentinel = "sentinel";

/// Memory copies and reads belong to no operator family.
std::string size_of(const std::string& family) {
  const auto known = family_named(family);
  return known ? family_size(*known) : "bytes";
}

SizeUnit unit_of(const std::string& family, const Rows& rows) {
  if (size_of(family) != "bytes") return {"", 1};
  std::vector<double> sizes;
  for (const TimedPointRow* row : rows) sizes.push_back(row->x);
  return size_unit_for(sizes);
}

/// One series per kernel; each point is the median with p10 and p90.
std::vector<FigureSeries> timed_series(const Rows& rows, const SizeUnit& size,
                                       const TimeUnit& time) {
  std::map<std::string, FigureSeries> kernels;
  for (const TimedPointRow* row : rows) {
    FigureSeries& series = kernels[row->kernel];
    series.name = row->kernel.empty() ? "unnamed kernel" : row->kernel;
    series.mark = Mark::points;
    series.points.push_back({.x = size.of(row->x),
                             .y = time.of(row->median_s),
                             .low = time.of(row->p10_s),
                             .high = time.of(row->p90_s),
                             .label = row->name + ": " + as_time(Seconds{row->median_s})});
  }
  std::vector<FigureSeries> all;
  for (auto& [kernel, series] : kernels) all.push_back(std::move(series));
  return all;
}

/// The profile's prediction for sizes from the first point to the last.
FigureSeries curve_line(const MeasuredCurve& curve, int multiprocessors, const SizeUnit& size,
                        const TimeUnit& time) {
  constexpr int kSamples = 60;
  FigureSeries series{.name = operator_label(curve.shape) + ", " + curve.kernel};
  const std::vector<MeasuredPoint> points = points_drawn(curve);
  if (points.empty() || points.front().x <= 0) return series;
  const double low = std::log(points.front().x), high = std::log(points.back().x);
  for (int i = 0; i <= kSamples; ++i) {
    const double x = std::exp(low + (high - low) * i / kSamples);
    const Seconds answered = answer(curve, x, points.front().y, multiprocessors).time;
    series.points.push_back({.x = size.of(x), .y = time.of(answered.value)});
  }
  return series;
}

/// Curves of a family, those with the most points first.
std::vector<const MeasuredCurve*> curves_of(const Gpu& gpu, OperatorFamily family) {
  std::vector<const MeasuredCurve*> curves;
  for (const MeasuredCurve& curve : gpu.measured->curves) {
    if (curve.shape.family == family) curves.push_back(&curve);
  }
  std::stable_sort(curves.begin(), curves.end(), [](const auto* one, const auto* other) {
    return points_drawn(*one).size() > points_drawn(*other).size();
  });
  return curves;
}

Table point_table(const Rows& rows) {
  Table table{
      .title = "",
      .columns =
          {{"Point", false}, {"Kernel", false}, {"Median"}, {"p10"}, {"p90"}, {"Remark", false}},
      .rows = {}};
  for (const TimedPointRow* row : rows) {
    table.rows.push_back({row->name, row->kernel, printed::time(Seconds{row->median_s}),
                          printed::time(Seconds{row->p10_s}), printed::time(Seconds{row->p90_s}),
                          row->throttled ? "throttled"
                          : row->bimodal ? "bimodal"
                                         : ""});
  }
  return table;
}

std::string family_title(const std::string& family) {
  const auto known = family_named(family);
  return known ? family_words(*known) : family;
}

Figure timed_figure(const std::string& family, const Rows& rows, const Gpu* gpu) {
  double longest = 0;
  for (const TimedPointRow* row : rows) longest = std::max(longest, row->median_s);
  const TimeUnit time = unit_for(longest);
  const SizeUnit size = unit_of(family, rows);
  const std::string along = size_of(family);
  Figure figure{
      .key = "timed_" + family,
      .title = "Timed: " + family_title(family),
      .caption =
          "Points: median time of one call by size and kernel, with the 10th and 90th percentiles "
          "of its samples.",
      .x = {.title = along == "bytes" ? fmt::format("bytes moved ({})", size.name) : along,
            .scale = AxisScale::logarithmic},
      .y = {.title = with_unit("time of a call", time), .scale = AxisScale::logarithmic},
      .series = timed_series(rows, size, time),
      .table = point_table(rows)};
  const auto known = family_named(family);
  if (gpu == nullptr || !known) return figure;
  const std::vector<const MeasuredCurve*> curves = curves_of(*gpu, *known);
  const std::size_t shown = std::min(kMaxLines, curves.size());
  for (std::size_t i = 0; i < shown; ++i) {
    figure.series.push_back(curve_line(*curves[i], gpu->multiprocessors, size, time));
  }
  if (shown == 0) return figure;
  figure.caption += fmt::format(
      " Lines: the profile's answers, interpolated with the kernel's fitted model; {} of {} drawn, "
      "those with the most points.",
      shown, counted(std::ssize(curves), "curve"));
  return figure;
}

/// The profile that the calibration wrote, if the file still exists unchanged.
std::optional<Gpu> written_profile(const RunRow& row) {
  constexpr std::string_view kWhere = " curves in ";
  const auto at = row.summary.find(kWhere);
  if (at == std::string::npos) return std::nullopt;
  const std::string path = row.summary.substr(at + kWhere.size());
  if (!is_profile_path(path)) return std::nullopt;
  try {
    GpuProfile profile = load_gpu(path);
    if (profile.hash != row.profile_hash || !profile.gpu.measured) return std::nullopt;
    return std::move(profile.gpu);
  } catch (const Error&) {  // deleted, or no longer a profile
    return std::nullopt;
  }
}

/// Counts operators, which go into a profile, separately from everything else.
std::string timed_text(const std::vector<TimedPointRow>& rows) {
  const auto operators = std::count_if(rows.begin(), rows.end(), [](const TimedPointRow& row) {
    return family_named(row.family).has_value();
  });
  const auto others = std::ssize(rows) - operators;
  std::string text = counted(operators, "point") + " of operators timed on this device";
  if (others > 0) {
    text += fmt::format(", and {} of memory, launches and the steadiness check", others);
  }
  return text + ".";
}

std::string steadiness_text(const Rows& rows) {
  const auto [min, max] = std::minmax_element(
      rows.begin(), rows.end(),
      [](const auto* one, const auto* other) { return one->median_s < other->median_s; });
  return fmt::format("The same product, timed {} during the calibration, took {} to {}.",
                     counted(std::ssize(rows), "time"), as_time(Seconds{(*min)->median_s}),
                     as_time(Seconds{(*max)->median_s}));
}

}  // namespace

Report calibration_report(const Store& store, const Run& run, bool opens_files) {
  Report report = stored_report(run);
  const std::vector<TimedPointRow> rows = store.timed_points(run.row.id);
  const std::optional<Gpu> gpu = opens_files ? written_profile(run.row) : std::nullopt;
  report.answer =
      gpu ? fmt::format("{}: {}.", gpu->display_name, run.row.summary) : run.row.summary + ".";
  std::map<std::string, Rows> families;
  for (const TimedPointRow& row : rows) families[row.family].push_back(&row);
  ReportSection section{.heading = "Timed points"};
  section.lines.push_back(timed_text(rows));
  if (const auto steady = families.extract(std::string(kSentinel))) {
    section.lines.push_back(steadiness_text(steady.mapped()));
  }
  if (!gpu) {
    section.lines.emplace_back(
        "The profile that was written has moved or changed: its curves are not drawn.");
  }
  for (const auto& [family, points] : families) {
    Figure figure = timed_figure(family, points, gpu ? &*gpu : nullptr);
    if (can_be_drawn(figure)) section.figures.push_back(std::move(figure));
  }
  report.sections.insert(report.sections.begin(), std::move(section));
  return report;
}

}  // namespace roofcast
