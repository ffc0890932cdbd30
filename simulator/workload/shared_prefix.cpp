#include "simulator/workload/shared_prefix.hpp"

#include <fmt/format.h>

#include <boost/random/uniform_int_distribution.hpp>
#include <numeric>
#include <utility>

#include "model/error.hpp"
#include "simulator/random.hpp"
#include "simulator/workload/arrivals.hpp"
#include "simulator/workload/length_sampler.hpp"

namespace roofcast {
namespace {

void check(const SharedPrefix& prefix) {
  if (prefix.groups < 1 || prefix.groups > kMostRequests) {
    throw Error(fmt::format("shared_prefix.num_groups is {}, expected 1 to {}", prefix.groups,
                            kMostRequests));
  }
  if (prefix.prompts_per_group < 0 || prefix.prompts_per_group > kMostRequests / prefix.groups) {
    throw Error(
        fmt::format("shared_prefix.num_prompts_per_group is {}, expected 0 (as many as there are "
                    "requests) to {} with num_groups {}",
                    prefix.prompts_per_group, kMostRequests / prefix.groups, prefix.groups));
  }
}

/// 0 to count - 1 in a random order (Fisher and Yates; Durstenfeld 1964).
std::vector<std::int32_t> shuffled(std::int64_t count, std::uint64_t seed) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  RandomStream random = random_stream(seed, "prefix_order");
  for (std::size_t i = order.size(); i > 1; --i) {
    boost::random::uniform_int_distribution<std::size_t> uniform(0, i - 1);
    std::swap(order[i - 1], order[uniform(random)]);
  }
  return order;
}

/// What a question that may come again looks like.
struct AskedQuestion {
  bool asked = false;
  std::uint32_t contents_begin = 0;
  std::int64_t tokens = 0;
};

void add_repeated(Workload& workload, const PrefixPlan& plan) {
  std::vector<AskedQuestion> questions(static_cast<std::size_t>(plan.questions()));
  for (std::size_t i = 0; i < workload.requests.size(); ++i) {
    Request& request = workload.requests[i];
    const auto arrival = static_cast<std::int64_t>(i);
    const std::int64_t number = plan.question_of(arrival);
    AskedQuestion& question = questions[static_cast<std::size_t>(number)];
    if (!question.asked) {
      question = {.asked = true,
                  .contents_begin = static_cast<std::uint32_t>(workload.contents.size()),
                  .tokens = request.input_tokens};
      workload.contents.push_back(plan.system_prompt_of(arrival));
      workload.contents.push_back({.content = question_content(number), .tokens = question.tokens});
    }
    request.input_tokens = plan.system_prompt_of(arrival).tokens + question.tokens;
    request.contents_begin = question.contents_begin;
    request.contents_count = 2;
  }
}

/// One span a group, which all its requests point to.
void add_unique(Workload& workload, const PrefixPlan& plan, std::int64_t groups) {
  workload.contents.resize(static_cast<std::size_t>(groups));
  for (std::size_t i = 0; i < workload.requests.size(); ++i) {
    Request& request = workload.requests[i];
    const auto arrival = static_cast<std::int64_t>(i);
    const auto group = static_cast<std::size_t>(plan.group_of(arrival));
    workload.contents[group] = plan.system_prompt_of(arrival);
    request.input_tokens += workload.contents[group].tokens;
    request.contents_begin = static_cast<std::uint32_t>(group);
    request.contents_count = 1;
  }
}

}  // namespace

PrefixPlan::PrefixPlan(const SharedPrefix& prefix, std::int64_t arrivals, std::uint64_t seed,
                       const std::vector<LengthTable>& tables) {
  check(prefix);
  prompts_per_group_ = prefix.prompts_per_group;
  if (prompts_per_group_ == 0) prompts_per_group_ = (arrivals + prefix.groups - 1) / prefix.groups;
  order_ = shuffled(prefix.groups * prompts_per_group_, seed);
  LengthSampler lengths(prefix.system_prompt, seed, "prefix_lengths", tables);
  for (std::int64_t group = 0; group < prefix.groups; ++group) {
    system_prompts_.push_back({.content = group_content(group), .tokens = lengths.draw()});
  }
}

void add_shared_prefixes(Workload& workload, const SharedPrefix& prefix, std::uint64_t seed,
                         const std::vector<LengthTable>& tables) {
  const std::int64_t arrivals = std::ssize(workload.requests);
  const PrefixPlan plan(prefix, arrivals, seed, tables);
  if (arrivals > plan.questions()) {
    add_repeated(workload, plan);
  } else {
    add_unique(workload, plan, prefix.groups);
  }
}

}  // namespace roofcast
