// Whether a mixture's shared experts run by themselves or beside its routed ones.
#pragma once

#include <cstdint>

#include "model/architecture/transformer.hpp"
#include "model/deployment.hpp"

namespace roofcast {

/// Tokens of a step up to which the engine runs a layer's shared experts as one more routed expert
/// or on a second stream beside the routed ones; 0: never. As the engines' sources have it:
///  - SGLang fuses the one shared expert of DeepSeek-V3's shape (256 routed) without expert
///    parallelism (models/deepseek_v2.py, determine_num_fused_shared_experts), else runs shared
///    experts on a second stream in captured graphs of up to 1,024 tokens on NVIDIA GPUs
///    (forward_normal_dual_stream); Llama 4's only below 4 tokens, which is neglected.
///  - TensorRT-LLM 1.x does so in captured graphs (models/modeling_deepseekv3.py and others,
///    maybe_execute_in_parallel).
///  - vLLM from 0.12 up to 256 tokens, on NVIDIA GPUs (pulls 26440, 28406 and 30085; the first
///    measured 23.35 -> 22.09 ms a token for DeepSeek-R1 on eight B200 at batch 32).
std::int64_t shared_experts_beside(const Deployment& deployment, const Layer& layer);

}  // namespace roofcast
