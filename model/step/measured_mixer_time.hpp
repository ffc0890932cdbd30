// How a step looks up measured times of attention and recurrent kernels, whose work depends on more
// than one count. Internal to operator_time.hpp.
#pragma once

#include <cstdint>
#include <optional>

#include "model/step/deployment_operators.hpp"
#include "model/step/measured_time.hpp"
#include "model/step/roofline.hpp"

namespace roofcast {

/// The shape under which measured curves list a recurrent mixer's kernels. They move the state's
/// bytes like any memory-bound operator.
OperatorShape recurrent_shape(const Work& work);
inline std::optional<OperatorShape> decode_shape(const AttentionOperator& op) {
  return op.decode_shape;
}
inline std::optional<OperatorShape> decode_shape_beside_prefill(const AttentionOperator& op) {
  std::optional<OperatorShape> shape = op.decode_shape;
  if (shape) shape->beside_prefill = true;
  return shape;
}
inline std::optional<OperatorShape> decode_shape_beside_prefill(const RecurrentOperator&) {
  return std::nullopt;
}
inline std::optional<OperatorShape> prefill_shape(const AttentionOperator& op) {
  return op.prefill_shape;
}
inline std::optional<OperatorShape> decode_shape(const RecurrentOperator& op) {
  return recurrent_shape(op.decode);
}
inline std::optional<OperatorShape> prefill_shape(const RecurrentOperator& op) {
  return recurrent_shape(op.prefill);
}
inline AttentionSpan span_of(const AttentionOperator& op) { return op.span; }
inline AttentionSpan span_of(const RecurrentOperator&) { return {}; }

/// Measured time of one of the operator's calls in this step, whose work is `work`.
///  Decode: at the number of sequences and the average of what they attend to. Several new tokens
///  per sequence read the cache once, and are assumed to cost no more while the kernel is
///  memory-bound. In a kernel that also computes prompts, every sequence gets as many query tiles
///  as the longest chunk; the tiles it does not fill are added.
///  Prefill: a ragged kernel computes all chunks in one call. Each chunk adds its time alone minus
///  the kernel's fixed time, which is paid once; batches that were timed say what they take of that
///  sum (MeasuredTimes::batch_ratio). Never less than the longest chunk alone.
Seconds measured_decode(const MeasuredTimes& times, const AttentionOperator& op,
                        const StepBatch& batch, const Work& work);
Seconds measured_decode(const MeasuredTimes& times, const RecurrentOperator& op,
                        const StepBatch& batch, const Work& work);
Seconds measured_prefill(const MeasuredTimes& times, const AttentionOperator& op,
                         const StepBatch& batch, const Work& work);
Seconds measured_prefill(const MeasuredTimes& times, const RecurrentOperator& op,
                         const StepBatch& batch, const Work& work);

/// Latent attention: the time to expand keys and values of the prompts' cached tokens in all
/// layers, which measured attention over expanded ones does not have: one product a layer.
Seconds expansion_time(const AttentionOperator& op, const StepBatch& batch, const Gpu& gpu);
inline Seconds expansion_time(const RecurrentOperator&, const StepBatch&, const Gpu&) { return {}; }

/// The same with provenance and uncertainty: the worst provenance of the chunks, and the mean of
/// their uncertainties weighted by time, since one curve has the same error for all.
CurveAnswer explain_decode(const MeasuredTimes& times, const AttentionOperator& op,
                           const StepBatch& batch, const Work& work);
CurveAnswer explain_decode(const MeasuredTimes& times, const RecurrentOperator& op,
                           const StepBatch& batch, const Work& work);
CurveAnswer explain_prefill(const MeasuredTimes& times, const AttentionOperator& op,
                            const StepBatch& batch, const Work& work);
CurveAnswer explain_prefill(const MeasuredTimes& times, const RecurrentOperator& op,
                            const StepBatch& batch, const Work& work);

/// `calls` calls of a measured time, never below the physical limit.
Seconds measured_total(Seconds one_call, std::int64_t calls, const Work& work, const Gpu& gpu);
/// The estimate for `total`, made of answers like `answer`; `fixed` as in bound_of().
OperatorEstimate measured_estimate(CurveAnswer answer, Seconds total, Seconds fixed,
                                   const Work& work, const Gpu& gpu);

}  // namespace roofcast
