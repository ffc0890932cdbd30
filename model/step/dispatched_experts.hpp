// Experts of a rank that gets their tokens alone, told from kernels timed with every token on it.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "model/curves/operator_shape.hpp"
#include "model/hardware/gpu.hpp"
#include "model/step/measured_time.hpp"

namespace roofcast {

/// Kernels of experts over ranks are timed with the tokens of all ranks on each: they pass over the
/// pairs of other ranks' experts, but not for nothing (SGLang 0.5.14 on H100: 2.0 ms for 16,384
/// tokens to DeepSeek-V3's experts, seconds_a_token in calibrate/tables/imported_rows.cpp). A time
/// over R ranks is thus M + L / R: M grows with all tokens, L is what the pairs of all experts
/// take, the reading of weights and the FLOPs, at the efficiency with which they were timed. L is
/// the slope of the times over 1 / R, by least squares over all numbers of ranks; a rank to which
/// DeepEP brings its own pairs takes L / R, and in addition what a call with one token does.
class DispatchedExperts {
 public:
  struct OverRanks {
    MeasuredTimes times;
    int ranks = 1;
  };

  /// `one_token`: of a call over `ranks`. Precondition: at least two different numbers of ranks.
  DispatchedExperts(std::vector<OverRanks> timed, int ranks, Seconds one_token);

  /// One call's time for `tokens` tokens of all ranks together, evenly picked. Past the sizes timed
  /// over all numbers of ranks it is proportional to them. Nullopt where times do not fall with the
  /// ranks, so that they tell nothing of L. Measured times fall here and there as tokens
  /// grow: it is never less than for fewer tokens that are a power of two.
  std::optional<Seconds> at(double tokens) const;

 private:
  /// L / R of that many tokens, as the slope says.
  std::optional<double> own_time(double tokens) const;

  std::vector<OverRanks> timed_;
  double ranks_ = 1;
  double last_ = 0;  // tokens
  Seconds fixed_{};
  std::vector<double> longest_{};  // own_time() of up to 2^i tokens
};

/// For a shape over ranks; nullopt unless the GPU's curves time these experts over two numbers of
/// ranks and the shape's.
std::optional<DispatchedExperts> dispatched_experts(const Gpu& gpu, const OperatorShape& shape,
                                                    std::string_view engine);

}  // namespace roofcast
