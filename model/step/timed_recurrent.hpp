// Recurrent mixers with measured times of their kernels. Internal to step_estimate.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/step/operator_time.hpp"

namespace roofcast {

/// A recurrent mixer is a convolution and a recurrence. Where curves name them (family
/// `recurrent`), each takes its own time, and one that was not timed half of the operator's; else
/// both take what the operator does.
/// Prompts of unequal length count as as many equal ones as have the same (sum of lengths)^2 / sum
///  of squared lengths, each of the mean length.
class TimedRecurrent {
 public:
  TimedRecurrent(RecurrentOperator op, const Gpu& gpu, std::string_view engine);

  Seconds decode_time(const StepBatch& batch, const Gpu& gpu) const;
  Seconds prefill_time(const StepBatch& batch, const Gpu& gpu) const;
  OperatorEstimate explain_decode(const StepBatch& batch, const Gpu& gpu) const;
  OperatorEstimate explain_prefill(const StepBatch& batch, const Gpu& gpu) const;
  /// The part of decode_time() that a captured graph saves.
  Seconds graph_saving() const { return decode_.any() ? Seconds{} : whole_.graph_saving(); }

 private:
  struct Side {
    Side(const std::optional<RecurrentShapes>& shapes, const Gpu& gpu, std::string_view engine);

    bool any() const { return convolution || recurrence; }

    std::optional<MeasuredTimes> convolution{};
    std::optional<MeasuredTimes> recurrence{};
  };
  struct Size {
    double x = 0;
    double y = 0;
  };

  static Size decode_size(const StepBatch& batch);
  static Size prefill_size(const StepBatch& batch);
  Seconds time_of(const Side& side, const Size& size, Seconds whole) const;
  OperatorEstimate explained(const Side& side, const Size& size, OperatorEstimate whole,
                             Seconds total) const;

  TimedMixer<RecurrentOperator> whole_;
  double layers_ = 0;
  Side decode_;
  Side prefill_;
};

}  // namespace roofcast
