#include "planner/scenario/pool_description.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/record.hpp"
#include "base/text.hpp"
#include "base/wording.hpp"
#include "model/engines/engine_version.hpp"

namespace roofcast {
namespace {

/// Everything in which two pools' answers can differ.
Json essence(const PoolRun& pool) {
  Json json = record_to_json(inputs_of(pool.deployment));
  json["profile_hash"] = pool.profile_hash;
  json["kv_blocks"] = pool.plan.kv_blocks;
  return json;
}

/// Names of pools with the same placement, one replica each.
struct Placement {
  std::string names;
  std::string where;
};

std::string distinct(std::span<const PoolRun> pools, std::string (*text_of)(const PoolRun&)) {
  std::vector<std::string> texts;
  for (const PoolRun& pool : pools) {
    const std::string text = text_of(pool);
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
  }
  return joined(texts, " + ");
}

}  // namespace

bool are_alike(std::span<const PoolRun> pools) {
  return std::all_of(pools.begin(), pools.end(),
                     [&](const PoolRun& pool) { return essence(pool) == essence(pools.front()); });
}

std::string placement(const PoolRun& pool) {
  const std::string one = placement(pool.deployment);
  return pool.replicas == 1 ? one : fmt::format("{} of {}", counted(pool.replicas, "replica"), one);
}

std::string headline(std::span<const PoolRun> pools) {
  const std::string& model = pools.front().deployment.model.name;
  if (pools.size() == 1) return model + " on " + placement(pools.front());
  std::vector<Placement> placements;
  for (const PoolRun& pool : pools) {
    const std::string where = placement(pool);
    const auto known = std::find_if(
        placements.begin(), placements.end(),
        [&](const Placement& other) { return pool.replicas == 1 && other.where == where; });
    if (known == placements.end()) {
      placements.push_back({pool.name, where});
    } else {
      known->names += ", " + pool.name;
    }
  }
  std::string text = model + ":";
  for (const Placement& one : placements) {
    text += fmt::format("{} {} on {}", &one == placements.data() ? "" : ";", one.names, one.where);
  }
  return text;
}

std::vector<PoolInputs> pool_inputs(std::span<const PoolRun> pools) {
  std::vector<PoolInputs> list;
  for (const PoolRun& pool : pools) {
    list.push_back({.name = pool.name,
                    .role = pool.role,
                    .replicas = pool.replicas,
                    .deployment = inputs_of(pool.deployment),
                    .profile_hash = pool.profile_hash,
                    .kv_blocks = pool.plan.kv_blocks});
  }
  return list;
}

std::string gpus_of(std::span<const PoolRun> pools) {
  return distinct(pools, [](const PoolRun& pool) { return pool.deployment.gpu.name; });
}

std::string engines_of(std::span<const PoolRun> pools) {
  return distinct(pools, [](const PoolRun& pool) { return engine_title(pool.deployment.engine); });
}

std::string profile_hashes_of(std::span<const PoolRun> pools) {
  return distinct(pools, [](const PoolRun& pool) { return pool.profile_hash; });
}

}  // namespace roofcast
