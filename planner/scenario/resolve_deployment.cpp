#include "planner/scenario/resolve_deployment.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/error.hpp"
#include "model/architecture/requantise.hpp"
#include "model/architecture/weights.hpp"
#include "model/io/engine_profile.hpp"
#include "model/io/gpu_reader.hpp"
#include "model/io/model_reader.hpp"
#include "model/memory/memory_plan.hpp"

namespace roofcast {
namespace {

/// The engine with its start-up defaults; the deployment's own is ignored.
Engine start(const EngineChoice& asked, const EngineOverrides& overrides,
             const Deployment& deployment) {
  Engine engine = resolve_engine(asked.preset, overrides, deployment.model, deployment.gpu,
                                 deployment.parallel);
  return asked.profile ? with_profile(std::move(engine), *asked.profile, overrides) : engine;
}

/// vLLM's --max-model-len auto: the model's longest context if it fits, else the longest that does.
/// If not even one token fits, the plan says so.
void fit_model_len(Deployment& deployment, const EngineChoice& asked,
                   const EngineOverrides& overrides) {
  const MemoryPlan plan = plan_memory(deployment);
  if (plan.fits) return;
  EngineOverrides fitted = overrides;
  fitted.max_model_len = max_context_at(deployment, plan, 1);
  if (!fitted.max_model_len) return;
  deployment.engine = start(asked, fitted, deployment);
}

/// Redundant experts are spread over the ranks as experts are: as many on each (vLLM 0.19,
/// eplb_state.py; SGLang 0.5.15, expert_location.py).
int redundant_experts(const EngineOverrides& overrides, const Parallelism& parallel) {
  const auto copies = static_cast<int>(overrides.num_redundant_experts.value_or(0));
  if (copies == 0) return 0;
  if (!parallel.expert_parallel) {
    throw UsageError("`num_redundant_experts`: requires `enable_expert_parallel`");
  }
  return copies;
}

/// Refuses what engines refuse on cards before Ampere. These have no bf16 and no fp8 units: vLLM
/// runs a bf16 checkpoint as fp16 there ("Falling back to torch.float16" in its logs on T4) and
/// 8-bit floating-point weights by Marlin's weight-only kernels. Those need compute capability 8.0
/// (quantization/fp8.py at 1436674b, get_min_capability) or, as users of later versions report,
/// 7.5: a T4 is let through as in those, 7.0 has them in none. AWQ needs 7.5, too (awq.py,
/// get_min_capability), GPTQ 6.0: vLLM's table "Supported Hardware" (its page on quantization) has
/// GPTQ on Volta, but not AWQ.
void check_formats(const Transformer& model, const Gpu& gpu) {
  if (gpu.compute_capability != "7.0") return;
  for (const PartBytes& part : weight_bytes_by_part(model, {})) {
    const bool runs = part.format.find("fp8") == std::string::npos &&
                      part.format.find("fp4") == std::string::npos && part.format != "awq";
    if (runs) continue;
    throw UsageError(fmt::format(
        "{}: no engine has kernels for {} weights on it (compute capability 7.0; they need 7.5 or "
        "more), expected `quantization` gptq, or 16-bit weights",
        gpu.display_name, part.format));
  }
}

/// vLLM: "Bfloat16 is only supported on GPUs with compute capability of at least 8.0"
/// (vllm-project/vllm issues 946 and 1157).
void check_dtype(const std::optional<std::string>& asked, const Gpu& gpu) {
  if (asked != "bf16" || !gpu.compute_capability.starts_with("7.")) return;
  throw UsageError(
      fmt::format("`dtype` bf16: {} has none (compute capability {}, from 8.0 on); "
                  "fp16, or left out: bf16 checkpoints run as fp16",
                  gpu.display_name, gpu.compute_capability));
}

Deployment deploy_on(const DeploymentOptions& options, Gpu gpu) {
  check_dtype(options.weight_format, gpu);
  Transformer model = load_model_as(options.model, options.weight_format);
  return deploy(std::move(model), std::move(gpu), with_given({}, options.parallel),
                engine_choice(options.engine), options.overrides);
}

}  // namespace

EngineChoice engine_choice(const std::string& text) {
  if (text.empty()) return {.preset = kDefaultEngine};
  if (!is_engine_profile_path(text)) return {.preset = text};
  EngineProfile profile = load_engine_profile(text);
  return {.preset = profile.preset, .profile = std::move(profile)};
}

Transformer load_model_as(const std::string& model,
                          const std::optional<std::string>& weight_format) {
  if (model.empty()) {
    throw UsageError("`model` is missing (a name such as llama-3.1-8b, or a model folder)");
  }
  Transformer loaded = load_model(model);
  if (weight_format) requantise(loaded, *weight_format);
  return loaded;
}

Deployment deploy(Transformer model, Gpu gpu, const Parallelism& parallel,
                  const EngineChoice& engine, const EngineOverrides& overrides) {
  check_parallelism(model, parallel);
  check_formats(model, gpu);
  Deployment deployment{
      .model = std::move(model), .gpu = std::move(gpu), .parallel = parallel, .engine = {}};
  deployment.parallel.redundant_experts = redundant_experts(overrides, parallel);
  deployment.engine = start(engine, overrides, deployment);
  if (overrides.fit_model_len) fit_model_len(deployment, engine, overrides);
  return deployment;
}

ResolvedDeployment resolve(const DeploymentOptions& options) {
  if (options.gpu.empty())
    throw UsageError("`gpu` is missing (a name such as h100; roofcast gpus)");
  GpuProfile profile = load_gpu(options.gpu);
  return {.deployment = deploy_on(options, std::move(profile.gpu)), .profile_hash = profile.hash};
}

Deployment as_started(Deployment deployment, const EngineChoice& engine,
                      const EngineOverrides& overrides) {
  const bool by_cache =
      deployment.engine.memory_rule == MemoryRule::sglang && !overrides.max_model_len;
  if (by_cache) fit_model_len(deployment, engine, overrides);
  return deployment;
}

ResolvedDeployment resolve_as_started(const DeploymentOptions& options) {
  ResolvedDeployment resolved = resolve(options);
  resolved.deployment =
      as_started(std::move(resolved.deployment), engine_choice(options.engine), options.overrides);
  return resolved;
}

Deployment resolve_on(const DeploymentOptions& options, Gpu gpu) {
  return deploy_on(options, std::move(gpu));
}

}  // namespace roofcast
