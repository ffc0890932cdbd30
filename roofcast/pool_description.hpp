// What the pools of a simulation run on, in words and for machines.
#pragma once

#include <span>
#include <string>

#include "cli/simulate_document.hpp"

namespace roofcast {

/// Whether all pools run on the same hardware, with the same engine and as many KV blocks.
bool are_alike(std::span<const PoolRun> pools);

/// "2 replicas of NVIDIA H100 SXM, vllm-0.19"; of one replica without their number.
std::string placement(const PoolRun& pool);

/// "LLaMA-3.1-8B on NVIDIA H100 SXM, vllm-0.19"; of several pools "LLaMA-3.1-8B: prefill on ...;
/// decode on ...".
std::string headline(std::span<const PoolRun> pools);

/// One object a pool: its name, role, replicas and deployment, every knob resolved, and KV blocks.
Json pools_json(std::span<const PoolRun> pools);

/// Texts of pools without repetition, in order: "nvidia-h100-sxm + nvidia-l40s".
std::string joined(std::span<const PoolRun> pools, const std::string& (*text_of)(const PoolRun&));

}  // namespace roofcast
