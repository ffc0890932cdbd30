// Operators with precomputed time tables: measured times, or the efficiency curve and the longest
// time of any smaller count. Internal to step_estimate.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/step/deployment_operators.hpp"
#include "model/step/dispatched_experts.hpp"
#include "model/step/efficiency.hpp"
#include "model/step/measured_mixer_time.hpp"
#include "model/step/measured_time.hpp"

namespace roofcast {

/// An operator over a count whose time never falls as the count grows. Uses measured times if the
/// GPU has them (MeasuredTimes ensures this), else efficiencies. With efficiencies, a curve that
/// rises faster than the work would make more tokens faster; the running maximum over smaller
/// counts replaces it. It is exact: between the counts at which the curve, the roofline or the
/// cached share bends, work and efficiency are linear in the count, so their ratio is monotone and
/// its maximum is at a bend. Experts bend at every count until all are chosen.
class TimedOperator {
 public:
  /// `engine` ("vllm-0.24") chooses among the sources of measured times.
  TimedOperator(LinearOperator op, const Gpu& gpu, std::string_view engine);

  /// `captured`: in a step whose kernels are those of a captured graph.
  Seconds time(std::int64_t n, const Gpu& gpu, bool captured = false) const;
  OperatorEstimate explain(std::int64_t n, const Gpu& gpu, bool captured = false) const;
  std::int64_t calls() const { return op_.work.calls; }
  const std::string& name() const { return op_.work.name; }
  /// The part of time() that a captured graph saves.
  Seconds graph_saving() const;

 private:
  Seconds kernel_time(std::int64_t n, const Gpu& gpu, bool captured) const;
  /// kernel_time() if nothing ran beside it.
  Seconds alone_time(std::int64_t n, const Gpu& gpu) const;
  /// What n rows take at least in the kernel that the engine was told to use.
  Seconds least_time(std::int64_t n) const;
  Seconds unbent_time(std::int64_t n, const Gpu& gpu) const;
  Seconds measured_time(std::int64_t n, const Gpu& gpu) const;
  /// Even picks are timed on tokens spread over as many experts as they can hit (aiconfigurator
  /// 095f58a, collector/helper.py, balanced_logits), while tokens that pick independently hit
  /// E (1 - (1 - k/E)^n) of them, and fewer where some experts are more popular than others: as
  /// many as fewer spread tokens do. Once spread tokens hit all, the experts that are not read are
  /// taken off. Of several ranks the one counts that most are hit on: the largest of as many
  /// binomial numbers of hits, as if these were normal.
  Seconds time_of_call(double size) const;
  /// Share of the experts of the timed shape that none of its tokens picks.
  double missed_share(double size) const;
  double size_of(std::int64_t n) const { return static_cast<double>(n) * op_.shape_each; }
  std::int64_t timed_calls() const { return op_.work.calls / op_.calls_of_shape; }

  LinearOperator op_;
  EfficiencyEstimate efficiency_;
  std::optional<MeasuredTimes> measured_;
  std::optional<DispatchedExperts> dispatched_;  // no slower than measured_
  bool spread_picks_ = false;                    // time_of_call()
  std::vector<double> log_missed_{};     // of LinearOperator::pick_classes: that a token misses one
  double busiest_by_chance_ = 0;         // its hits beyond the mean, in standard deviations
  std::vector<std::int64_t> bend_;       // counts, ascending
  std::vector<Seconds> longest_so_far_;  // at or before that count
  mutable Work scratch_;                 // avoids copying its strings at each call
};

std::vector<TimedOperator> timed(std::vector<LinearOperator> operators, const Gpu& gpu,
                                 std::string_view engine);

/// An attention or recurrent operator: its work depends on more than one count.
template <class Operator>
class TimedMixer {
 public:
  TimedMixer(Operator op, const Gpu& gpu, std::string_view engine)
      : op_(std::move(op)),
        decode_(op_.decode, decode_shape(op_), {}, gpu, engine),
        beside_(op_.decode, decode_shape_beside_prefill(op_), {}, gpu, engine),
        prefill_(op_.prefill, prefill_shape(op_), span_of(op_), gpu, engine) {}

  Seconds decode_time(const StepBatch& batch, const Gpu& gpu) const {
    const Side& side = decode_side(batch);
    Work& work = side.scratch;
    set_decode_work(op_, batch, work);
    if (!side.measured) return expected_time(work, gpu, side.efficiency);
    return measured_total(measured_decode(*side.measured, op_, batch, work), work.calls, work, gpu);
  }
  Seconds prefill_time(const StepBatch& batch, const Gpu& gpu) const {
    Work& work = prefill_.scratch;
    set_prefill_work(op_, batch, work);
    if (!prefill_.measured) return expected_time(work, gpu, prefill_.efficiency);
    return measured_total(measured_prefill(*prefill_.measured, op_, batch, work), work.calls, work,
                          gpu) +
           expansion_time(op_, batch, gpu);
  }
  OperatorEstimate explain_decode(const StepBatch& batch, const Gpu& gpu) const {
    const Seconds total = decode_time(batch, gpu);  // also fills in the work
    const Side& side = decode_side(batch);
    if (!side.measured) return estimate(side.scratch, gpu, side.efficiency);
    return side.measured_estimate(
        roofcast::explain_decode(*side.measured, op_, batch, side.scratch), total, gpu);
  }
  OperatorEstimate explain_prefill(const StepBatch& batch, const Gpu& gpu) const {
    const Seconds total = prefill_time(batch, gpu);
    if (!prefill_.measured) return estimate(prefill_.scratch, gpu, prefill_.efficiency);
    return prefill_.measured_estimate(
        roofcast::explain_prefill(*prefill_.measured, op_, batch, prefill_.scratch), total, gpu);
  }
  /// No kernel does it in less.
  Seconds least_decode_time(const StepBatch& batch, const Gpu& gpu) const {
    set_decode_work(op_, batch, decode_.scratch);
    return physical_limit(decode_.scratch, gpu);
  }
  Seconds least_prefill_time(const StepBatch& batch, const Gpu& gpu) const {
    set_prefill_work(op_, batch, prefill_.scratch);
    return physical_limit(prefill_.scratch, gpu);
  }
  std::int64_t calls() const { return op_.decode.calls; }
  /// The part of decode_time() that a captured graph saves: that of two kernels if one writes the
  /// cache.
  Seconds graph_saving() const {
    if (!decode_.measured) return {};
    const std::int64_t kernels = op_.decode.calls * (writes_cache() ? 2 : 1);
    return decode_.measured->graph_saving() * static_cast<double>(kernels);
  }
  /// Whether decode_time() uses the longest sequences of the batch.
  bool has_tail() const {
    return (decode_.measured && decode_.measured->has_tail()) ||
           (beside_.measured && beside_.measured->has_tail());
  }
  /// Whether its times include writing the new keys and values to the cache.
  bool writes_cache() const { return decode_.measured && decode_.measured->writes_cache(); }

 private:
  /// One of the operator's kernels.
  struct Side {
    Side(const Work& work, const std::optional<OperatorShape>& shape, const AttentionSpan& span,
         const Gpu& gpu, std::string_view engine)
        : efficiency(efficiency_of(work, gpu)), scratch(work) {
      if (shape) measured = measured_times(gpu, *shape, span, engine);
      if (measured && measured->fp8_arithmetic()) scratch.compute = DType::fp8;
    }
    OperatorEstimate measured_estimate(const CurveAnswer& answer, Seconds total,
                                       const Gpu& gpu) const {
      const Seconds fixed = measured->fixed() * static_cast<double>(scratch.calls);
      OperatorEstimate result = roofcast::measured_estimate(answer, total, fixed, scratch, gpu);
      result.source = measured->source();
      return result;
    }
    EfficiencyEstimate efficiency;
    std::optional<MeasuredTimes> measured{};
    mutable Work scratch;
  };

  /// The kernel that decodes in this step: the one that also computes prompts, if it was timed.
  const Side& decode_side(const StepBatch& batch) const {
    return !batch.prefills.empty() && beside_.measured ? beside_ : decode_;
  }

  Operator op_;
  Side decode_;
  Side beside_;
  Side prefill_;
};

}  // namespace roofcast
