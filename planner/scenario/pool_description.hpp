// The hardware and engine of a simulation's pools, in words and as JSON.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "planner/scenario/deployment_description.hpp"
#include "planner/scenario/simulation_run.hpp"

namespace roofcast {

/// Whether all pools have the same hardware, engine and number of KV blocks.
bool are_alike(std::span<const PoolRun> pools);

/// "2 replicas of NVIDIA H100 SXM, vllm-0.19"; the count is left out for one replica.
std::string placement(const PoolRun& pool);

/// "LLaMA-3.1-8B on NVIDIA H100 SXM, vllm-0.19"; for several pools "LLaMA-3.1-8B: prefill on ...;
/// decode on ...".
std::string headline(std::span<const PoolRun> pools);

/// A pool as part of an answer.
struct PoolInputs {
  std::string name{};
  PoolRole role = PoolRole::both;
  std::int32_t replicas = 1;
  DeploymentInputs deployment{};
  std::string profile_hash{};
  std::int64_t kv_blocks = 0;
};

std::vector<PoolInputs> pool_inputs(std::span<const PoolRun> pools);

template <class Visitor>
void members(Visitor& visit, PoolInputs& pool) {
  visit("name", pool.name, "name of the pool");
  visit("role", pool.role, "phase that its replicas compute");
  visit("replicas", pool.replicas, "replicas at the start");
  members(visit, pool.deployment);
  visit("profile_hash", pool.profile_hash, "hash of the hardware profile's text");
  visit("kv_blocks", pool.kv_blocks, "KV blocks of one engine");
}

/// GPUs that the pools run on, each name once, in order: "nvidia-h100-sxm + nvidia-l40s".
std::string gpus_of(std::span<const PoolRun> pools);
std::string engines_of(std::span<const PoolRun> pools);
std::string profile_hashes_of(std::span<const PoolRun> pools);

}  // namespace roofcast
