#include "calibrate/packing/thinning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "base/error.hpp"
#include "base/statistics.hpp"

namespace roofcast {

namespace {

// Each pass finds fewer points; the later ones next to none.
constexpr int kMaxPasses = 4;

/// Sizes between which leaving points out changes answers; open intervals.
struct Region {
  double x_low = 0;
  double x_high = 0;
  double y_low = -1;
  double y_high = HUGE_VAL;

  bool holds(const MeasuredPoint& point) const {
    return point.x > x_low && point.x < x_high && point.y > y_low && point.y < y_high;
  }
};

/// A set of points that may be left out together.
struct Candidate {
  std::vector<std::size_t> points{};
  double error = 0;
};

class Thinning {
 public:
  Thinning(const MeasuredCurve& curve, double tolerance, int multiprocessors)
      : curve_(curve),
        tolerance_(tolerance),
        multiprocessors_(multiprocessors),
        kept_(curve.points.size(), true),
        trial_(curve) {}

  void leave_out() {
    repeat([this] { return rows(); });
    if (has_second_axis(curve_.shape.family)) {
      repeat([this] { return points_in_rows(); });
    }
  }

  ThinnedCurve result() {
    ThinnedCurve result{.curve = curve_};
    set_trial();
    result.curve.points = trial_.points;
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      if (!kept_[i]) result.errors.push_back(error_at(i));
    }
    return result;
  }

 private:
  const MeasuredPoint& point(std::size_t i) const { return curve_.points[i]; }

  void set_trial() {
    trial_.points.clear();
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      if (kept_[i]) trial_.points.push_back(point(i));
    }
  }

  double error_at(std::size_t i) const {
    const CurveAnswer guess = answer(trial_, point(i).x, point(i).y, multiprocessors_);
    // A product before a step of the kernels would be extended, although it was timed.
    const bool extended = guess.provenance == Provenance::extended;
    if (extended && curve_.shape.family == OperatorFamily::gemm) return HUGE_VAL;
    return std::abs(guess.time / point(i).time - 1.0);
  }

  /// All points of an x, for each x that is kept but the first and the last.
  std::vector<Candidate> rows() const {
    std::vector<Candidate> list;
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      if (!kept_[i]) continue;
      const bool same = !list.empty() && point(list.back().points.back()).x == point(i).x;
      if (!same) list.emplace_back();
      list.back().points.push_back(i);
    }
    list.pop_back();
    if (!list.empty()) list.erase(list.begin());
    return list;
  }

  /// Each point but the first and last of its x.
  std::vector<Candidate> points_in_rows() const {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      if (kept_[i]) all.push_back(i);
    }
    std::vector<Candidate> list;
    for (std::size_t i = 1; i + 1 < all.size(); ++i) {
      const double x = point(all[i]).x;
      if (point(all[i - 1]).x == x && point(all[i + 1]).x == x) list.push_back({{all[i]}});
    }
    return list;
  }

  /// Where answers change when these points are left out.
  Region region_of(const Candidate& candidate) const {
    const std::size_t first = candidate.points.front();
    const std::size_t last = candidate.points.back();
    const double x = point(first).x;
    Region region{.x_low = -1, .x_high = HUGE_VAL};
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      if (!kept_[i]) continue;
      if (point(i).x < x) region.x_low = point(i).x;
      if (point(i).x > x) {
        region.x_high = point(i).x;
        break;
      }
    }
    bool whole = true;  // whether no point of this x is left
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      if (!kept_[i] || point(i).x != x || (i >= first && i <= last)) continue;
      whole = false;
      if (i < first) region.y_low = point(i).y;
      if (i > last) region.y_high = std::min(region.y_high, point(i).y);
    }
    if (whole) {
      region.y_low = -1;
      region.y_high = HUGE_VAL;
    }
    return region;
  }

  /// The largest error within the region without these points; they stay as they are.
  double error_without(const Candidate& candidate) {
    const Region region = region_of(candidate);
    for (const std::size_t i : candidate.points) kept_[i] = false;
    set_trial();
    double largest = 0;
    for (std::size_t i = 0; i < kept_.size() && largest <= tolerance_; ++i) {
      if (!kept_[i] && region.holds(point(i))) largest = std::max(largest, error_at(i));
    }
    for (const std::size_t i : candidate.points) kept_[i] = true;
    return largest;
  }

  template <class Candidates>
  void repeat(const Candidates& candidates) {
    for (int pass = 0; pass < kMaxPasses; ++pass) {
      std::vector<Candidate> list = candidates();
      for (Candidate& one : list) one.error = error_without(one);
      std::stable_sort(list.begin(), list.end(),
                       [](const Candidate& a, const Candidate& b) { return a.error < b.error; });
      bool any = false;
      for (const Candidate& one : list) {
        if (one.error > tolerance_) break;
        if (any && error_without(one) > tolerance_) continue;
        for (const std::size_t i : one.points) kept_[i] = false;
        any = true;
      }
      if (!any) return;
    }
  }

  const MeasuredCurve& curve_;
  double tolerance_;
  int multiprocessors_;
  std::vector<bool> kept_;
  MeasuredCurve trial_;
};

}  // namespace

ThinnedCurve thinned(const MeasuredCurve& curve, double tolerance, int multiprocessors) {
  Thinning thinning(curve, tolerance, multiprocessors);
  thinning.leave_out();
  ThinnedCurve result = thinning.result();
  if (result.errors.empty() || curve.p90_error == 0) return result;
  std::vector<double> sorted = result.errors;
  std::sort(sorted.begin(), sorted.end());
  result.curve.p90_error = std::max(curve.p90_error, quantile(sorted, 0.9));
  result.curve.median_error =
      std::min(std::max(curve.median_error, quantile(sorted, 0.5)), result.curve.p90_error);
  return result;
}

ShortenedCurve with_at_most(const MeasuredCurve& curve, std::size_t count, int multiprocessors) {
  constexpr double kFirstTolerance = 0.01;
  constexpr double kLastTolerance = 1e3;
  ShortenedCurve kept{.curve = curve};
  double tolerance = kFirstTolerance;
  while (kept.curve.points.size() > count && tolerance < kLastTolerance) {
    kept = {.curve = thinned(curve, tolerance, multiprocessors).curve, .tolerance = tolerance};
    tolerance *= 2;
  }
  if (kept.curve.points.size() > count) {
    throw Error(fmt::format("{}: {} sizes cannot be thinned to {}", curve.kernel,
                            curve.points.size(), count));
  }
  return kept;
}

}  // namespace roofcast
