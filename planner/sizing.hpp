// Deployments near the one that was asked for: with fewer or more GPUs, in other number formats.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/deploy.hpp"

namespace roofcast {

/// Largest tensor parallelism that is tried: eight nodes of eight GPUs.
inline constexpr int kMaxTensorParallel = 64;

/// The deployment with the smallest tensor parallelism (a power of two up to kMaxTensorParallel, as
/// engines shard) that holds `batch` sequences of `context` tokens, the engine's max_model_len
/// where unset. Degrees that cannot shard the model are passed over; options.parallel.tensor is
/// ignored. Nothing when none holds them. Throws UsageError as resolve() does.
std::optional<Deployment> smallest_tensor_parallel(DeploymentOptions options,
                                                   std::optional<std::int64_t> context,
                                                   std::int64_t batch);

/// A deployment in other number formats.
struct FormatVariant {
  std::string name{};  // "as asked", "fp8 weights", "fp8 KV cache"
  DeploymentOptions options{};
};

/// The deployment as asked for, first; then with weights in bf16, fp8 and AWQ, with an fp8 KV
/// cache, and with both in fp8.
std::vector<FormatVariant> format_variants(const DeploymentOptions& options);

}  // namespace roofcast
