#include "simulator/cluster/prompt_balance.hpp"

#include <algorithm>

namespace roofcast {

bool PromptBalance::holds(std::span<const StepOffer> ranks) {
  const bool all_have_prompts = std::ranges::all_of(ranks, [&](const StepOffer& rank) {
    return rank.prompts > 0 && rank.generations < most_sequences_;
  });
  const bool all_generate =
      std::ranges::all_of(ranks, [](const StepOffer& rank) { return rank.generations > 0; });
  if (all_have_prompts) {
    waited_ = 0;
    if (!all_generate) return false;
    const bool hold = waited_for_more_ < wait_;
    waited_for_more_ = hold ? waited_for_more_ + 1 : 0;
    return hold;
  }
  ++waited_;
  if (waited_ < timeout_ && all_generate) return true;
  waited_ = 0;
  return false;
}

}  // namespace roofcast
