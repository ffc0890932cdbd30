// The activation peak that an engine measures at start-up and subtracts from the KV cache. vLLM
// runs a dummy forward pass of max_num_batched_tokens (T) and a sampler pass of max_num_seqs (S);
// the higher peak counts. Written for vLLM V1; other engines have their own rule.
#pragma once

#include <string>

#include "base/units.hpp"
#include "model/architecture/parallelism.hpp"
#include "model/architecture/transformer.hpp"
#include "model/engines/engine.hpp"

namespace roofcast {

/// What the peak depends on, for one rank of the last pipeline stage (the one that samples).
struct ActivationShape {
  double logits = 0;           // S * vocabulary, elements; logits are gathered from all TP ranks
  double hidden = 0;           // T * hidden width, elements
  double intermediate = 0;     // T * widest dense FFN / TP, elements
  Bytes expert_workspace{};    // fused experts' two buffers, 0 without experts
  Bytes gathered{};            // states of all data-parallel ranks' tokens, 0 for one rank
  Bytes up_projected{};        // latent attention: keys and values of a long prompt's context
  Bytes encoder_pass{};        // of the largest picture, 0 for text models and others than Qwen's
  Bytes encoder_outputs{};     // image embeddings held for T tokens, 0 for text models
  double element_bytes = 2.0;  // of activations
};

ActivationShape activation_shape(const Transformer& model, const Engine& engine,
                                 const Parallelism& parallel);

/// Sampler pass: logits_bytes * S * V for logits in several precisions, plus what is still held:
/// the hidden states of all T tokens, the experts' workspace if the preset keeps it, and image
/// embeddings.
Bytes sampler_peak(const ActivationShape& shape, const MemoryConstants& constants);

/// Forward pass: in a gated FFN the 2 * intermediate outputs of gate and up are live together with
/// their product, the residual, the normed input and the attention output: about 3 * intermediate +
/// 4 * hidden elements per token. With experts, their workspace replaces the FFN. On data-parallel
/// ranks the experts' workspace is of all ranks' tokens, which are gathered first (0.19,
/// prepare_finalize/naive_dp_ep.py, prepare; modular_kernel.py, _allocate_buffers); up to 0.18 it
/// is of at most VLLM_FUSED_MOE_CHUNK_SIZE of them (`expert_chunk`; vllm-project/vllm pulls 27426
/// and 34086). DeepEP's low-latency kernels bring at most 256 tokens of each rank
/// (VLLM_MOE_DP_CHUNK_SIZE), with room for all of them at each expert
/// (batched_deep_gemm_moe.py, workspace_shapes); its high-throughput ones bring as many as choose
/// experts of this rank, in the worst case all. Attention's part comes before: the rebuilt context
/// of latent attention, beside the experts' workspace if that is kept.
Bytes forward_peak(const ActivationShape& shape, const MemoryConstants& constants);

struct ActivationPeak {
  Bytes bytes{};
  std::string detail{};  // which pass set the peak, with its numbers
};

/// The highest of the two passes, that of a picture's encoder and, when the engine compiles, the
/// scratch of a cold torch.compile, which vLLM 0.17 to 0.29 counts as activation (vllm-project/vllm
/// issue 54122). A start from a warm compile cache has more room.
ActivationPeak vllm_activation_peak(const Transformer& model, const Engine& engine,
                                    const Parallelism& parallel);

/// TensorRT-LLM: 2 * T * attention width * coefficient by TP, at least 70 MiB (the estimate of
/// NVIDIA's aiconfigurator, base_backend.py, _get_memory_usage). With data-parallel attention, uses
/// the coefficient of dense models and adds what the experts hold of all ranks' tokens.
ActivationPeak tensorrt_activation_peak(const Transformer& model, const Engine& engine,
                                        const Parallelism& parallel);

}  // namespace roofcast
