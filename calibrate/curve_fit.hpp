// From timed points to curves: the physical base of each kernel family, fitted; the curves with
// their leave-one-out errors; and what cannot be true left out. Pure.
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
  std::string name{};  // for messages
};

/// Coefficients of floor, FLOPs, bytes and waves, none negative, that leave the least squared
/// relative error over the points (Lawson and Hanson; calibrate/fit.hpp). With fewer points than
/// terms, the later ones of bytes, floor, FLOPs, waves are left out. The base is above 0 at each
/// point. Precondition: not empty, all times above 0.
PhysicalTerms fit_terms(std::span<const TimedPoint> points, int multiprocessors);

struct FittedCurves {
  std::vector<MeasuredCurve> curves{};  // by shape; of one shape by kernel, the fastest last
  std::vector<std::string> rejected{};  // points faster than physics, one line each
};

/// One base for all shapes of a family, kernel source and number format (memory-bound operators: of
/// a name), then a curve a shape on it. Points that beat `physics` (its peaks and bandwidth,
/// beats_physics) are rejected; null: nothing is known that could be beaten. Of points at the same
/// size of one curve the first stays. A shape whose sources overtake each other gets the curve of
/// the fastest besides (fastest_of).
FittedCurves fit_curves(std::span<const TimedPoint> points, int multiprocessors,
                        const Gpu* physics);

/// Where several sources of one shape overtake each other over its sizes: the fastest at each size,
/// as an engine that chooses by size runs it; named after all of them. Nothing where one is fastest
/// at all sizes, or alone. Precondition: curves of one shape.
std::optional<MeasuredCurve> fastest_of(std::span<const MeasuredCurve> sources,
                                        int multiprocessors);

/// Relative error of answering point `i` of a curve from the others; nothing at the curve's ends,
/// where the others say nothing.
std::optional<double> leave_one_out_error(const MeasuredCurve& curve, std::size_t i,
                                          int multiprocessors);

}  // namespace roofcast
