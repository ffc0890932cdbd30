#include "calibrate/curve_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "calibrate/fit.hpp"
#include "model/curves/curve_source.hpp"
#include "model/step/roofline.hpp"

namespace roofcast {

namespace {

enum Term { kBytes, kFloor, kFlops, kWaves, kTerms };

double work_term(const ShapeWork& work, int term) {
  switch (term) {
    case kBytes:
      return work.bytes.value;
    case kFloor:
      return 1;
    case kFlops:
      return work.flops.value;
    default:
      return work.waves;
  }
}

/// Points with equal keys share a base. Collectives have one each: their cost per byte depends on
/// everything in their shape.
using FamilyKey = std::tuple<OperatorFamily, std::string, DType, std::string, bool, Exchange, int,
                             std::string, int, bool, bool, bool, bool>;

FamilyKey family_key(const TimedPoint& p) {
  const OperatorShape& s = p.shape;
  return {s.family,
          s.format,
          s.cache,
          s.name,
          s.latent,
          s.exchange,
          s.ranks,
          p.kernel,
          s.power_law,
          s.window > 0,
          s.fp8_arithmetic,
          s.projections > 0,
          s.family == OperatorFamily::gemm && s.query_heads > 0};
}

using CurveKey = std::tuple<OperatorShape, std::string>;

bool has_base(const PhysicalTerms& terms, std::span<const TimedPoint> points, int multiprocessors) {
  return std::all_of(points.begin(), points.end(), [&](const TimedPoint& p) {
    const MeasuredCurve curve{.shape = p.shape, .terms = terms};
    return base_time(curve, p.point.x, p.point.y, multiprocessors).value > 0;
  });
}

/// Ascending by (x, y), each size once.
std::vector<MeasuredPoint> sorted_points(const std::vector<const TimedPoint*>& timed) {
  std::vector<MeasuredPoint> points;
  for (const TimedPoint* p : timed) points.push_back(p->point);
  const auto size = [](const MeasuredPoint& p) { return std::pair{p.x, p.y}; };
  std::stable_sort(
      points.begin(), points.end(),
      [&](const MeasuredPoint& a, const MeasuredPoint& b) { return size(a) < size(b); });
  const auto last = std::unique(
      points.begin(), points.end(),
      [&](const MeasuredPoint& a, const MeasuredPoint& b) { return size(a) == size(b); });
  points.erase(last, points.end());
  return points;
}

std::string rejection(const TimedPoint& p, const Gpu& physics) {
  const Work work = work_of(p.shape, p.point.x, p.point.y);
  return fmt::format("{}: {:.3g} us, where {} allows {:.3g} us", p.name, p.point.time.value * 1e6,
                     physics.display_name, physical_limit(work, physics).value * 1e6);
}

/// A point and the index of its source.
struct Candidate {
  std::size_t source = 0;
  MeasuredPoint point{};
};

/// Kernels that one program chooses among: those of a version of an engine, or what was calibrated.
std::string chooser_of(const MeasuredCurve& curve) {
  const std::string_view source = source_of(curve.kernel);
  return source.size() == curve.kernel.size() ? std::string() : std::string(source);
}

/// Adds fastest_of() after the sources of each shape.
void add_fastest(std::vector<MeasuredCurve>& curves, int multiprocessors) {
  std::vector<MeasuredCurve> result;
  for (auto first = curves.begin(); first != curves.end();) {
    const auto last = std::find_if(first, curves.end(), [&](const MeasuredCurve& curve) {
      return curve.shape != first->shape;
    });
    std::map<std::string, std::vector<MeasuredCurve>> choosers;
    for (auto curve = first; curve != last; ++curve) choosers[chooser_of(*curve)].push_back(*curve);
    result.insert(result.end(), first, last);
    for (const auto& [chooser, kernels] : choosers) {
      auto fastest = fastest_of(kernels, multiprocessors);
      if (fastest) result.push_back(std::move(*fastest));
    }
    first = last;
  }
  curves = std::move(result);
}

}  // namespace

PhysicalTerms fit_terms(std::span<const TimedPoint> points, int multiprocessors) {
  const std::size_t terms = std::min<std::size_t>(kTerms, points.size());
  std::vector<double> rows;
  std::vector<double> times;
  std::vector<double> weights;
  for (const TimedPoint& p : points) {
    const ShapeWork work = shape_work(p.shape, p.point.x, p.point.y, multiprocessors);
    for (std::size_t term = 0; term < terms; ++term) {
      rows.push_back(work_term(work, static_cast<int>(term)));
    }
    times.push_back(p.point.time.value);
    weights.push_back(1.0 / p.point.time.value);
  }
  std::vector<double> fitted = fit_non_negative(rows, terms, times, weights);
  fitted.resize(kTerms, 0.0);
  const PhysicalTerms result{.floor = Seconds{fitted[kFloor]},
                             .seconds_per_flop = fitted[kFlops],
                             .seconds_per_byte = fitted[kBytes],
                             .seconds_per_wave = fitted[kWaves]};
  if (has_base(result, points, multiprocessors)) return result;
  // Neither FLOPs nor bytes vary: a constant.
  return {.floor = Seconds{*std::min_element(times.begin(), times.end())}};
}

FittedCurves fit_curves(std::span<const TimedPoint> points, int multiprocessors,
                        const Gpu* physics) {
  FittedCurves result;
  std::map<FamilyKey, std::vector<TimedPoint>> families;
  for (const TimedPoint& p : points) {
    if (physics != nullptr && beats_physics(p.shape, p.point, *physics)) {
      result.rejected.push_back(rejection(p, *physics));
    } else {
      families[family_key(p)].push_back(p);
    }
  }
  std::map<CurveKey, MeasuredCurve> curves;
  for (const auto& [key, family] : families) {
    const PhysicalTerms terms = fit_terms(family, multiprocessors);
    std::map<CurveKey, std::vector<const TimedPoint*>> shapes;
    for (const TimedPoint& p : family) shapes[{p.shape, p.kernel}].push_back(&p);
    for (const auto& [curve_key, timed] : shapes) {
      MeasuredCurve curve{.shape = timed.front()->shape,
                          .kernel = timed.front()->kernel,
                          .terms = terms,
                          .points = sorted_points(timed)};
      set_errors(curve, multiprocessors);
      curves.emplace(curve_key, std::move(curve));
    }
  }
  for (auto& [key, curve] : curves) result.curves.push_back(std::move(curve));
  add_fastest(result.curves, multiprocessors);
  return result;
}

std::optional<MeasuredCurve> fastest_of(std::span<const MeasuredCurve> sources,
                                        int multiprocessors) {
  std::map<std::pair<double, double>, Candidate> fastest;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    for (const MeasuredPoint& point : sources[i].points) {
      const auto [place, fresh] = fastest.try_emplace({point.x, point.y}, Candidate{i, point});
      if (!fresh && point.time < place->second.point.time) place->second = {i, point};
    }
  }
  std::vector<std::size_t> wins(sources.size(), 0);
  MeasuredCurve curve{.shape = sources.front().shape};
  for (const auto& [size, candidate] : fastest) {
    ++wins[candidate.source];
    curve.points.push_back(candidate.point);
  }
  const auto max = std::max_element(wins.begin(), wins.end());
  if (*max == curve.points.size()) return std::nullopt;
  for (const MeasuredCurve& source : sources) {
    curve.kernel += (curve.kernel.empty() ? "" : " or ") + source.kernel;
  }
  curve.terms = sources[static_cast<std::size_t>(max - wins.begin())].terms;
  set_errors(curve, multiprocessors);
  return curve;
}

std::optional<double> leave_one_out_error(const MeasuredCurve& curve, std::size_t i,
                                          int multiprocessors) {
  if (curve.points.size() < 2) return std::nullopt;
  const CurveAnswer guess = answer_without(curve, i, multiprocessors);
  if (guess.provenance != Provenance::interpolated) return std::nullopt;
  return std::abs(guess.time / curve.points[i].time - 1.0);
}

}  // namespace roofcast
