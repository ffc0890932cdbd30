// Which prompts begin alike.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/workload/length_table.hpp"
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
class PrefixPlan {
 public:
  /// Throws Error naming the knob that is out of range.
  PrefixPlan(const SharedPrefix& prefix, std::int64_t arrivals, std::uint64_t seed,
             const std::vector<LengthTable>& tables);

  std::int64_t group_of(std::int64_t arrival) const {
    return question_of(arrival) / prompts_per_group_;
  }
  /// Questions are numbered through all groups.
  std::int64_t question_of(std::int64_t arrival) const {
    return order_[static_cast<std::size_t>(arrival) % order_.size()];
  }
  ContentSpan system_prompt_of(std::int64_t arrival) const {
    return system_prompts_[static_cast<std::size_t>(group_of(arrival))];
  }
  std::int64_t questions() const { return std::ssize(order_); }

 private:
  std::int64_t prompts_per_group_ = 1;
  std::vector<std::int32_t> order_;
  std::vector<ContentSpan> system_prompts_;
};

/// Puts the system prompts before the workload's requests, which stand in order of arrival and have
/// their questions' lengths as input. A question that is asked again has the length that it had
/// first, and its tokens are shared too.
void add_shared_prefixes(Workload& workload, const SharedPrefix& prefix, std::uint64_t seed,
                         const std::vector<LengthTable>& tables);

}  // namespace roofcast
