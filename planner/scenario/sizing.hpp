// Deployments close to the requested one: with fewer or more GPUs, or in other number formats.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/scenario/resolve_deployment.hpp"

namespace roofcast {

/// Largest tensor parallelism tried: eight nodes of eight GPUs.
inline constexpr int kMaxTensorParallel = 64;

/// The deployment with the smallest tensor parallelism (a power of two up to kMaxTensorParallel, as
/// engines shard) that holds `batch` sequences of `context` tokens, by default the engine's
/// max_model_len. Skips degrees that cannot shard the model and ignores options.parallel.tensor.
/// Returns nullopt if no degree holds them. Throws UsageError as resolve() does.
std::optional<Deployment> smallest_tensor_parallel(DeploymentOptions options,
                                                   std::optional<std::int64_t> context,
                                                   std::int64_t batch);

/// A deployment in other number formats.
struct FormatVariant {
  std::string name{};  // "as asked", "fp8 weights", "fp8 KV cache"
  DeploymentOptions options{};
};

/// The deployment as requested; then with weights in bf16, fp8 and AWQ, with an fp8 KV cache, and
/// with both in fp8.
std::vector<FormatVariant> format_variants(const DeploymentOptions& options);

}  // namespace roofcast
