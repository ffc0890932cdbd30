// From what a user names (model, GPU, engine, knobs) to a deployment with every knob resolved.
#pragma once

#include <optional>
#include <string>

#include "model/deployment.hpp"
#include "model/engines/host_terms.hpp"
#include "simulator/deployment_options.hpp"

namespace roofcast {

/// A deployment with where its hardware numbers come from.
struct ResolvedDeployment {
  Deployment deployment{};
  std::string profile_hash{};
};

/// The requested engine: a preset, or a fitted engine profile.
struct EngineChoice {
  std::string preset{};
  std::optional<EngineProfile> profile{};
};

/// Reads the engine profile if `text` names one; a preset is not looked up here.
EngineChoice engine_choice(const std::string& text);

/// The model in `weight_format`, or as its checkpoint has it. Throws UsageError for an empty name.
Transformer load_model_as(const std::string& model,
                          const std::optional<std::string>& weight_format);

/// `model` and `gpu` under the engine with its start-up defaults resolved. Reads no files. Throws
/// Error as check_parallelism and resolve_engine do.
Deployment deploy(Transformer model, Gpu gpu, const Parallelism& parallel,
                  const EngineChoice& engine, const EngineOverrides& overrides);

/// Loads model and GPU, applies the weight format, resolves the engine. Throws UsageError when
/// model or GPU is missing.
ResolvedDeployment resolve(const DeploymentOptions& options);

/// A deployment of `engine` and `overrides` with the context that it serves once started. SGLang
/// starts with a KV cache smaller than the model's context and refuses requests longer than it
/// (0.5.9, tp_worker.py: max_req_len is the lesser of context and pool), so its max_model_len
/// becomes the longest sequence that fits, unless `overrides` asks for a length, which has to fit.
/// Everything else stays as it is.
Deployment as_started(Deployment deployment, const EngineChoice& engine,
                      const EngineOverrides& overrides);

/// resolve(), as_started().
ResolvedDeployment resolve_as_started(const DeploymentOptions& options);

/// The same as resolve() on a loaded GPU; options.gpu is ignored.
Deployment resolve_on(const DeploymentOptions& options, Gpu gpu);

}  // namespace roofcast
