// An operator's measured times, worked out in advance for a caller that asks often.
#pragma once

#include <optional>

#include "model/curves/measured_curve.hpp"
#include "model/curves/monotone_table.hpp"
#include "model/hardware/gpu.hpp"
#include "model/step/attention_tail.hpp"
#include "model/step/step_time.hpp"

namespace roofcast {

/// Answers from the curves of one shape. Where the points say that more tokens (or sequences, or
/// context) take less time, the longer time of the smaller size stands; all else is answer()'s to
/// within 1 %: the table's nodes are the points and four to eight sizes an octave between them.
/// A batch is known by its sequences and their mean context only. Replacing one long sequence by
/// several short ones of the same total may therefore make it shorter, as it is on a device.
class MeasuredTimes {
 public:
  /// Precondition: the blend has parts; a prefill's span is full or sliding.
  MeasuredTimes(CurveBlend blend, int multiprocessors, const AttentionSpan& span = {});

  /// One call. x and y as in shape_work(); y is capped by a sliding span.
  Seconds at(double x, double y) const;

  /// at()'s time with the provenance and uncertainty of the curves' answer.
  CurveAnswer explain(double x, double y) const;

  /// What a decode batch takes beyond at() because its sequences are not alike.
  Seconds tail(const UnevenBatch& batch) const;
  /// Whether it can be above 0: the time of one sequence's token is known.
  bool has_tail() const { return tail_token_.value > 0; }

  /// Beside prefill: of a tile of one head's queries that a sequence does not fill.
  Seconds empty_tile() const { return empty_tile_; }

  bool writes_cache() const { return writes_cache_; }
  /// Of at(), what one call is shorter in a captured graph.
  Seconds graph_saving() const { return graph_saving_; }

  /// Of at(), what is paid once however many sequences one call computes.
  Seconds fixed() const { return fixed_; }

 private:
  CurveAnswer curve_answer(double x, double y) const;
  CurveAnswer sliding_answer(double x, double y) const;
  std::vector<double> x_nodes() const;
  std::vector<double> y_nodes() const;

  CurveBlend blend_;
  int multiprocessors_ = 1;
  AttentionSpan span_{};
  Seconds fixed_{};
  Seconds empty_tile_{};
  Seconds tail_token_{};
  Seconds graph_saving_{};
  bool writes_cache_ = false;
  std::optional<MonotoneTable> table_;
};

/// The times measured for a shape on this GPU; nothing where neither it nor a neighbour was timed.
std::optional<MeasuredTimes> measured_times(const Gpu& gpu, const OperatorShape& shape,
                                            const AttentionSpan& span = {});

}  // namespace roofcast
