#include "simulator/io/scenario_cluster.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "simulator/io/optional_keys.hpp"
#include "simulator/io/scenario_keys.hpp"

namespace roofcast {
namespace {

using Json = nlohmann::ordered_json;

constexpr Seconds kLongestLatency{3600};

/// A non-negative time in seconds.
std::optional<Nanoseconds> read_time(const JsonObject& object, const char* key) {
  const auto* value = object.find(key);
  if (value == nullptr) return std::nullopt;
  const double seconds = value->is_number() ? value->get<double>() : -1;
  if (!(seconds >= 0 && seconds <= to_seconds(kLongestSpan).value)) {
    object.fail(key, "seconds, from 0 to ten years");
  }
  return to_nanoseconds(Seconds{seconds});
}

std::optional<RouterPolicy> read_policy(const JsonObject& object, const char* key) {
  const auto text = object.text(key);
  if (!text) return std::nullopt;
  const auto policy = parse_router_policy(*text);
  if (!policy) object.fail(key, fmt::format("{}", fmt::join(router_policy_names(), ", ")));
  return policy;
}

PoolRole read_role(const JsonObject& object) {
  const std::string role = object.text("role").value_or("both");
  if (role == "both") return PoolRole::both;
  if (role == "prefill") return PoolRole::prefill;
  if (role == "decode") return PoolRole::decode;
  object.fail("role", "both, prefill or decode");
}

Autoscaling read_autoscaling(const JsonObject& object) {
  Autoscaling scaling;
  set(scaling.min_replicas, object.integer("min_replicas", 1, kMaxReplicas));
  const auto max = object.integer("max_replicas", 1, kMaxReplicas);
  if (!max) object.fail_missing("max_replicas", "the most replicas of the pool");
  set(scaling.max_replicas, max);
  const std::string metric = object.text("metric").value_or("queue");
  if (metric != "queue" && metric != "utilisation") object.fail("metric", "queue or utilisation");
  scaling.metric =
      metric == "queue" ? Autoscaling::Metric::queue : Autoscaling::Metric::utilisation;
  set(scaling.target, object.number("target", 0));
  set(scaling.interval, read_time(object, "interval_s"));
  if (scaling.interval < kShortestAutoscalingInterval) {
    object.fail("interval_s",
                fmt::format("{} seconds or more", to_seconds(kShortestAutoscalingInterval).value));
  }
  set(scaling.start_up, read_time(object, "start_up_s"));
  set(scaling.scale_down_window, read_time(object, "scale_down_window_s"));
  return scaling;
}

Json autoscaling_json(const Autoscaling& scaling) {
  const bool queue = scaling.metric == Autoscaling::Metric::queue;
  return {{"min_replicas", scaling.min_replicas},
          {"max_replicas", scaling.max_replicas},
          {"metric", queue ? "queue" : "utilisation"},
          {"target", scaling.target},
          {"interval_s", to_seconds(scaling.interval).value},
          {"start_up_s", to_seconds(scaling.start_up).value},
          {"scale_down_window_s", to_seconds(scaling.scale_down_window).value}};
}

PoolScenario read_pool(const JsonObject& object) {
  PoolScenario pool;
  set(pool.name, object.text("name"));
  pool.role = read_role(object);
  set(pool.replicas, object.integer("replicas", 1, kMaxReplicas));
  pool.gpu = object.text("gpu");
  pool.engine = object.text("engine");
  pool.weight_format = object.text("quantization");
  if (const auto parallel = object.object("parallel", scenario_keys::kParallel)) {
    pool.parallel = read_parallel(*parallel);
  }
  if (const auto options = object.object("engine_options", engine_option_keys())) {
    pool.overrides = read_engine_options(*options);
  }
  pool.rank_router = read_policy(object, "rank_router");
  pool.lockstep = object.boolean("lockstep");
  if (const auto scaling = object.object("autoscaling", scenario_keys::kAutoscaling)) {
    pool.autoscaling = read_autoscaling(*scaling);
  }
  return pool;
}

Json pool_json(const PoolScenario& pool) {
  Json json = {{"name", pool.name}, {"role", name_of(pool.role)}, {"replicas", pool.replicas}};
  put(json, "gpu", pool.gpu);
  put(json, "engine", pool.engine);
  put(json, "quantization", pool.weight_format);
  if (pool.parallel) json["parallel"] = parallel_json(*pool.parallel);
  if (pool.overrides) json["engine_options"] = engine_options_json(*pool.overrides);
  if (pool.rank_router) json["rank_router"] = name_of(*pool.rank_router);
  put(json, "lockstep", pool.lockstep);
  if (pool.autoscaling) json["autoscaling"] = autoscaling_json(*pool.autoscaling);
  return json;
}

std::vector<PoolScenario> read_pools(const JsonObject& cluster) {
  std::vector<PoolScenario> pools;
  for (const JsonObject& object : cluster.objects("pools", scenario_keys::kPool)) {
    PoolScenario pool = read_pool(object);
    const bool repeated = std::any_of(pools.begin(), pools.end(), [&](const PoolScenario& other) {
      return other.name == pool.name;
    });
    if (pool.name.empty() || repeated) object.fail("name", "a name that no other pool has");
    pools.push_back(std::move(pool));
  }
  if (pools.empty()) pools.emplace_back();
  return pools;
}

KvLink read_link(const JsonObject& object) {
  const std::string name = object.text("name").value_or(std::string(kDefaultKvLink));
  const auto known = find_kv_link(name);
  if (!known) {
    std::vector<std::string> names;
    for (const KvLink& link : kv_link_presets()) names.push_back(link.name);
    object.fail("name", fmt::format("{}", fmt::join(names, ", ")));
  }
  KvLink link = *known;
  if (const auto bandwidth = object.number("bandwidth_bytes_per_s", 0)) {
    if (*bandwidth < kSlowestLink.value) {
      object.fail("bandwidth_bytes_per_s",
                  fmt::format("{:g} bytes per second or more", kSlowestLink.value));
    }
    link.bandwidth = BytesPerSecond{*bandwidth};
    if (!object.text("name")) link.name.clear();
  }
  if (const auto latency = read_time(object, "latency_s")) link.latency = to_seconds(*latency);
  if (link.latency > kLongestLatency) {
    object.fail("latency_s", fmt::format("seconds, from 0 to {}", kLongestLatency.value));
  }
  set(link.shared, object.boolean("shared"));
  set(link.overlapped, object.boolean("overlapped"));
  return link;
}

Json link_json(const KvLink& link) {
  Json json = Json::object();
  if (!link.name.empty()) json["name"] = link.name;
  json["bandwidth_bytes_per_s"] = link.bandwidth.value;
  json["latency_s"] = link.latency.value;
  json["shared"] = link.shared;
  json["overlapped"] = link.overlapped;
  return json;
}

Failure read_failure(const JsonObject& object, const std::vector<PoolScenario>& pools) {
  Failure failure;
  const auto time = read_time(object, "time_s");
  if (!time) object.fail_missing("time_s", "seconds from the start of the run");
  failure.time = *time;
  const std::string name = object.text("pool").value_or(pools.front().name);
  const auto pool = std::find_if(pools.begin(), pools.end(),
                                 [&](const PoolScenario& other) { return other.name == name; });
  if (pool == pools.end()) object.fail("pool", "the name of a pool");
  failure.pool = static_cast<std::int32_t>(pool - pools.begin());
  set(failure.replica, object.integer("replica", 0, kMaxReplicas - 1));
  const std::string requests = object.text("requests").value_or("retried");
  if (requests != "retried" && requests != "lost") object.fail("requests", "retried or lost");
  failure.retried = requests == "retried";
  failure.back_after = read_time(object, "back_after_s");
  return failure;
}

Json failure_json(const Failure& failure, const std::vector<PoolScenario>& pools) {
  Json json = {{"time_s", to_seconds(failure.time).value},
               {"pool", pools[static_cast<std::size_t>(failure.pool)].name},
               {"replica", failure.replica},
               {"requests", failure.retried ? "retried" : "lost"}};
  if (failure.back_after) json["back_after_s"] = to_seconds(*failure.back_after).value;
  return json;
}

}  // namespace

const char* name_of(PoolRole role) {
  if (role == PoolRole::both) return "both";
  return role == PoolRole::prefill ? "prefill" : "decode";
}

ClusterScenario read_cluster(const JsonObject& object) {
  ClusterScenario cluster;
  cluster.pools = read_pools(object);
  RouterOptions& router = cluster.router;
  set(router.cache_threshold, object.fraction("cache_threshold"));
  set(router.balance_abs_threshold, object.integer("balance_abs_threshold", 0, kAnyInteger));
  set(router.balance_rel_threshold, object.number("balance_rel_threshold", 0));
  cluster.decode_router = router;
  set(router.policy, read_policy(object, "router"));
  set(cluster.decode_router.policy, read_policy(object, "decode_router"));
  if (const auto link = object.object("kv_link", scenario_keys::kKvLink)) {
    cluster.link = read_link(*link);
  }
  for (const JsonObject& failure : object.objects("failures", scenario_keys::kFailure)) {
    cluster.failures.push_back(read_failure(failure, cluster.pools));
  }
  return cluster;
}

Json cluster_json(const ClusterScenario& cluster) {
  Json json;
  for (const PoolScenario& pool : cluster.pools) json["pools"].push_back(pool_json(pool));
  json["router"] = name_of(cluster.router.policy);
  json["decode_router"] = name_of(cluster.decode_router.policy);
  json["cache_threshold"] = cluster.router.cache_threshold;
  json["balance_abs_threshold"] = cluster.router.balance_abs_threshold;
  json["balance_rel_threshold"] = cluster.router.balance_rel_threshold;
  json["kv_link"] = link_json(cluster.link);
  for (const Failure& failure : cluster.failures) {
    json["failures"].push_back(failure_json(failure, cluster.pools));
  }
  return json;
}

}  // namespace roofcast
