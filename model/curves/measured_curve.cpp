#include "model/curves/measured_curve.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <span>

#include "base/chord_log2.hpp"
#include "base/statistics.hpp"

namespace roofcast {

namespace {

// The 0.9 quantile of the absolute value of a standard normal variable. The divisor for a spread,
// (p90 - p10) / 2, is kIntervalDeviations.
constexpr double kDeviationsOfP90 = 1.6449;

// One standard deviation of an interpolated answer whose curve has too few points to estimate its
// error: that of points of an H200 interpolated on the ratio to a formula, p90 12 % to 17 %,
// rounded up (decode attention and GEMM over the tables of aiconfigurator 095f58a; assumption
// elsewhere).
constexpr double kUnknownDeviation = 0.10;

// Fewer errors than this give no quantile.
constexpr std::size_t kMinErrors = 3;

constexpr double kMaxUncertain = 1.0;

using Points = std::span<const MeasuredPoint>;

/// Ratio of measured time to base at a place on a curve, and how it was obtained.
struct Ratio {
  double value = 1;
  const MeasuredPoint* point = nullptr;  // the point, if the ratio is a single point's
  double spread = 0;                     // largest relative spread of the points used
  double octaves = 0;                    // distance outside the points used
};

Ratio at_point(const MeasuredCurve& curve, const MeasuredPoint& point, int multiprocessors) {
  const Seconds base = base_time(curve, point.x, point.y, multiprocessors);
  assert(base.value > 0);
  return {.value = point.time / base, .point = &point, .spread = point.relative_spread};
}

Ratio held(Ratio nearest, double octaves) {
  nearest.point = nullptr;
  nearest.octaves = std::max(nearest.octaves, octaves);
  return nearest;
}

Ratio between(const Ratio& a, const Ratio& b, double share) {
  return {.value = a.value + share * (b.value - a.value),
          .point = nullptr,
          .spread = std::max(a.spread, b.spread),
          .octaves = std::max(a.octaves, b.octaves)};
}

/// The position of y on its axis, for the points of one x.
double place_of(const MeasuredCurve& curve, double x, double y) {
  return curve.shape.family == OperatorFamily::prefill_attention ? x + y : y;
}

/// `part` as a share of `whole`, both in octaves; 0 if two sizes are too close for logarithms to
/// distinguish.
double share_of(double part, double whole) { return whole > 0 ? part / whole : 0.0; }

/// Interpolates along points of one x.
Ratio along_y(const MeasuredCurve& curve, Points row, double y, int multiprocessors) {
  const auto after = std::lower_bound(row.begin(), row.end(), y,
                                      [](const MeasuredPoint& p, double v) { return p.y < v; });
  if (after != row.end() && after->y == y) return at_point(curve, *after, multiprocessors);
  const double x = row.front().x;
  const auto octaves = [&](double from, double to) {
    return chord_log2(place_of(curve, x, to)) - chord_log2(place_of(curve, x, from));
  };
  if (after == row.begin()) {
    return held(at_point(curve, *after, multiprocessors), octaves(y, after->y));
  }
  const MeasuredPoint& before = *(after - 1);
  const Ratio lower = at_point(curve, before, multiprocessors);
  if (after == row.end()) return held(lower, octaves(before.y, y));
  return between(lower, at_point(curve, *after, multiprocessors),
                 share_of(octaves(before.y, y), octaves(before.y, after->y)));
}

/// The points with the same x as `some`.
Points row_of(Points points, const MeasuredPoint& some) {
  const auto [first, last] =
      std::equal_range(points.begin(), points.end(), some,
                       [](const MeasuredPoint& a, const MeasuredPoint& b) { return a.x < b.x; });
  return {first, last};
}

/// Whether a GEMM's kernels may change just before this point: M = 2^k + 1, k > 0.
bool is_behind_step(const MeasuredCurve& curve, double x) {
  int exponent = 0;
  return curve.shape.family == OperatorFamily::gemm && x > 2 && std::frexp(x - 1, &exponent) == 0.5;
}

Ratio ratio_at(const MeasuredCurve& curve, Points points, double x, double y, int multiprocessors) {
  const auto along = [&](const MeasuredPoint& some) {
    return along_y(curve, row_of(points, some), y, multiprocessors);
  };
  const auto after = std::lower_bound(points.begin(), points.end(), x,
                                      [](const MeasuredPoint& p, double v) { return p.x < v; });
  if (after != points.end() && after->x == x) return along(*after);
  const auto octaves = [](double from, double to) { return chord_log2(to) - chord_log2(from); };
  if (after == points.begin()) return held(along(*after), octaves(x, after->x));
  const MeasuredPoint& before = *(after - 1);
  if (after == points.end() || (is_behind_step(curve, after->x) && x <= after->x - 1)) {
    return held(along(before), octaves(before.x, x));
  }
  return between(along(before), along(*after),
                 share_of(octaves(before.x, x), octaves(before.x, after->x)));
}

double deviation_of(const MeasuredCurve& curve, const Ratio& ratio) {
  const double spread = ratio.spread / kIntervalDeviations;
  if (ratio.point != nullptr) return spread;
  const double known = curve.p90_error > 0 ? curve.p90_error / kDeviationsOfP90 : kUnknownDeviation;
  return std::max(spread, known);
}

double extended_deviation(double deviation, double octaves) {
  return std::min(kMaxUncertain, deviation * std::sqrt(1.0 + 2.0 * octaves));
}

CurveAnswer answer_from(const MeasuredCurve& curve, Points points, const MeasuredPoint& at,
                        int multiprocessors) {
  assert(!points.empty());
  const Ratio ratio = ratio_at(curve, points, at.x, at.y, multiprocessors);
  const double deviation = deviation_of(curve, ratio);
  if (ratio.point != nullptr) return {ratio.point->time, Provenance::measured, deviation};
  return {.time = base_time(curve, at.x, at.y, multiprocessors) * ratio.value,
          .provenance = ratio.octaves > 0 ? Provenance::extended : Provenance::interpolated,
          .relative_uncertainty = extended_deviation(deviation, ratio.octaves)};
}

}  // namespace

std::string_view name_of(Provenance provenance) {
  switch (provenance) {
    case Provenance::measured:
      return "measured";
    case Provenance::interpolated:
      return "interpolated";
    case Provenance::extended:
      return "extended";
    case Provenance::fitted:
      return "fitted";
    case Provenance::datasheet:
      return "datasheet";
  }
  return "unknown";
}

Seconds base_time(const MeasuredCurve& curve, double x, double y, int multiprocessors) {
  const ShapeWork work = shape_work(curve.shape, x, y, multiprocessors);
  const PhysicalTerms& terms = curve.terms;
  return terms.floor +
         Seconds{work.flops.value * terms.seconds_per_flop +
                 work.bytes.value * terms.seconds_per_byte + work.waves * terms.seconds_per_wave};
}

CurveAnswer answer(const MeasuredCurve& curve, double x, double y, int multiprocessors) {
  return answer_from(curve, curve.points, {.x = x, .y = y}, multiprocessors);
}

CurveAnswer answer_without(const MeasuredCurve& curve, std::size_t left_out, int multiprocessors) {
  const MeasuredPoint& point = curve.points[left_out];
  const auto place = curve.points.begin() + static_cast<std::ptrdiff_t>(left_out);
  std::vector<MeasuredPoint> others(place + 1, curve.points.end());
  // The kernels change before this size, which needs no timing to know: the points on the other
  // side say nothing about it.
  if (!is_behind_step(curve, point.x) || others.empty()) {
    others.insert(others.begin(), curve.points.begin(), place);
  }
  return answer_from(curve, others, point, multiprocessors);
}

void set_errors(MeasuredCurve& curve, int multiprocessors) {
  std::vector<double> errors;
  for (std::size_t i = 0; i < curve.points.size() && curve.points.size() > 1; ++i) {
    const CurveAnswer guess = answer_without(curve, i, multiprocessors);
    if (guess.provenance != Provenance::interpolated) continue;
    errors.push_back(std::abs(guess.time / curve.points[i].time - 1.0));
  }
  curve.median_error = 0;
  curve.p90_error = 0;
  if (errors.size() < kMinErrors) return;
  std::sort(errors.begin(), errors.end());
  curve.median_error = quantile(errors, 0.5);
  curve.p90_error = quantile(errors, 0.9);
}

}  // namespace roofcast
