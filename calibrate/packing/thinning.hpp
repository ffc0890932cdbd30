// Leaves out the points of a measured curve that the others answer. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "model/curves/measured_curve.hpp"

namespace roofcast {

struct ThinnedCurve {
  MeasuredCurve curve{};  // with the points that are kept
  /// Of each point left out: how far off the kept points answer it, relative.
  std::vector<double> errors{};
};

/// Leaves out points as long as answer() is at most `tolerance` off at each of them: first all
/// points of one x, then single ones; those that matter least first. The first and last x, and the
/// first and last y of each x that is kept, stay. Sets p90_error to the larger of what it was and
/// that of the points left out, unless it was not known. `curve` is kept as it is if nothing can be
/// left out.
ThinnedCurve thinned(const MeasuredCurve& curve, double tolerance, int multiprocessors);

struct ShortenedCurve {
  MeasuredCurve curve{};
  double tolerance = 0;  // what is left out is answered within this; 0: nothing is left out
};

/// `curve` with at most `count` points. It stays as it is if it has no more. Otherwise it is
/// thinned with the first tolerance of 1 %, 2 %, 4 %, ... that leaves out enough. Throws Error if
/// none does, since thinned() keeps the ends of each axis.
ShortenedCurve with_at_most(const MeasuredCurve& curve, std::size_t count, int multiprocessors);

}  // namespace roofcast
