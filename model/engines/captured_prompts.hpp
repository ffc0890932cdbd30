// Which of SGLang's servers capture steps with prompts in CUDA graphs.
#pragma once

#include "model/architecture/parallelism.hpp"
#include "model/architecture/transformer.hpp"
#include "model/engines/engine.hpp"
#include "model/hardware/gpu.hpp"

namespace roofcast {

/// The first version of SGLang that captures by default what lies between the attention of steps
/// with prompts (sgl-project/sglang pull 16331 of 2026-03-02).
inline constexpr const char* kFirstCapturedPrompts = "0.5.10";

/// Whether it does so from that version on: not on AMD GPUs, without pipeline stages, and not for
/// DeepSeek-V4, for DeepSeek-V3 with the TRTLLM-gen attention of compute capability 10.x, and for
/// most models with encoders (server_args.py, _handle_piecewise_cuda_graph of 0.5.10,
/// _disable_breakable_cudagraph_if_incompatible of 0.5.15). Neglects models that single versions
/// leave out.
bool captures_prompts(const Engine& engine, const Transformer& model, const Gpu& gpu,
                      const Parallelism& parallel);

}  // namespace roofcast
