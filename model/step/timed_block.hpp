// Whole attention blocks with measured times. Internal to step_estimate.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "model/step/attention_block.hpp"
#include "model/step/operator_time.hpp"

namespace roofcast {

/// Times by count, computed on first use.
class TimesByCount {
 public:
  template <class Function>
  Seconds at(std::int64_t n, Function compute) {
    if (n > kLargestKept) return compute();
    const auto index = static_cast<std::size_t>(n);
    if (index >= seconds_.size()) seconds_.resize(index + 1, kUnknown);
    if (seconds_[index].value < 0) seconds_[index] = compute();
    return seconds_[index];
  }

 private:
  // Times of steps with more tokens are not kept: no engine's budget reaches this.
  static constexpr std::int64_t kLargestKept = std::int64_t{1} << 16;
  static constexpr Seconds kUnknown{-1.0};
  std::vector<Seconds> seconds_;
};

/// The attention blocks of equal layers. In a step that only decodes, or only computes prompts,
/// they take what a block was measured to take, instead of the sum of their parts. In a mixed step
/// the projections of both are computed together: the two blocks' times less what the parts say
/// that this saves,
///   M_decode + M_prefill - (P(n_decode) + P(n_prefill) - P(n_decode + n_prefill)),
/// where M are the blocks and P(n) is the sum of the projections and other operators over n tokens,
/// and never less than either. A phase whose block was not timed takes the sum of its parts. The
/// parts share the block's time in proportion to their own.
///
/// Where the layer has one of the projections in another format than the block was timed in (16-bit
/// latent attention with its output projection in 4 bits), that part's own time stands in the block
/// for what it takes in the format of the others,
///   M - P_timed(n) + P_own(n),
/// never less than P_own(n).
class TimedBlock {
 public:
  /// `engine` ("vllm-0.24") chooses among the sources of measured times. Preconditions: at least
  /// one mixer; all of this block.
  TimedBlock(const BlockShapes& shapes, const std::vector<LinearOperator>& parts,
             std::vector<AttentionOperator> mixers, const Gpu& gpu, std::string_view engine);

  /// Has the projections `timed_otherwise` of the block's times replaced by `in_own_format`, the
  /// same products in the formats that the layers have them in.
  void replace(const std::vector<LinearOperator>& timed_otherwise,
               const std::vector<LinearOperator>& in_own_format, const Gpu& gpu,
               std::string_view engine);

  /// Time of all layers in a step; counts as step_counts() has them.
  Seconds time(const StepBatch& batch, const StepCounts& counts, const Gpu& gpu) const;

  /// The same for each part, with the block's provenance and uncertainty.
  std::vector<OperatorEstimate> explain(const StepBatch& batch, const StepCounts& counts,
                                        const Gpu& gpu) const;

 private:
  /// Decoding, or computing prompts.
  struct Side {
    Side(const OperatorShape& block, const Gpu& gpu, std::string_view engine);

    OperatorShape shape{};
    std::optional<MeasuredTimes> times{};
  };

  struct Size {
    double x = 0;
    double y = 0;
  };

  Seconds parts_time(std::int64_t tokens, const Gpu& gpu) const;
  Seconds in_own_formats(Seconds block, std::int64_t tokens, const Gpu& gpu) const;
  Seconds decode_time(const StepBatch& batch, std::int64_t tokens, const Gpu& gpu) const;
  Seconds prefill_time(const StepBatch& batch, std::int64_t tokens, const Gpu& gpu) const;
  Size decode_size(const StepBatch& batch, std::int64_t tokens) const;

  Side decode_;
  Side prefill_;
  std::vector<TimedOperator> parts_;  // of all tokens
  std::vector<TimedOperator> decode_parts_;
  std::vector<TimedOperator> prefill_parts_;
  std::vector<TimedOperator> timed_otherwise_;  // in the block's times; replaced by replacing_
  std::vector<TimedOperator> replacing_;
  std::vector<AttentionOperator> operators_;
  std::vector<TimedMixer<AttentionOperator>> mixers_;
  double layers_ = 0;
  mutable TimesByCount parts_times_;
};

/// Whether `gpu` has curves for the block, of either phase, that answer for `engine`.
bool has_block_times(const BlockShapes& shapes, const Gpu& gpu, std::string_view engine);

}  // namespace roofcast
