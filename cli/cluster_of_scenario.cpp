#include "cli/cluster_of_scenario.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/numbers.hpp"

namespace roofcast {
namespace {

/// Routed experts take the tokens of all data-parallel ranks, so these step together (vLLM
/// documentation, "Data Parallel Deployment").
bool has_experts(const Transformer& model) {
  return std::any_of(model.layers.begin(), model.layers.end(),
                     [](const Layer& layer) { return std::holds_alternative<MoeFfn>(layer.ffn); });
}

Pool pool_of(const PoolScenario& asked, const PoolRun& run, const StepTime* step_time) {
  // Only vLLM counts its null block among them.
  const bool has_null_block = run.deployment.engine.memory_rule == MemoryRule::vllm;
  Pool pool{.name = asked.name, .role = asked.role, .replicas = asked.replicas};
  pool.replica = {.engine = run.deployment.engine,
                  .layout = run.plan.layout,
                  .kv_blocks = run.plan.kv_blocks + (has_null_block ? 0 : 1),
                  .step_time = step_time};
  pool.ranks = run.deployment.parallel.data;
  pool.lockstep = asked.lockstep.value_or(has_experts(run.deployment.model));
  if (asked.rank_router) pool.rank_router.policy = *asked.rank_router;
  pool.autoscaling = asked.autoscaling;
  return pool;
}

bool is_apart(std::span<const PoolScenario> pools) {
  return std::any_of(pools.begin(), pools.end(),
                     [](const PoolScenario& pool) { return pool.role == PoolRole::decode; });
}

std::string describe_link(const KvLink& link) {
  const std::string rate =
      fmt::format("K and V move at {:g} GB/s a GPU", link.bandwidth.value / 1e9);
  if (link.name.empty()) return rate + ", as stated";
  return fmt::format("{}, the peak of {}; real networks reach less", rate, link.name);
}

}  // namespace

std::vector<PoolScenario> pools_of(const Scenario& scenario) {
  if (scenario.cluster && !scenario.cluster->pools.empty()) return scenario.cluster->pools;
  return {PoolScenario{}};
}

DeploymentOptions deployment_options(const Scenario& scenario, const PoolScenario& pool) {
  const Parallelism parallel = pool.parallel.value_or(scenario.parallel);
  return {.model = scenario.model,
          .gpu = pool.gpu.value_or(scenario.gpu),
          .engine = pool.engine.value_or(scenario.engine),
          .weight_format = pool.weight_format ? pool.weight_format : scenario.weight_format,
          .parallel = {.tensor = parallel.tensor,
                       .pipeline = parallel.pipeline,
                       .data = parallel.data,
                       .expert_parallel = parallel.expert_parallel},
          .overrides = pool.overrides.value_or(scenario.overrides)};
}

Cluster cluster_of(const Scenario& scenario, std::span<const PoolRun> pools,
                   std::span<const StepTime* const> step_times) {
  const ClusterScenario asked = scenario.cluster.value_or(ClusterScenario{});
  const std::vector<PoolScenario> named = pools_of(scenario);
  Cluster cluster{.router = asked.router,
                  .decode_router = asked.decode_router,
                  .link = asked.link,
                  .failures = asked.failures,
                  .seed = scenario.seed};
  for (std::size_t i = 0; i < named.size(); ++i) {
    cluster.pools.push_back(pool_of(named[i], pools[i], step_times[i]));
    cluster.pools.back().replica.seed = scenario.seed;
  }
  return cluster;
}

std::vector<std::string> notes_on_cluster(const Scenario& scenario,
                                          std::span<const PoolRun> pools) {
  std::vector<std::string> notes;
  const std::vector<PoolScenario> named = pools_of(scenario);
  for (std::size_t i = 0; i < named.size(); ++i) {
    if (pools[i].deployment.parallel.data == 1) continue;
    const bool lockstep = named[i].lockstep.value_or(has_experts(pools[i].deployment.model));
    notes.push_back(
        fmt::format("pool {}: {} data-parallel ranks a replica, {}; its KV blocks are "
                    "those of a rank",
                    named[i].name, pools[i].deployment.parallel.data,
                    lockstep ? "in lockstep" : "each for itself"));
  }
  if (is_apart(named)) {
    notes.push_back(describe_link(scenario.cluster->link));
    notes.emplace_back(
        "a prefill replica's blocks are free as soon as the prompt is computed, before K and V "
        "have been read");
  }
  return notes;
}

}  // namespace roofcast
