// The rows of a memory plan other than KV cache: weights by part, other fixed terms, and how each
// engine's rule divides the rest. Internal to memory_plan.cpp and its tests.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/memory/memory_plan.hpp"

namespace roofcast {

/// One GPU before division into KV blocks: before + kv_budget + after equals the total exactly.
struct MemoryDivision {
  Bytes total{};
  std::vector<MemoryTerm> before{};           // taken before the cache is sized
  Bytes kv_budget{};                          // may be negative: the bytes that are missing
  std::vector<MemoryTerm> after{};            // excluded from the cache by the rule
  std::optional<std::int64_t> state_slots{};  // in a pool of recurrent states, if there is one
};

/// The model with the layer of an EAGLE or MTP head, which is one of the target's last layers and
/// shares its embedding and LM head; the model itself without such drafts, or in pipeline stages.
/// Neglects the head's projection, and heads of another shape.
Transformer with_draft_layer(const Deployment& deployment);

/// Weights of the fullest rank by part and format, vision tower, what is kept beside them (latent
/// attention's absorbed matrices, drafts, LoRA adapters); a single term if the user stated the
/// checkpoint's size.
std::vector<MemoryTerm> weight_terms(const Deployment& deployment);

/// Applies the engine's own rule to one GPU.
MemoryDivision divide_memory(const Deployment& deployment);

}  // namespace roofcast
