#include "planner/search/plan_load.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/statistics.hpp"

namespace roofcast {
namespace {

/// The part of the prompt that no other request shares: a cache may hold all the rest. The last
/// token is always computed, as its logits are needed.
std::int64_t uncached_tokens(const Workload& workload, const Request& request) {
  std::int64_t shared = 0;
  for (std::uint32_t i = 0; i < request.contents_count; ++i) {
    shared += workload.contents[request.contents_begin + i].tokens;
  }
  return std::max<std::int64_t>(1, request.input_tokens - shared);
}

void add(RequestLengths& lengths, std::int64_t prompt, const Request& request) {
  const std::int64_t later = std::max<std::int64_t>(0, request.output_tokens - 1);
  lengths.prompts.push_back(prompt);
  lengths.all_later_tokens.push_back(later);
  if (later > 0) lengths.later_tokens.push_back(later);
  lengths.totals.push_back(prompt + later);
  lengths.image_tokens =
      std::max(lengths.image_tokens, request.input_tokens - text_tokens(request));
}

void sort(RequestLengths& lengths) {
  for (auto* list :
       {&lengths.prompts, &lengths.later_tokens, &lengths.all_later_tokens, &lengths.totals}) {
    std::sort(list->begin(), list->end());
  }
}

/// How many latencies of this metric there are.
std::int64_t latencies_of(LatencyMetric metric, const RequestLengths& lengths) {
  const bool between_tokens = metric == LatencyMetric::tpot || metric == LatencyMetric::itl;
  return std::ssize(between_tokens ? lengths.later_tokens : lengths.prompts);
}

void promise(PlanLoad& load, const std::vector<PercentileTarget>& targets, std::size_t group,
             std::string_view slo_class) {
  for (const PercentileTarget& target : targets) {
    const std::int64_t count = latencies_of(target.metric, load.groups[group]);
    if (count == 0) continue;
    load.promises.push_back({.name = name_of(target, slo_class),
                             .metric = target.metric,
                             .limit_s = target.limit.value,
                             // Unserved requests only add larger latencies.
                             .last_within = quantile_rank(target.percentile / 100, count).below,
                             .group = group});
  }
}

/// A share of requests meets all goodput limits, so at least that share meets each. A request of
/// one token meets those on the time between tokens.
void promise_goodput(PlanLoad& load, const Slo& slo, double share) {
  const RequestLengths& all = load.groups.front();
  const std::int64_t count = std::ssize(all.prompts);
  const auto good = static_cast<std::int64_t>(std::ceil(share * static_cast<double>(count) - 1e-9));
  for (const GoodputLimit& limit : slo.goodput) {
    const std::int64_t exempt = count - latencies_of(limit.metric, all);
    if (good - exempt < 1) continue;
    load.promises.push_back({.name = fmt::format("goodput: {}", name_of(limit.metric)),
                             .metric = limit.metric,
                             .limit_s = limit.limit.value,
                             .last_within = good - exempt - 1,
                             .group = 0});
  }
}

}  // namespace

PlanLoad plan_load(const Workload& workload, bool client_limited, const Slo& slo,
                   const SloRequirement& requirement) {
  PlanLoad load{.open = !client_limited && !workload.recorded_limit};
  load.groups.resize(1 + slo.classes.size());
  Nanoseconds last = 0;
  Nanoseconds first = workload.requests.empty() ? 0 : workload.requests.front().arrival;
  for (const Request& request : workload.requests) {
    if (request.follows != kNoRequest) load.open = false;
    first = std::min(first, request.arrival);
    last = std::max(last, request.arrival);
    if (!is_reported(workload.stages, request)) continue;
    const std::int64_t prompt = uncached_tokens(workload, request);
    add(load.groups.front(), prompt, request);
    if (slo.classes.empty()) continue;
    add(load.groups[1 + static_cast<std::size_t>(request.slo_class)], prompt, request);
  }
  load.span_s = to_seconds(last - first).value;
  for (RequestLengths& lengths : load.groups) sort(lengths);
  promise(load, slo.targets, 0, "");
  for (std::size_t i = 0; i < slo.classes.size(); ++i) {
    promise(load, slo.classes[i].targets, i + 1, slo.classes[i].name);
  }
  if (requirement.min_goodput_share) {
    promise_goodput(load, slo, *requirement.min_goodput_share);
  }
  return load;
}

}  // namespace roofcast
