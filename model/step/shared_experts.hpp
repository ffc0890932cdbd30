// Whether a mixture's shared experts run by themselves or overlapped with its routed ones.
#pragma once

#include <cstdint>

#include "model/architecture/transformer.hpp"
#include "model/deployment.hpp"

namespace roofcast {

/// In which steps an operator runs within other kernels, or overlaps them on a second stream.
struct SharedExpertOverlap {
  std::int64_t up_to = 0;       // tokens of the step; 0: in none
  bool only_in_graphs = false;  // not where kernels are launched one by one

  /// Whether it does so in a step of `tokens`, whose kernels are those of a captured graph or not.
  bool in_step(std::int64_t tokens, bool captured) const {
    return tokens <= up_to && (captured || !only_in_graphs);
  }
  bool operator==(const SharedExpertOverlap&) const = default;
};

/// The steps in which the engine runs a layer's shared experts as one more routed expert or on a
/// second stream beside the routed ones. As the engines' sources have it:
///  - SGLang fuses the one shared expert of DeepSeek-V3's shape (256 routed) in steps of any size,
///    not with expert parallelism but on AMD (models/deepseek_v2.py,
///    determine_num_fused_shared_experts), nor with the flashinfer_trtllm experts that it runs on
///    compute capability 10.x (server_args.py, _handle_moe_kernel_config). Else it runs shared
///    experts on a second stream in captured graphs of up to 1,024 tokens on NVIDIA GPUs
///    (forward_normal_dual_stream); Llama 4's only below 4 tokens, which is neglected.
///  - ATOM fuses shared experts of the routed ones' format, which are those of all models here, but
///    with data-parallel attention (0.1.2, model_ops/topK.py,
///    is_rocm_aiter_fusion_shared_expert_enabled), where it runs them on a second stream in steps
///    of up to 1,024 tokens (models/deepseek_v2.py, maybe_dual_stream_forward).
///  - TensorRT-LLM 1.x runs them on a second stream in captured graphs (models/
///    modeling_deepseekv3.py and others, maybe_execute_in_parallel).
///  - vLLM from 0.12 does so up to 256 tokens, on NVIDIA GPUs (pulls 26440, 28406 and 30085; the
///    first measured 23.35 -> 22.09 ms per token for DeepSeek-R1 on eight B200 at batch 32).
SharedExpertOverlap shared_expert_overlap(const Deployment& deployment, const Layer& layer);

}  // namespace roofcast
