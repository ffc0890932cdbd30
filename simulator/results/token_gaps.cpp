#include "simulator/results/token_gaps.hpp"

namespace roofcast {

std::vector<GapCount> TokenGaps::of_class(std::size_t slo_class) const {
  return slo_class < by_class_.size() ? by_class_[slo_class] : std::vector<GapCount>{};
}

std::vector<GapCount> TokenGaps::all() const {
  std::vector<GapCount> merged;
  for (const auto& log : by_class_) merged.insert(merged.end(), log.begin(), log.end());
  return merged;
}

}  // namespace roofcast
