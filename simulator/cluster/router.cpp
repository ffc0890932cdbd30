#include "simulator/cluster/router.hpp"

#include <algorithm>
#include <array>
#include <boost/random/uniform_int_distribution.hpp>
#include <cassert>
#include <string>
#include <utility>

namespace roofcast {
namespace {

constexpr std::array<std::pair<RouterPolicy, std::string_view>, 7> kNames = {{
    {RouterPolicy::round_robin, "round_robin"},
    {RouterPolicy::random, "random"},
    {RouterPolicy::least_outstanding, "least_outstanding"},
    {RouterPolicy::least_kv, "least_kv"},
    {RouterPolicy::power_of_two, "power_of_two"},
    {RouterPolicy::prefix_affinity, "prefix_affinity"},
    {RouterPolicy::vllm_dp, "vllm_dp"},
}};

using Replicas = std::span<const std::int32_t>;
using Loads = std::span<const ReplicaLoad>;

const ReplicaLoad& at(Loads loads, std::int32_t index) {
  return loads[static_cast<std::size_t>(index)];
}

/// The first candidate with the smallest score.
template <class Score>
std::int32_t min(Replicas candidates, Score score) {
  std::int32_t best = candidates.front();
  auto min_score = score(best);
  for (const std::int32_t candidate : candidates.subspan(1)) {
    const auto own = score(candidate);
    if (!(own < min_score)) continue;
    best = candidate;
    min_score = own;
  }
  return best;
}

std::int32_t least_outstanding(Replicas candidates, Loads loads) {
  return min(candidates, [&](std::int32_t i) { return at(loads, i).outstanding; });
}

/// vllm/v1/engine/core_client.py, DPLBAsyncMPClient.get_core_engine_for_request. Counts are
/// current, with requests on their way counted as waiting; vLLM's are up to 100 ms old except for
/// what the same client has sent since.
std::int32_t min_vllm_score(Replicas candidates, Loads loads) {
  constexpr std::int64_t kWaitingWeight = 4;
  return min(candidates, [&](std::int32_t i) {
    return kWaitingWeight * at(loads, i).waiting() + at(loads, i).running;
  });
}

bool out_of_balance(Replicas candidates, Loads loads, const RouterOptions& options) {
  const auto [min, max] = std::minmax_element(
      candidates.begin(), candidates.end(),
      [&](auto a, auto b) { return at(loads, a).outstanding < at(loads, b).outstanding; });
  const std::int64_t low = at(loads, *min).outstanding;
  const std::int64_t high = at(loads, *max).outstanding;
  return high - low > options.balance_abs_threshold &&
         static_cast<double>(high) > options.balance_rel_threshold * static_cast<double>(low);
}

std::size_t draw_below(RandomStream& random, std::size_t count) {
  return boost::random::uniform_int_distribution<std::size_t>(0, count - 1)(random);
}

}  // namespace

std::string_view name_of(RouterPolicy policy) {
  for (const auto& [value, name] : kNames) {
    if (value == policy) return name;
  }
  return "";
}

std::optional<RouterPolicy> parse_router_policy(std::string_view text) {
  std::string wanted(text);
  std::replace(wanted.begin(), wanted.end(), '-', '_');
  if (wanted == "cache_aware") return RouterPolicy::prefix_affinity;  // SGLang's name
  for (const auto& [value, name] : kNames) {
    if (name == wanted) return value;
  }
  return std::nullopt;
}

std::vector<std::string_view> router_policy_names() {
  std::vector<std::string_view> names;
  for (const auto& [value, name] : kNames) names.push_back(name);
  return names;
}

RouterPolicy default_rank_router(SchedulerKind scheduler) {
  switch (traits_of(scheduler).rank_routing) {
    case RankRouting::round_robin:
      return RouterPolicy::round_robin;
    case RankRouting::least_outstanding:
      return RouterPolicy::least_outstanding;
    case RankRouting::least_waiting:
      break;
  }
  return RouterPolicy::vllm_dp;
}

std::int32_t Router::choose(Replicas candidates, Loads loads, const RoutedPrompt& prompt) {
  assert(!candidates.empty());
  if (candidates.size() == 1) return candidates.front();
  switch (options_.policy) {
    case RouterPolicy::round_robin:
      return candidates[next_++ % candidates.size()];
    case RouterPolicy::random:
      return draw(candidates);
    case RouterPolicy::least_outstanding:
      return least_outstanding(candidates, loads);
    case RouterPolicy::least_kv:
      return min(candidates, [&](std::int32_t i) {
        return std::pair(at(loads, i).kv_use, at(loads, i).outstanding);
      });
    case RouterPolicy::power_of_two:
      return draw_two(candidates, loads);
    case RouterPolicy::prefix_affinity:
      return by_affinity(candidates, loads, prompt);
    case RouterPolicy::vllm_dp:
      break;
  }
  return min_vllm_score(candidates, loads);
}

std::int32_t Router::draw(Replicas candidates) {
  return candidates[draw_below(random_, candidates.size())];
}

/// Draws two different candidates; the second is drawn from the rest.
std::int32_t Router::draw_two(Replicas candidates, Loads loads) {
  const std::size_t first = draw_below(random_, candidates.size());
  std::size_t second = draw_below(random_, candidates.size() - 1);
  if (second >= first) ++second;
  const std::array pair = {candidates[first], candidates[second]};
  return least_outstanding(pair, loads);
}

/// The candidate with most cached tokens, ties by fewer outstanding requests; the least loaded if
/// too little of the prompt is cached anywhere or the load is unbalanced.
std::int32_t Router::by_affinity(Replicas candidates, Loads loads,
                                 const RoutedPrompt& prompt) const {
  if (out_of_balance(candidates, loads, options_)) return least_outstanding(candidates, loads);
  std::int64_t max_cached = 0;
  const std::int32_t best = min(candidates, [&](std::int32_t i) {
    const std::int64_t cached = prompt.cached_tokens(i);
    max_cached = std::max(max_cached, cached);
    return std::pair(-cached, at(loads, i).outstanding);
  });
  const double enough = options_.cache_threshold * static_cast<double>(prompt.input_tokens);
  const bool affine = static_cast<double>(max_cached) > enough;
  return affine ? best : least_outstanding(candidates, loads);
}

}  // namespace roofcast
