// The share of the datasheet's limits that kernels reach: from the GPU's own curves if its profile
// has them, else from a default for the operator's family. Efficiencies apply after the fixed time
// per call is paid: time = calls * floor + roofline / efficiency.
#pragma once

#include <cstdint>
#include <vector>

#include "model/step/roofline.hpp"

namespace roofcast {

/// Calls of the fused expert operator in a layer: into the experts (gate and up) and out of them
/// (down). Each pays its share of Floors::moe, which is of the layer's whole expert block.
inline constexpr std::int64_t kExpertCalls = 2;

/// Head size to which efficiency curves of prefill attention refer.
inline constexpr double kReferenceHeadSize = 128.0;

/// A curve of efficiency over size, adjusted so that size / efficiency never falls: more work never
/// takes less time. Exact at every x, because efficiency is linear between neighbouring powers of
/// two and curve points, where size / efficiency is monotone.
class EfficiencyCurve {
 public:
  explicit EfficiencyCurve(Curve curve);

  double at(double x) const;  // precondition: x > 0
  const Curve& curve() const { return curve_; }

 private:
  Curve curve_;
  std::vector<double> node_;        // x
  std::vector<double> max_so_far_;  // largest x / efficiency at or before that node
};

/// Sizes at which a curve may bend as a function of x: its points, and the powers of two between
/// them.
std::vector<double> bends(const Curve& curve);

/// The efficiency of one operator family (and number format) on one GPU, as it is known.
struct EfficiencyEstimate {
  EfficiencyCurve curve;  // of the limit that the family is measured against (roofline.cpp)
  Provenance provenance = Provenance::datasheet;
  double relative_uncertainty = 0;  // one standard deviation
};

/// The best source for this operator: the profile's curve (fitted) or the family's default
/// (datasheet). Depends only on family, format, compute and cache.
EfficiencyEstimate efficiency_of(const Work& work, const Gpu& gpu);

/// Fixed time per call of this family.
Seconds floor_of(const Work& work, const Gpu& gpu);

}  // namespace roofcast
