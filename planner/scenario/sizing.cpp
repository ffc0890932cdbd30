#include "planner/scenario/sizing.hpp"

#include <utility>

#include "base/error.hpp"
#include "model/memory/memory_plan.hpp"

namespace roofcast {

std::optional<Deployment> smallest_tensor_parallel(DeploymentOptions options,
                                                   std::optional<std::int64_t> context,
                                                   std::int64_t batch) {
  const Transformer model = load_model_as(options.model, options.weight_format);
  for (int tensor = 1; tensor <= kMaxTensorParallel; tensor *= 2) {
    if (why_not_parallel(model, {.tensor = tensor})) continue;
    options.parallel.tensor = tensor;
    Deployment candidate;
    try {
      candidate = resolve(options).deployment;
    } catch (const UsageError&) {
      throw;
    } catch (const Error&) {
      continue;  // no link connects that many GPUs
    }
    const MemoryPlan plan = plan_memory(candidate);
    const std::int64_t tokens = context.value_or(candidate.engine.max_model_len);
    if (plan.fits && max_batch_at(candidate, plan, tokens) >= batch) return candidate;
  }
  return std::nullopt;
}

std::vector<FormatVariant> format_variants(const DeploymentOptions& options) {
  std::vector<FormatVariant> variants{{"as given", options}};
  for (const std::string format : {"bf16", "fp8", "awq"}) {
    DeploymentOptions changed = options;
    changed.weight_format = format;
    variants.push_back({format + " weights", std::move(changed)});
  }
  DeploymentOptions cache = options;
  cache.overrides.kv_cache_dtype = DType::fp8;
  variants.push_back({"fp8 KV cache", cache});
  cache.weight_format = "fp8";
  variants.push_back({"fp8 weights and KV cache", std::move(cache)});
  return variants;
}

}  // namespace roofcast
