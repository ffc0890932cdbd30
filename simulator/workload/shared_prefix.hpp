// Prefixes shared between prompts.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/workload/length_sampler.hpp"
#include "simulator/workload/synthetic.hpp"
#include "simulator/workload/workload.hpp"

namespace roofcast {

/// Identifies the contents of prompts: a kind in the upper bits, its number in the lower.
inline std::uint64_t group_content(std::int64_t group) {
  return (std::uint64_t{1} << 32) + static_cast<std::uint64_t>(group);
}
inline std::uint64_t question_content(std::int64_t question) {
  return (std::uint64_t{2} << 32) + static_cast<std::uint64_t>(question);
}
inline std::uint64_t session_content(std::int64_t session) {
  return (std::uint64_t{3} << 32) + static_cast<std::uint64_t>(session);
}

/// Group and question of each arrival, drawn from streams "prefix_order" and "prefix_lengths".
/// Memory grows with the arrivals, not with groups that no request uses.
class PrefixPlan {
 public:
  /// Throws Error naming the parameter that is out of range.
  PrefixPlan(const SharedPrefix& prefix, std::int64_t arrivals, std::uint64_t seed,
             const std::vector<LengthTable>& tables);

  /// Index of the arrival's question among the distinct questions asked; they repeat in the same
  /// order.
  std::size_t place_of(std::int64_t arrival) const {
    return static_cast<std::size_t>(arrival) % order_.size();
  }
  /// Number of the arrival's question, counted across all groups.
  std::int64_t question_of(std::int64_t arrival) const { return order_[place_of(arrival)]; }
  /// Index in system_prompts() of the prompt that the arrival starts with.
  std::size_t system_prompt_of(std::int64_t arrival) const {
    return static_cast<std::size_t>(system_prompt_[place_of(arrival)]);
  }
  /// System prompts of the groups in use, in order of group number.
  const std::vector<ContentSpan>& system_prompts() const { return system_prompts_; }
  /// Number of distinct questions asked.
  std::size_t questions() const { return order_.size(); }

 private:
  void draw_system_prompts(std::int64_t prompts_per_group, LengthSampler& lengths);

  std::vector<std::int32_t> order_;          // questions, in the order asked
  std::vector<std::int32_t> system_prompt_;  // by index in order_
  std::vector<ContentSpan> system_prompts_;
};

/// Prepends the system prompts to the workload's requests, which must be in order of arrival and
/// have their question's length as input. A repeated question keeps its first length, and its
/// tokens are shared too.
void add_shared_prefixes(Workload& workload, const SharedPrefix& prefix, std::uint64_t seed,
                         const std::vector<LengthTable>& tables);

}  // namespace roofcast
