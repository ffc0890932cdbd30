// Step time from measured curves and the roofline: the sum of a step's operators and the engine's
// host time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/step/step_work.hpp"

namespace roofcast {

struct StepEstimate {
  Seconds total{};  // what StepTime::seconds returns for the same batch
  Seconds device{};
  Seconds host{};  // the part of host work that is not hidden behind the device
  /// One standard deviation of the total. Operators of one family and provenance share their cause
  /// of error and add up; families are taken as independent and combine in quadrature.
  double relative_uncertainty = 0;
  std::vector<OperatorEstimate> operators{};
};

/// One standard deviation of host times, relative: they come from other machines' CPUs, and no
/// figure for their spread was found (assumption).
inline constexpr double kHostUncertainty = 0.5;

/// Several steps as one: times add up, and what errs together in a step errs together over all.
StepEstimate sum_of(const std::vector<StepEstimate>& steps);

/// Answers the seam operator by operator: from the GPU's measured curves where it has them, else by
/// the roofline with its efficiencies. Copies what it needs. Calls with
/// equal token counts reuse their GEMM times; safe to use from several threads only if each has
/// its own copy. More tokens never take less time: where a curve says so, the longer time of the
/// smaller count stands (a decode batch of measured attention: see measured_time.hpp).
/// Under pipeline parallelism a step is the way of its tokens through all stages; that other
/// batches fill the other stages meanwhile is not modelled. Under data parallelism it is the step
/// of one rank, the others being equally loaded. Prefill and decode attention of a mixed step are
/// two kernels, unless what decoding takes beside prefill was measured.
class RooflineStepTime final : public StepTime {
 public:
  explicit RooflineStepTime(Deployment deployment);
  ~RooflineStepTime() override;

  const std::vector<AttentionSpan>& spans() const override;
  Seconds seconds(const StepBatch& batch) const override;
  bool asks_for_longest() const override;

  /// The same step with every operator's share.
  StepEstimate explain(const StepBatch& batch) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace roofcast
