// What kernels reach of the datasheet's limits: from the GPU's own curves when its profile has
// them, else from a default of the operator's family. Efficiencies hold after the fixed time per
// call is paid: time = calls * floor + roofline / efficiency.
#pragma once

#include <vector>

#include "model/step/roofline.hpp"

namespace roofcast {

/// A curve of efficiency over size, bent where it must be so that size / efficiency never falls:
/// more work is never done in less time. Exact at every x, because efficiency is linear between
/// neighbouring powers of two and curve points, where size / efficiency is monotone.
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

/// Sizes at which a curve, read as a function of x, may bend: its points, and the powers of two
/// between them.
std::vector<double> bends(const Curve& curve);

/// What is known of one operator family (and number format) on one GPU.
struct EfficiencyEstimate {
  EfficiencyCurve curve;  // of the side that the family is measured on (shares_of in roofline.cpp)
  Provenance provenance = Provenance::datasheet;
  double relative_uncertainty = 0;  // one standard deviation
};

/// The best source for this operator: the profile's curve (fitted) or the family's default
/// (datasheet). Depends on family, format, compute and cache only.
EfficiencyEstimate efficiency_of(const Work& work, const Gpu& gpu);

/// estimate() for a caller that keeps the EfficiencyEstimate between calls.
Seconds expected_time(const Work& work, const Gpu& gpu, const EfficiencyEstimate& efficiency);
OperatorEstimate estimate(const Work& work, const Gpu& gpu, const EfficiencyEstimate& efficiency);

/// Fixed time of one call of this family.
Seconds floor_of(const Work& work, const Gpu& gpu);

/// What a rank sends in one call, as a share of the message: ring algorithms (nccl-tests,
/// PERFORMANCE.md).
double ring_share(Exchange exchange, int ranks);

/// Time of a collective, floors included: the profile's measured curve, else link and latency.
Seconds collective_time(const Work& work, const Gpu& gpu);
/// The link that `ranks` GPUs talk over. Throws Error when the profile has none.
const Link& link_between(const Gpu& gpu, int ranks);

}  // namespace roofcast
