// How sure a choice among deployments is, given that their predicted step times err, and partly
// together.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/error_cause.hpp"

namespace roofcast {

/// A deployment among which is chosen.
struct ChoiceOption {
  std::string kernels{};             // options with the same err together: GPU and engine
  std::vector<ErrorCause> causes{};  // of its step times; the same name is the same cause
  /// What it is worth (tokens per dollar, say) if its steps take exp(error) times as long as
  /// predicted; 0: it does not meet the limits. Must not grow with the error.
  std::function<double(double error)> worth{};
};

/// A choice is good if nothing else is worth more than it by more than this share of the best.
inline constexpr double kGoodChoice = 0.05;

/// Share of a cause's variance that deployments of one engine on one kind of GPU have in common;
/// the rest is each one's own: its sizes, its layout and the kernels that they choose. Half: the
/// errors of TPOT of 37 deployments of DeepSeek-R1, by their means over loads, vary by 0.12
/// (standard deviation of the logarithm) within an engine and GPU, and by 0.09 (NVIDIA) to 0.21
/// (all) between these (docs/accuracy.md). What ErrorCause::common_to names is common as a whole.
inline constexpr double kCauseInCommon = 0.5;

/// The probability that `options[chosen]` meets the limits and is worth at least 1 - kGoodChoice of
/// the best: the share of 4,000 draws of all errors, each cause normal, always the same ones.
/// Chance and what no cause stands for (a setting unlike the one assumed) are left out.
/// Precondition: chosen < options.size().
double probability_of_choice(std::span<const ChoiceOption> options, std::size_t chosen);

}  // namespace roofcast
