// How many kernels PyTorch launches in a step that it runs operator by operator, where that is not
// one for each of our operators. The time of a launch: HostOverhead::eager_launch,
// with prompts prompt_launch.
#pragma once

#include <cstdint>

#include "model/architecture/transformer.hpp"
#include "model/deployment.hpp"

namespace roofcast {

/// Of a layer's routed experts, the choice among them included (SGLang 0.5.9, layers/moe/topk.py;
/// fused_moe_triton/fused_moe.py, fused_experts_impl): the choice 1, pairs sorted by expert 2, two
/// products, the activation between them 1, the sum of a token's experts 1; in 8 bits or less the
/// inputs of both products are quantised. TRTLLM-gen and AITER launch about as many from C++.
///
/// TensorRT-LLM's PyTorch backend first looks up how each product of the experts was tuned, in
/// Python (autotuner.py, AutoTuner.choose_one; pulls 4060 and 13116 are about what that costs),
/// which counts as seven launches: with them, and 14 us for each sequence
/// (HostOverhead::per_sequence), steps with prompts of Qwen3-30B and Llama-4-Scout on one B200 take
/// as long as measured (TensorRT-LLM 1.0's performance overview, 16 runs).
std::int64_t expert_launches(const WeightFormat& format, const Engine& engine);

/// Of a latent layer beyond its operators (SGLang 0.5.9, deepseek_common/forward_mha.py,
/// forward_normal_prepare): rotated queries are copied into place, and keys are concatenated.
inline constexpr std::int64_t kLatentCopies = 2;

/// Of a layer's scan of a prompt beyond its convolution and one kernel; 0 without a recurrence.
/// Gated delta net (SGLang 0.5.6, layers/attention/fla/chunk.py; KDA is taken to launch as many):
/// projections split 1, gates 1, queries, keys and values copied into place 3, queries and keys
/// normalised 2, sums of gates 1, products of keys 1, their inverse 3 (zeroed, diagonal blocks,
/// merged), W and U 1, states 1, outputs 1, states read and written back 2. Mamba-2 (mamba_ssm,
/// ssd_combined.py): sums of steps, states of chunks, their passing on, products, outputs.
std::int64_t scan_launches(const Layer& layer);

/// Whether the layer's shared experts run as part of the routed ones' kernels and launch none.
bool folds_shared_experts(const Deployment& deployment, const Layer& layer);

}  // namespace roofcast
