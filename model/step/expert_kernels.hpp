// Whose kernels run a mixture's experts, where an engine has several.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/architecture/transformer.hpp"
#include "model/deployment.hpp"

namespace roofcast {

/// Names of such kernels in shapes of experts (OperatorShape::name).
inline constexpr std::string_view kTrtllmGenExperts = "trtllm_gen";
inline constexpr std::string_view kCutlassExperts = "cutlass";
inline constexpr std::string_view kDeepgemmExperts = "deepgemm";

/// The kernels that TensorRT-LLM's moe_config.backend names; empty for engines whose choice is not
/// modelled. By default CUTLASS (1.0 and 1.1, llmapi/llm_args.py, MoeConfig); from 1.2 on
/// TRTLLM-gen for gpt-oss on compute capability 10.x and Triton on Hopper (_torch/model_config.py,
/// resolve_moe_backend), from 1.3 on TRTLLM-gen also for experts with scales of blocks in fp8 on
/// 10.x (the same, 1.3.0rc20).
std::string_view expert_kernels(const Deployment& deployment, const Layer& layer);

}  // namespace roofcast
