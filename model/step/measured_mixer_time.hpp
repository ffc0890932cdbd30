// How a step asks the measured times of attention and recurrent kernels, whose work depends on more
// than one count. Internal to operator_time.hpp.
#pragma once

#include <cstdint>
#include <optional>

#include "model/step/deployment_operators.hpp"
#include "model/step/measured_time.hpp"
#include "model/step/roofline.hpp"

namespace roofcast {

/// What measured curves know a mixer's kernels by. A recurrent state's move bytes like any
/// memory-bound operator.
OperatorShape recurrent_shape(const Work& work);
inline std::optional<OperatorShape> decode_shape(const AttentionOperator& op) {
  return op.decode_shape;
}
inline std::optional<OperatorShape> beside_shape(const AttentionOperator& op) {
  std::optional<OperatorShape> shape = op.decode_shape;
  if (shape) shape->beside_prefill = true;
  return shape;
}
inline std::optional<OperatorShape> beside_shape(const RecurrentOperator&) { return std::nullopt; }
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
///  Decode: at the number of sequences and the mean of what they attend to. Several new tokens a
///  sequence read the cache once, and are taken to cost no more while memory bounds the kernel. In
///  a kernel that computes prompts too, every sequence gets as many tiles of queries as the longest
///  chunk: those that it does not fill are paid for besides.
///  Prefill: a ragged kernel computes all chunks in one call. Each chunk adds what it takes alone
///  beyond the kernel's fixed time, which is paid once.
Seconds measured_decode(const MeasuredTimes& times, const AttentionOperator& op,
                        const StepBatch& batch, const Work& work);
Seconds measured_decode(const MeasuredTimes& times, const RecurrentOperator& op,
                        const StepBatch& batch, const Work& work);
Seconds measured_prefill(const MeasuredTimes& times, const AttentionOperator& op,
                         const StepBatch& batch, const Work& work);
Seconds measured_prefill(const MeasuredTimes& times, const RecurrentOperator& op,
                         const StepBatch& batch, const Work& work);

/// The same with provenance and uncertainty: the worst provenance of the chunks, and the mean of
/// their uncertainties, weighted by time, since one curve errs alike for all.
CurveAnswer explain_decode(const MeasuredTimes& times, const AttentionOperator& op,
                           const StepBatch& batch, const Work& work);
CurveAnswer explain_decode(const MeasuredTimes& times, const RecurrentOperator& op,
                           const StepBatch& batch, const Work& work);
CurveAnswer explain_prefill(const MeasuredTimes& times, const AttentionOperator& op,
                            const StepBatch& batch, const Work& work);
CurveAnswer explain_prefill(const MeasuredTimes& times, const RecurrentOperator& op,
                            const StepBatch& batch, const Work& work);

/// `calls` calls of a measured time, never below what physics allows.
Seconds measured_total(Seconds one_call, std::int64_t calls, const Work& work, const Gpu& gpu);
/// The estimate that `total`, made of answers like `answer`, comes to; `fixed` as in bound_of().
OperatorEstimate measured_estimate(CurveAnswer answer, Seconds total, Seconds fixed,
                                   const Work& work, const Gpu& gpu);

}  // namespace roofcast
