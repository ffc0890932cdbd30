// The best candidate of a plan as a cluster deployment: manifests and values that other projects'
// controllers and charts read. Keys are theirs; each function of plan_targets.cpp names
// its source.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/search/plan_catalogue.hpp"

namespace roofcast {

enum class LaunchTarget {
  kubernetes,   // a Deployment and a Service
  kserve,       // an LLMInferenceService
  llm_d,        // values of the chart llm-d-modelservice
  dynamo,       // a DynamoGraphDeployment
  compose,      // a file of Docker compose
  vllm_config,  // a file for `vllm serve --config`, as vLLM's recipes recommend one
  vllm_sweep,   // a script of `vllm bench sweep serve` that would verify the plan
};

inline constexpr const char* kLaunchTargets =
    "kubernetes, kserve, llm-d, dynamo, compose, vllm-config or vllm-sweep";

std::optional<LaunchTarget> parse_launch_target(const std::string& name);
const char* name_of(LaunchTarget target);

/// Why the target cannot express the shape: replicas that span nodes, separate pools (KServe, llm-d
/// and Dynamo have those), another engine than vLLM (kubernetes and compose take all), no image for
/// the GPU, a load that the engine's benchmark cannot send. Nullopt if it can.
std::optional<std::string> target_problem(LaunchTarget target, const PlanCatalogue& catalogue,
                                          const Shape& shape);

/// Throws UsageError naming `flag` if no shape of the space can be expressed.
void check_target_possible(LaunchTarget target, const PlanCatalogue& catalogue,
                           const SearchSpace& space, const std::string& flag);

/// `units` replicas, with `headline` as a comment. Precondition: target_problem() returns nullopt.
std::string target_text(LaunchTarget target, const PlanCatalogue& catalogue, const Shape& shape,
                        std::int64_t units, const std::string& headline);

}  // namespace roofcast
