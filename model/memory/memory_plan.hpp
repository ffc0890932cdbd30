// Divides the memory of one GPU by the engine's own rule, with every term named, to see what fits.
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

enum class TermKind {
  weights,
  activations,  // the largest pass that the engine expects
  overhead,     // contexts, communication buffers, CUDA graphs: what the engine takes besides
  kv_cache,     // the blocks, and what is left over by them or missing for them
  reserve,      // kept out of the cache by the rule
};

TermKind kind_of(const MemoryTerm& term);

struct MemoryPlan {
  bool fits = false;                // at least one sequence of max_model_len
  std::string reason{};             // if it does not fit: what is short, and by how much
  std::vector<MemoryTerm> terms{};  // of the fullest GPU, top-down; they sum to `total`
  Bytes total{};                    // memory the driver reports
  Bytes kv_budget{};                // bytes left for KV blocks, before rounding to blocks
  CacheLayout layout{};
  std::int64_t kv_blocks = 0;         // block ids
  std::int64_t tokens_in_blocks = 0;  // of full-attention cache
  /// The size of its cache as the engine prints it: these, or max_concurrency x max_model_len (vLLM
  /// from 0.21).
  std::int64_t kv_tokens = 0;
  std::int64_t max_batch = 0;  // concurrent sequences of max_model_len, limited by memory only
  /// Sequences that the pool of recurrent states lets run at once; unset if there is none.
  std::optional<std::int64_t> max_running{};
  /// Host memory of each rank's K and V there (HiCache, KV offloading), and free host memory that a
  /// node needs for all of its ranks.
  Bytes host_cache{};
  Bytes host_memory{};
  double max_concurrency = 0;       // the engine's "Maximum concurrency", fractional
  double relative_uncertainty = 0;  // of kv_budget: how far start-up logs were from this rule
};

/// The plan for one GPU of the deployment (the fullest rank).
MemoryPlan plan_memory(const Deployment& deployment);

/// Bytes of the KV cache that sequences can use, on the fullest GPU.
Bytes usable_cache(const Deployment& deployment, const MemoryPlan& plan);

/// Bytes that one sequence of `context` tokens takes of it, as the engine counts: in whole blocks
/// of all its groups of layers, or in tokens; recurrent state included.
Bytes sequence_bytes(const Deployment& deployment, const MemoryPlan& plan, std::int64_t context);

/// The same on one GPU of every pipeline stage, summed over the stages.
Bytes sequence_bytes_of_stages(const Deployment& deployment, std::int64_t context);

/// Sequences of `context` tokens that fit at once, limited by memory only.
std::int64_t max_batch_at(const Deployment& deployment, const MemoryPlan& plan,
                          std::int64_t context);

/// If the engine does not start only because max_num_seqs exceeds the blocks that hold recurrent
/// states: the most with which it does. Lower values leave more memory for blocks, never less.
std::optional<std::int64_t> max_num_seqs_that_starts(const Deployment& deployment,
                                                     const MemoryPlan& plan);

/// Longest context at which `batch` sequences fit; nullopt if not even one token each does.
std::optional<std::int64_t> max_context_at(const Deployment& deployment, const MemoryPlan& plan,
                                           std::int64_t batch);

/// A single change that makes the deployment fit, smallest first.
struct Remedy {
  /// Works when added to the command: "--tensor-parallel-size 4", "--max-model-len 8192". Where the
  /// engine would not start with its own max_model_len also that: "--batch 2 --max-model-len 8192".
  std::string flag{};
  std::string effect{};  // what it gains, in words with numbers
};

/// Sequences at once over all data-parallel ranks, and the tokens that each holds; unset: the
/// engine's max_model_len.
struct BatchSize {
  std::int64_t batch = 1;
  std::optional<std::int64_t> context{};
};

/// Changes that would make `wanted` fit, tried one knob at a time: utilisation, KV dtype, context,
/// batch, weight dtype, TP. Empty if it fits already.
std::vector<Remedy> remedies(const Deployment& deployment, const BatchSize& wanted = {});

}  // namespace roofcast
