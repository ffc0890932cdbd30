// What fits: the memory of one GPU divided by the engine's own rule, with every term named.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/cache/kv_cache.hpp"
#include "model/deployment.hpp"

namespace roofcast {

struct MemoryTerm {
  std::string name{};  // "weights.attention", "activation_peak", "non_torch", "kv_cache", "unused"
  std::string detail{};  // formula or reason, for display
  Bytes bytes{};
};

struct MemoryPlan {
  bool fits = false;                // at least one sequence of max_model_len
  std::string reason{};             // if it does not fit: what is short, and by how much
  std::vector<MemoryTerm> terms{};  // of the fullest GPU, top-down; they sum to `total`
  Bytes total{};                    // memory the driver reports
  Bytes kv_budget{};                // bytes left for KV blocks, before rounding to blocks
  CacheLayout layout{};
  std::int64_t kv_blocks = 0;       // block ids
  std::int64_t kv_tokens = 0;       // tokens of full-attention cache in them (as the engine prints)
  std::int64_t max_batch = 0;       // concurrent sequences of max_model_len, limited by memory only
  double max_concurrency = 0;       // the engine's "Maximum concurrency", fractional
  double relative_uncertainty = 0;  // of kv_budget: how far start-up logs were from this rule
};

/// The plan for one GPU of the deployment (the fullest rank).
MemoryPlan plan_memory(const Deployment& deployment);

/// Sequences of `context` tokens that fit at once, limited by memory only.
std::int64_t max_batch_at(const Deployment& deployment, const MemoryPlan& plan,
                          std::int64_t context);

/// Longest context at which `batch` sequences fit; nullopt if not even one token each does.
std::optional<std::int64_t> max_context_at(const Deployment& deployment, const MemoryPlan& plan,
                                           std::int64_t batch);

/// A single change that makes the deployment fit, smallest first.
struct Remedy {
  std::string flag{};  // "--tensor-parallel-size 4", "--max-model-len 8192", "--kv-cache-dtype fp8"
  std::string effect{};  // what it gains, in words with numbers
};

/// Changes that would make it fit, tried one knob at a time: TP, weight dtype, KV dtype, context,
/// utilisation. Empty if it fits already.
std::vector<Remedy> remedies(const Deployment& deployment);

}  // namespace roofcast
