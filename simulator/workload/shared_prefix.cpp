#include "simulator/workload/shared_prefix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/random/uniform_int_distribution.hpp>
#include <unordered_map>
#include <utility>

#include "base/ceil_divide.hpp"
#include "base/error.hpp"
#include "simulator/random.hpp"
#include "simulator/workload/arrivals.hpp"

namespace roofcast {
namespace {

void check(const SharedPrefix& prefix) {
  if (prefix.groups < 1 || prefix.groups > kMaxRequests) {
    throw Error(fmt::format("shared_prefix.num_groups is {}, expected 1 to {}", prefix.groups,
                            kMaxRequests));
  }
  if (prefix.prompts_per_group < 0 || prefix.prompts_per_group > kMaxRequests / prefix.groups) {
    throw Error(
        fmt::format("shared_prefix.num_prompts_per_group is {}, expected 0 (as many as there are "
                    "requests) to {} with `num_groups` {}",
                    prefix.prompts_per_group, kMaxRequests / prefix.groups, prefix.groups));
  }
}

/// The first `wanted` of 0 to count - 1 in random order (Fisher-Yates shuffle; Durstenfeld 1964,
/// from the front). Stores only the entries that have moved.
std::vector<std::int32_t> first_shuffled(std::int64_t count, std::int64_t wanted,
                                         std::uint64_t seed) {
  std::vector<std::int32_t> order;
  order.reserve(static_cast<std::size_t>(wanted));
  std::unordered_map<std::int64_t, std::int32_t> moved;
  const auto at = [&](std::int64_t place) {
    const auto found = moved.find(place);
    return found == moved.end() ? static_cast<std::int32_t>(place) : found->second;
  };
  RandomStream random = random_stream(seed, "prefix_order");
  for (std::int64_t i = 0; i < wanted; ++i) {
    boost::random::uniform_int_distribution<std::int64_t> uniform(i, count - 1);
    const std::int64_t taken = uniform(random);
    order.push_back(at(taken));
    if (taken != i) moved[taken] = at(i);
    moved.erase(i);
  }
  return order;
}

/// State of a question that may be repeated.
struct AskedQuestion {
  bool asked = false;
  std::uint32_t contents_begin = 0;
  std::int64_t tokens = 0;
};

void add_repeated(Workload& workload, const PrefixPlan& plan) {
  std::vector<AskedQuestion> questions(plan.questions());
  for (std::size_t i = 0; i < workload.requests.size(); ++i) {
    Request& request = workload.requests[i];
    const auto arrival = static_cast<std::int64_t>(i);
    const ContentSpan& system_prompt = plan.system_prompts()[plan.system_prompt_of(arrival)];
    AskedQuestion& question = questions[plan.place_of(arrival)];
    if (!question.asked) {
      question = {.asked = true,
                  .contents_begin = static_cast<std::uint32_t>(workload.contents.size()),
                  .tokens = request.input_tokens};
      workload.contents.push_back(system_prompt);
      workload.contents.push_back(
          {.content = question_content(plan.question_of(arrival)), .tokens = question.tokens});
    }
    request.input_tokens = system_prompt.tokens + question.tokens;
    request.contents_begin = question.contents_begin;
    request.contents_count = 2;
  }
}

/// Adds one span per group, which all its requests refer to.
void add_unique(Workload& workload, const PrefixPlan& plan) {
  workload.contents = plan.system_prompts();
  for (std::size_t i = 0; i < workload.requests.size(); ++i) {
    Request& request = workload.requests[i];
    const std::size_t system_prompt = plan.system_prompt_of(static_cast<std::int64_t>(i));
    request.input_tokens += workload.contents[system_prompt].tokens;
    request.contents_begin = static_cast<std::uint32_t>(system_prompt);
    request.contents_count = 1;
  }
}

}  // namespace

PrefixPlan::PrefixPlan(const SharedPrefix& prefix, std::int64_t arrivals, std::uint64_t seed,
                       const std::vector<LengthTable>& tables) {
  check(prefix);
  std::int64_t prompts_per_group = prefix.prompts_per_group;
  if (prompts_per_group == 0) prompts_per_group = ceil_divide(arrivals, prefix.groups);
  const std::int64_t questions = prefix.groups * prompts_per_group;
  order_ = first_shuffled(questions, std::min(arrivals, questions), seed);
  LengthSampler lengths(prefix.system_prompt, seed, "prefix_lengths", tables);
  draw_system_prompts(prompts_per_group, lengths);
}

void PrefixPlan::draw_system_prompts(std::int64_t prompts_per_group, LengthSampler& lengths) {
  std::vector<std::int64_t> groups;
  groups.reserve(order_.size());
  for (const std::int64_t question : order_) groups.push_back(question / prompts_per_group);
  std::vector<std::int64_t> asked = groups;
  std::sort(asked.begin(), asked.end());
  asked.erase(std::unique(asked.begin(), asked.end()), asked.end());
  for (const std::int64_t group : asked) {
    system_prompts_.push_back({.content = group_content(group), .tokens = lengths.draw()});
  }
  for (const std::int64_t group : groups) {
    const auto found = std::lower_bound(asked.begin(), asked.end(), group);
    system_prompt_.push_back(static_cast<std::int32_t>(found - asked.begin()));
  }
}

void add_shared_prefixes(Workload& workload, const SharedPrefix& prefix, std::uint64_t seed,
                         const std::vector<LengthTable>& tables) {
  const std::int64_t arrivals = std::ssize(workload.requests);
  const PrefixPlan plan(prefix, arrivals, seed, tables);
  if (std::cmp_greater(arrivals, plan.questions())) {
    add_repeated(workload, plan);
  } else {
    add_unique(workload, plan);
  }
}

}  // namespace roofcast
