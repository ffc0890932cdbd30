// Chooses the curve that answers for a shape.
#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/chord_log2.hpp"
#include "model/curves/measured_curve.hpp"

namespace roofcast {

namespace {

// Neighbours used for a GEMM that was never timed: enough to surround a point in two dimensions.
constexpr std::size_t kNeighbours = 4;

/// Formats that the same kernels run at the same speed: 16-bit floats, and 4-bit integers in
/// groups, with and without zero points.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kStandIns{{{"fp16", "bf16"},
                                                                                  {"bf16", "fp16"},
                                                                                  {"awq", "int4"},
                                                                                  {"gptq", "int4"},
                                                                                  {"awq", "gptq"},
                                                                                  {"gptq", "awq"}}};

/// Product over the common points of the time of `a` divided by that of `b`; 1 without any.
double relative_time(const MeasuredCurve& a, const MeasuredCurve& b) {
  double product = 1;
  auto other = b.points.begin();
  for (const MeasuredPoint& point : a.points) {
    const auto before = [&](const MeasuredPoint& p) {
      return p.x < point.x || (p.x == point.x && p.y < point.y);
    };
    while (other != b.points.end() && before(*other)) ++other;
    if (other == b.points.end()) break;
    if (other->x == point.x && other->y == point.y) product *= point.time / other->time;
  }
  return product;
}

/// The kernel of a shape, with more or less general ones that do the same work where it was not
/// timed: a window's full attention, evenly picked experts, attention in the other arithmetic.
std::vector<OperatorShape> kernels_of(const OperatorShape& shape) {
  std::vector<OperatorShape> result{shape};
  if (shape.window > 0) {
    result.push_back(shape);
    result.back().window = 0;
  }
  if (shape.family == OperatorFamily::memory_bound && shape.inputs > 0) {
    result.push_back(shape);
    result.back().inputs = 0;
  }
  if (shape.power_law > 0) {
    result.push_back(shape);
    result.back().power_law = 0;
  }
  if (is_attention(shape.family) && shape.cache == DType::fp8) {
    const std::size_t own = result.size();
    for (std::size_t i = 0; i < own; ++i) {
      result.push_back(result[i]);
      result.back().fp8_arithmetic = !shape.fp8_arithmetic;
    }
  }
  return result;
}

/// The same operator in formats whose kernels can substitute for its own, best first.
std::vector<OperatorShape> stand_ins(const OperatorShape& shape) {
  std::vector<OperatorShape> result;
  for (const auto& [format, other] : kStandIns) {
    if (shape.format != format) continue;
    result.push_back(shape);
    result.back().format = other;
  }
  if (is_attention(shape.family) && (shape.cache == DType::fp16 || shape.cache == DType::bf16)) {
    result.push_back(shape);
    result.back().cache = shape.cache == DType::fp16 ? DType::bf16 : DType::fp16;
  }
  return result;
}

double octaves_between(const OperatorShape& a, const OperatorShape& b) {
  const auto octaves = [](std::int64_t from, std::int64_t to) {
    if (from == to) return 0.0;
    return std::abs(chord_log2(static_cast<double>(to)) - chord_log2(static_cast<double>(from)));
  };
  return octaves(a.outputs, b.outputs) + octaves(a.inputs, b.inputs);
}

struct Neighbour {
  double octaves = 0;
  const MeasuredCurve* curve = nullptr;
};

/// The nearest timed GEMMs in the shape's own format, nearest first, one source each.
std::vector<Neighbour> neighbours_of(const Measured& measured, const OperatorShape& shape) {
  std::vector<Neighbour> all;
  for (const MeasuredCurve& curve : measured.curves) {
    if (curve.shape.family != shape.family || curve.shape.format != shape.format ||
        curve.shape.query_heads != shape.query_heads || curve.shape.name != shape.name) {
      continue;
    }
    all.push_back({octaves_between(curve.shape, shape), &curve});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Neighbour& a, const Neighbour& b) { return a.octaves < b.octaves; });
  std::vector<Neighbour> nearest;
  for (const Neighbour& one : all) {
    if (nearest.size() == kNeighbours) break;
    const MeasuredCurve* fastest = find_curve(measured, one.curve->shape);
    const bool listed = std::any_of(nearest.begin(), nearest.end(),
                                    [&](const Neighbour& other) { return other.curve == fastest; });
    if (!listed) nearest.push_back({one.octaves, fastest});
  }
  return nearest;
}

CurveBlend blend_of(const std::vector<Neighbour>& neighbours, const OperatorShape& shape) {
  CurveBlend blend{.octaves = neighbours.front().octaves, .shape = shape};
  double sum = 0;
  for (const Neighbour& neighbour : neighbours) sum += 1.0 / neighbour.octaves;
  for (const Neighbour& neighbour : neighbours) {
    blend.parts.push_back({*neighbour.curve, 1.0 / neighbour.octaves / sum});
  }
  return blend;
}

}  // namespace

const MeasuredCurve* find_curve(const Measured& measured, const OperatorShape& shape) {
  const MeasuredCurve* best = nullptr;
  for (const MeasuredCurve& curve : measured.curves) {
    if (curve.shape != shape) continue;
    if (best == nullptr || relative_time(curve, *best) < 1.0) best = &curve;
  }
  return best;
}

CurveBlend find_blend(const Measured& measured, const OperatorShape& shape) {
  for (const OperatorShape& kernel : kernels_of(shape)) {
    if (const MeasuredCurve* own = find_curve(measured, kernel)) {
      return {.parts = {{*own, 1.0}}, .shape = kernel};
    }
  }
  const std::vector<OperatorShape> others = stand_ins(shape);
  for (const OperatorShape& other : others) {
    for (const OperatorShape& kernel : kernels_of(other)) {
      const MeasuredCurve* curve = find_curve(measured, kernel);
      if (curve == nullptr) continue;
      CurveBlend blend{.parts = {{*curve, 1.0}}, .borrowed = true, .shape = shape};
      blend.shape.window = kernel.window;
      blend.shape.power_law = kernel.power_law;
      blend.shape.fp8_arithmetic = kernel.fp8_arithmetic;
      return blend;
    }
  }
  const bool rows = shape.family == OperatorFamily::memory_bound && shape.inputs > 0;
  if (shape.family != OperatorFamily::gemm && !rows) return {.shape = shape};
  auto neighbours = neighbours_of(measured, shape);
  if (!neighbours.empty()) return blend_of(neighbours, shape);
  for (const OperatorShape& other : others) {
    neighbours = neighbours_of(measured, other);
    if (neighbours.empty()) continue;
    // No distance is 0: the same size would have been found above.
    CurveBlend blend = blend_of(neighbours, shape);
    blend.borrowed = true;
    return blend;
  }
  return {.shape = shape};
}

CurveAnswer answer(const CurveBlend& blend, double x, double y, int multiprocessors) {
  if (blend.octaves == 0 && !blend.borrowed) {
    return answer(blend.parts.front().curve, x, y, multiprocessors);
  }
  Seconds mean;
  double deviation = 0;
  std::vector<Seconds> times;
  for (const CurveBlend::Part& part : blend.parts) {
    const CurveAnswer theirs = answer(part.curve, x, y, multiprocessors);
    MeasuredCurve here{.shape = blend.shape, .terms = part.curve.terms};
    here.shape.format = part.curve.shape.format;
    here.shape.cache = part.curve.shape.cache;
    const double ratio = theirs.time / base_time(part.curve, x, y, multiprocessors);
    times.push_back(base_time(here, x, y, multiprocessors) * ratio);
    mean += times.back() * part.weight;
    deviation = std::max(deviation, theirs.relative_uncertainty);
  }
  double variance = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const double off = times[i] / mean - 1.0;
    variance += blend.parts[i].weight * off * off;
  }
  deviation = std::hypot(deviation * std::sqrt(1.0 + 2.0 * blend.octaves), std::sqrt(variance));
  return {.time = mean,
          .provenance = Provenance::extended,
          .relative_uncertainty = std::min(1.0, deviation)};
}

}  // namespace roofcast
