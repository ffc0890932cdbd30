// Whose kernels run a mixture's experts, where an engine has several.
#pragma once

#include <string_view>

#include "model/architecture/transformer.hpp"
#include "model/deployment.hpp"

namespace roofcast {

/// The kernels that TensorRT-LLM's moe_config.backend or vLLM's --moe-backend names
/// (kTrtllmGenExperts ...); empty for engines whose choice is not modelled, and for vLLM's other
/// kernels than Marlin's on Hopper. TensorRT-LLM's are by default CUTLASS's (1.0 and 1.1,
/// llmapi/llm_args.py, MoeConfig); from 1.2 on TRTLLM-gen for gpt-oss on compute capability 10.x
/// and Triton on Hopper (_torch/model_config.py, resolve_moe_backend), from 1.3 on TRTLLM-gen also
/// for experts with scales of blocks in fp8 on 10.x (the same, 1.3.0rc20).
std::string_view expert_kernels(const Deployment& deployment, const Layer& layer);

}  // namespace roofcast
