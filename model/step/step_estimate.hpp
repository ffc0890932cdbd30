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
  Seconds host{};  // the part of host work not hidden behind the device
  /// One standard deviation of the total. Operators of one family and provenance share their cause
  /// of error, so their errors add; families are assumed independent and combine in quadrature.
  double relative_uncertainty = 0;
  std::vector<OperatorEstimate> operators{};
};

/// One standard deviation of host times, relative. They come from other machines' CPUs, and no
/// figure for their spread was found (assumption).
inline constexpr double kHostUncertainty = 0.5;

/// Several steps as one: times add, and correlated errors within a step are correlated across all.
StepEstimate sum_of(const std::vector<StepEstimate>& steps);

/// The same with the times of each step multiplied by its weight; the work of the operators is not.
/// Precondition: as many weights as steps.
StepEstimate sum_of(const std::vector<StepEstimate>& steps, const std::vector<double>& weights);

/// Implements StepTime operator by operator: from the GPU's measured curves if it has them, else
/// from the roofline with its efficiencies. Copies what it needs. Calls with equal token counts
/// reuse GEMM times, so each thread needs its own copy. More tokens never take less time: where a
/// curve says so, the longer time of the smaller count is used (for a decode batch of measured
/// attention see measured_time.hpp). Under pipeline parallelism a step takes its tokens through all
/// stages, one after the other; divide() tells them apart, for several steps at once. Under data
/// parallelism it is the step of one rank, with equal load on the others. Prefill and decode
/// attention of a mixed step are two kernels, unless decoding in a step with prefill was measured.
class RooflineStepTime final : public StepTime {
 public:
  explicit RooflineStepTime(Deployment deployment);
  ~RooflineStepTime() override;

  const std::vector<AttentionSpan>& spans() const override;
  Seconds seconds(const StepBatch& batch) const override;
  int stages() const override;
  /// The host's work that is exposed comes before the first stage.
  void divide(const StepBatch& batch, StagedTime& time) const override;
  bool asks_for_longest() const override;

  /// The same step with the time of every operator.
  StepEstimate explain(const StepBatch& batch) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace roofcast
