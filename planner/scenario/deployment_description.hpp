// A deployment as answers show it: as JSON with every knob resolved, and as one line of text.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/json.hpp"
#include "model/deployment.hpp"

namespace roofcast {

/// "inputs" of a result: the deployment as understood, every knob resolved.
struct DeploymentInputs {
  std::string model{};
  std::string gpu{};
  Parallelism parallel{};
  std::shared_ptr<const Json> engine{};  // an object: knob -> value
  /// "NVIDIA H200 SXM". Not in the JSON; empty when read back.
  std::string gpu_display_name{};
};

DeploymentInputs inputs_of(const Deployment& deployment);

template <class Visitor>
void members(Visitor& visit, Parallelism& parallel) {
  visit("tensor", parallel.tensor, "tensor parallelism");
  visit("pipeline", parallel.pipeline, "pipeline stages");
  visit("data", parallel.data, "data-parallel ranks");
  visit("context", parallel.context, "ranks that divide the new tokens of each prompt");
  visit("expert", parallel.expert_parallel, "experts are distributed over the ranks, not sharded");
}

template <class Visitor>
void members(Visitor& visit, DeploymentInputs& inputs) {
  visit("model", inputs.model, "catalogue name or path, as given");
  visit("gpu", inputs.gpu, "name of the hardware profile");
  visit("parallel", inputs.parallel, "degrees of parallelism");
  visit("engine", inputs.engine,
        "the engine's preset (name), the version asked for and all its knobs, resolved");
}

/// Longest sequence that the engine accepts, in tokens.
std::int64_t max_model_len(const DeploymentInputs& inputs);

/// "2x NVIDIA H200 SXM (TP 2), vllm-0.19": the engine as engine_title() has it
std::string placement(const Deployment& deployment);

/// "LLaMA-3.1-70B on 2x NVIDIA H200 SXM (TP 2), vllm-0.19"
std::string headline(const Deployment& deployment);
std::string headline(const DeploymentInputs& inputs);

}  // namespace roofcast
