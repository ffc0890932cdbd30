// Which prompts begin alike.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/workload/length_sampler.hpp"
#include "simulator/workload/synthetic.hpp"
#include "simulator/workload/workload.hpp"

namespace roofcast {

/// What tells the contents of prompts apart: a kind in the upper bits, its number in the lower.
inline std::uint64_t group_content(std::int64_t group) {
  return (std::uint64_t{1} << 32) + static_cast<std::uint64_t>(group);
}
inline std::uint64_t question_content(std::int64_t question) {
  return (std::uint64_t{2} << 32) + static_cast<std::uint64_t>(question);
}
inline std::uint64_t session_content(std::int64_t session) {
  return (std::uint64_t{3} << 32) + static_cast<std::uint64_t>(session);
}

/// Groups and questions of the arrivals, drawn from streams "prefix_order" and "prefix_lengths".
/// Memory follows the arrivals, however many groups there are that none of them asks.
class PrefixPlan {
 public:
  /// Throws Error naming the knob that is out of range.
  PrefixPlan(const SharedPrefix& prefix, std::int64_t arrivals, std::uint64_t seed,
             const std::vector<LengthTable>& tables);

  /// The place of the arrival's question among those that are asked, all different; after the last
  /// comes the first again.
  std::size_t place_of(std::int64_t arrival) const {
    return static_cast<std::size_t>(arrival) % order_.size();
  }
  /// Questions are numbered through all groups.
  std::int64_t question_of(std::int64_t arrival) const { return order_[place_of(arrival)]; }
  /// Which of system_prompts() the arrival's begins with.
  std::size_t system_prompt_of(std::int64_t arrival) const {
    return static_cast<std::size_t>(system_prompt_[place_of(arrival)]);
  }
  /// Those of the groups that are asked, in order of their numbers.
  const std::vector<ContentSpan>& system_prompts() const { return system_prompts_; }
  /// Different ones that are asked.
  std::size_t questions() const { return order_.size(); }

 private:
  void draw_system_prompts(std::int64_t prompts_per_group, LengthSampler& lengths);

  std::vector<std::int32_t> order_;          // questions, as they are asked
  std::vector<std::int32_t> system_prompt_;  // by place in that order
  std::vector<ContentSpan> system_prompts_;
};

/// Puts the system prompts before the workload's requests, which stand in order of arrival and have
/// their questions' lengths as input. A question that is asked again has the length that it had
/// first, and its tokens are shared too.
void add_shared_prefixes(Workload& workload, const SharedPrefix& prefix, std::uint64_t seed,
                         const std::vector<LengthTable>& tables);

}  // namespace roofcast
