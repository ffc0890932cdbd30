// Builds curves from timed points: fits the physical base of each kernel family, adds leave-one-out
// errors, and rejects points that are physically impossible. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/curves/measured_curve.hpp"
#include "model/hardware/gpu.hpp"

namespace roofcast {

struct TimedPoint {
  OperatorShape shape{};
  std::string kernel{};
  MeasuredPoint point{};
  std::string name{};     // for messages
  std::size_t table = 0;  // of imported rows: the file it comes from
};

/// Non-negative coefficients of floor, FLOPs, bytes and waves that minimise the squared relative
/// error over the points (Lawson and Hanson; calibrate/fit.hpp). With fewer points than terms,
/// leaves out the later ones of bytes, floor, FLOPs, waves. The base is above 0 at each point.
/// Precondition: not empty, all times above 0.
PhysicalTerms fit_terms(std::span<const TimedPoint> points, int multiprocessors);

struct FittedCurves {
  std::vector<MeasuredCurve> curves{};  // by shape, then by kernel, the fastest last
  std::vector<std::string> rejected{};  // points faster than physics, one line each
};

/// Fits one base for all shapes of a family, kernel source and number format (memory-bound
/// operators: and name), then one curve per shape on it. Rejects points that beat `physics` (its
/// peaks and bandwidth, beats_physics); null: rejects none. Of several points at the same size of
/// one curve the first is used. A shape whose sources overtake each other also gets a curve of the
/// fastest (fastest_of), by version of an engine if kernels name one.
FittedCurves fit_curves(std::span<const TimedPoint> points, int multiprocessors,
                        const Gpu* physics);

/// If several sources of one shape overtake each other across sizes: the fastest at each size, as
/// run by an engine that chooses by size, named after all of them. Returns nullopt if one is
/// fastest at all sizes or is the only one. Precondition: curves of one shape.
std::optional<MeasuredCurve> fastest_of(std::span<const MeasuredCurve> sources,
                                        int multiprocessors);

/// Relative error of predicting point `i` of a curve from the others; nullopt at the curve's ends,
/// where the others cannot predict it.
std::optional<double> leave_one_out_error(const MeasuredCurve& curve, std::size_t i,
                                          int multiprocessors);

}  // namespace roofcast
