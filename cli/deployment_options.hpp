// The flags that say what runs where: model, GPU, parallelism, engine. Spelled as vLLM spells them.
#pragma once

#include <optional>
#include <string>

#include "cli/arguments.hpp"
#include "model/deployment.hpp"

namespace roofcast {

/// Degrees as given on the command line.
struct ParallelismOptions {
  std::optional<int> tensor;
  std::optional<int> pipeline;
  std::optional<int> data;
  std::optional<bool> expert_parallel;
};

/// What was given; what was not follows the scenario file, or its defaults.
struct DeploymentOptions {
  std::string model;
  std::string gpu;
  std::string engine;
  std::optional<std::string> weight_format;  // --quantization or --dtype
  ParallelismOptions parallel;
  EngineOverrides overrides;
};

/// `parallel` with what was given put over it.
Parallelism with_given(Parallelism parallel, const ParallelismOptions& given);

/// --model, --gpu, --quantization, --dtype and parallelism.
po::options_description machine_options(DeploymentOptions& target);

/// --engine and its knobs of memory and batch.
po::options_description engine_options(DeploymentOptions& target);

/// Knobs of the engine's scheduler, which decide what runs when but not what fits.
po::options_description scheduler_options(DeploymentOptions& target);

/// A deployment with where its hardware numbers come from.
struct ResolvedDeployment {
  Deployment deployment;
  std::string profile_hash;
};

/// Loads model and GPU, applies the weight format, resolves the engine. Throws UsageError when
/// --model or --gpu is missing.
ResolvedDeployment resolve(const DeploymentOptions& options);

/// The same on a GPU that is at hand; --gpu is not looked at.
Deployment resolve_on(const DeploymentOptions& options, Gpu gpu);

/// "inputs" of a result: the deployment as understood, every knob resolved.
Json describe(const Deployment& deployment);

/// "2x NVIDIA H200 SXM (TP 2), vllm-0.19"
std::string placement(const Deployment& deployment);

/// "LLaMA-3.1-70B on 2x NVIDIA H200 SXM (TP 2), vllm-0.19"
std::string headline(const Deployment& deployment);

}  // namespace roofcast
