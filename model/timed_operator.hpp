// Operators with what their time needs worked out in advance: the efficiency curve, and the
// longest time of any smaller count. Internal to step_estimate.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "model/efficiency.hpp"
#include "model/step_operators.hpp"

namespace roofcast {

/// An operator over a count whose time never falls as the count grows. A curve whose efficiency
/// rises faster than the work would make more tokens faster; the running maximum over smaller
/// counts stands instead. It is exact: between the counts at which the curve, the roofline or the
/// cached share bends, work and efficiency are linear in the count, so that their ratio is
/// monotone and its largest value lies at a bend. Experts bend at every count until all are picked.
class TimedOperator {
 public:
  TimedOperator(LinearOperator op, const Gpu& gpu);

  Seconds time(std::int64_t n, const Gpu& gpu) const;
  OperatorEstimate explain(std::int64_t n, const Gpu& gpu) const;
  std::int64_t calls() const { return op_.work.calls; }

 private:
  Seconds unbent_time(std::int64_t n, const Gpu& gpu) const;

  LinearOperator op_;
  Reach reach_;
  std::vector<std::int64_t> bend_;       // counts, ascending
  std::vector<Seconds> longest_so_far_;  // at or before that count
  mutable Work scratch_;                 // spares a copy of its strings at each call
};

/// An attention or recurrent operator: its work depends on more than one count.
template <class Operator>
class TimedMixer {
 public:
  TimedMixer(Operator op, const Gpu& gpu)
      : op_(std::move(op)),
        decode_reach_(reach_of(op_.decode, gpu)),
        prefill_reach_(reach_of(op_.prefill, gpu)),
        scratch_decode_(op_.decode),
        scratch_prefill_(op_.prefill) {}

  Seconds decode_time(const StepBatch& batch, const Gpu& gpu) const {
    set_decode_work(op_, batch, scratch_decode_);
    return expected_time(scratch_decode_, gpu, decode_reach_);
  }
  Seconds prefill_time(const StepBatch& batch, const Gpu& gpu) const {
    set_prefill_work(op_, batch, scratch_prefill_);
    return expected_time(scratch_prefill_, gpu, prefill_reach_);
  }
  OperatorEstimate explain_decode(const StepBatch& batch, const Gpu& gpu) const {
    set_decode_work(op_, batch, scratch_decode_);
    return estimate(scratch_decode_, gpu, decode_reach_);
  }
  OperatorEstimate explain_prefill(const StepBatch& batch, const Gpu& gpu) const {
    set_prefill_work(op_, batch, scratch_prefill_);
    return estimate(scratch_prefill_, gpu, prefill_reach_);
  }
  std::int64_t calls() const { return op_.decode.calls; }

 private:
  Operator op_;
  Reach decode_reach_;
  Reach prefill_reach_;
  mutable Work scratch_decode_;
  mutable Work scratch_prefill_;
};

}  // namespace roofcast
