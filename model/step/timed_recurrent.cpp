#include "model/step/timed_recurrent.hpp"

#include <algorithm>
#include <utility>

namespace roofcast {

namespace {

std::optional<MeasuredTimes> times_of(const std::optional<RecurrentShapes>& shapes,
                                      OperatorShape RecurrentShapes::*kernel, const Gpu& gpu,
                                      std::string_view engine) {
  if (!shapes) return std::nullopt;
  return measured_times(gpu, *shapes.*kernel, {}, engine);
}

}  // namespace

TimedRecurrent::Side::Side(const std::optional<RecurrentShapes>& shapes, const Gpu& gpu,
                           std::string_view engine)
    : convolution(times_of(shapes, &RecurrentShapes::convolution, gpu, engine)),
      recurrence(times_of(shapes, &RecurrentShapes::recurrence, gpu, engine)) {}

TimedRecurrent::TimedRecurrent(RecurrentOperator op, const Gpu& gpu, std::string_view engine)
    : whole_(op, gpu, engine),
      layers_(static_cast<double>(op.decode.calls) / static_cast<double>(kRecurrentKernels)),
      decode_(op.decode_shapes, gpu, engine),
      prefill_(op.prefill_shapes, gpu, engine) {}

TimedRecurrent::Size TimedRecurrent::decode_size(const StepBatch& batch) {
  return {static_cast<double>(batch.decode_new_tokens),
          static_cast<double>(batch.decode_sequences)};
}

TimedRecurrent::Size TimedRecurrent::prefill_size(const StepBatch& batch) {
  double sum = 0;
  double squares = 0;
  for (const PrefillChunk& chunk : batch.prefills) {
    const auto tokens = static_cast<double>(chunk.new_tokens);
    sum += tokens;
    squares += tokens * tokens;
  }
  const double prompts = std::max(1.0, sum * sum / squares);
  return {sum / prompts, prompts};
}

Seconds TimedRecurrent::time_of(const Side& side, const Size& size, Seconds whole) const {
  if (!side.any()) return whole;
  Seconds total;
  for (const auto* kernel : {&side.convolution, &side.recurrence}) {
    total += *kernel ? (*kernel)->at(size.x, size.y) * layers_ : whole / 2.0;
  }
  return total;
}

Seconds TimedRecurrent::decode_time(const StepBatch& batch, const Gpu& gpu) const {
  const Seconds time = time_of(decode_, decode_size(batch), whole_.decode_time(batch, gpu));
  return decode_.any() ? std::max(time, whole_.least_decode_time(batch, gpu)) : time;
}

Seconds TimedRecurrent::prefill_time(const StepBatch& batch, const Gpu& gpu) const {
  const Seconds time = time_of(prefill_, prefill_size(batch), whole_.prefill_time(batch, gpu));
  return prefill_.any() ? std::max(time, whole_.least_prefill_time(batch, gpu)) : time;
}

OperatorEstimate TimedRecurrent::explained(const Side& side, const Size& size,
                                           OperatorEstimate whole, Seconds total) const {
  if (!side.any()) return whole;
  Provenance provenance = Provenance::measured;
  double deviation = 0;  // of all layers, in seconds
  for (const auto* kernel : {&side.convolution, &side.recurrence}) {
    if (!*kernel) {
      provenance = std::max(provenance, whole.provenance);
      deviation += whole.time.value / 2.0 * whole.relative_uncertainty;
      continue;
    }
    const CurveAnswer answer = (*kernel)->explain(size.x, size.y);
    provenance = std::max(provenance, answer.provenance);
    deviation += answer.time.value * layers_ * answer.relative_uncertainty;
    whole.source = (*kernel)->source();
  }
  whole.time = total;
  whole.provenance = provenance;
  whole.relative_uncertainty = deviation / total.value;
  return whole;
}

OperatorEstimate TimedRecurrent::explain_decode(const StepBatch& batch, const Gpu& gpu) const {
  return explained(decode_, decode_size(batch), whole_.explain_decode(batch, gpu),
                   decode_time(batch, gpu));
}

OperatorEstimate TimedRecurrent::explain_prefill(const StepBatch& batch, const Gpu& gpu) const {
  return explained(prefill_, prefill_size(batch), whole_.explain_prefill(batch, gpu),
                   prefill_time(batch, gpu));
}

}  // namespace roofcast
