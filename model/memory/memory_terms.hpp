// The rows of a memory plan that are not KV cache: weights by part, what stands beside them, and
// how each engine's rule divides the rest. Internal to memory_plan.cpp and its tests.
#pragma once

#include <vector>

#include "model/memory/memory_plan.hpp"

namespace roofcast {

/// One GPU before KV blocks are cut: before + kv_budget + after make up the total, exactly.
struct MemoryDivision {
  Bytes total{};
  std::vector<MemoryTerm> before{};  // taken before the cache is sized
  Bytes kv_budget{};                 // may be negative: that much is missing
  std::vector<MemoryTerm> after{};   // left to others by the rule
};

/// Weights of the fullest rank by part and format, vision tower and rotary table; one term when the
/// user stated the checkpoint's size.
std::vector<MemoryTerm> weight_terms(const Deployment& deployment);

/// The engine's own rule applied to one GPU.
MemoryDivision divide_memory(const Deployment& deployment);

}  // namespace roofcast
