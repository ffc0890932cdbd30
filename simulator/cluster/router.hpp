// Chooses the replica for a request, and in the same way the data-parallel rank within a replica.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "model/engines/engine.hpp"
#include "simulator/random.hpp"

namespace roofcast {

enum class RouterPolicy {
  round_robin,
  random,
  least_outstanding,  // requests sent there that have not finished
  least_kv,           // share of KV blocks currently held, ties by outstanding requests
  power_of_two,       // the one with fewer outstanding requests of two drawn at random
  prefix_affinity,    // where most of the prompt is cached, unless the load is unbalanced
  vllm_dp             // vLLM's data-parallel balancer: least 4 * waiting + running
};

std::string_view name_of(RouterPolicy policy);
/// Parses "round-robin", "least_kv", ...; returns nullopt for an unknown name.
std::optional<RouterPolicy> parse_router_policy(std::string_view text);
/// All names, for messages.
std::vector<std::string_view> router_policy_names();

/// How the engine itself distributes requests among its data-parallel ranks
/// (SchedulerTraits::rank_routing).
RouterPolicy default_rank_router(SchedulerKind scheduler);

/// prefix_affinity follows the cache-aware policy of SGLang's router and uses its defaults (docs of
/// the SGLang model gateway, cache_aware: --cache-threshold, --balance-abs-threshold,
/// --balance-rel-threshold). Cache contents are exact here: the router asks the replicas.
struct RouterOptions {
  RouterPolicy policy = RouterPolicy::round_robin;
  double cache_threshold = 0.3;             // of the prompt; with a smaller cached share there is
                                            // no affinity
  std::int64_t balance_abs_threshold = 64;  // the load is unbalanced if the largest number
                                            // outstanding
  double balance_rel_threshold = 1.5;  // exceeds the smallest by more than this and by this factor
};

/// A router's view of a replica.
struct ReplicaLoad {
  std::int64_t outstanding = 0;  // sent there and not finished, including those on their way
  std::int64_t running = 0;      // of these, those admitted by the scheduler
  double kv_use = 0;             // share of the KV blocks

  std::int64_t waiting() const { return outstanding - running; }
};

/// A router's view of a request.
struct RoutedPrompt {
  std::int64_t input_tokens = 0;
  std::function<std::int64_t(std::int32_t)> cached_tokens;  // of the prompt, in a replica's prefix
                                                            // cache
};

class Router {
 public:
  Router(const RouterOptions& options, const RandomStream& stream)
      : options_(options), random_(stream) {}

  /// Returns one of `candidates` (indexes into `loads`, ascending, not empty). Ties go to the
  /// first.
  std::int32_t choose(std::span<const std::int32_t> candidates, std::span<const ReplicaLoad> loads,
                      const RoutedPrompt& prompt);

 private:
  std::int32_t draw(std::span<const std::int32_t> candidates);
  std::int32_t draw_two(std::span<const std::int32_t> candidates,
                        std::span<const ReplicaLoad> loads);
  std::int32_t by_affinity(std::span<const std::int32_t> candidates,
                           std::span<const ReplicaLoad> loads, const RoutedPrompt& prompt) const;

  RouterOptions options_;
  RandomStream random_;
  std::size_t next_ = 0;
};

}  // namespace roofcast
