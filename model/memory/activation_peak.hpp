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

/// Sizes that determine the peak, for one rank of the last pipeline stage (the one that samples).
struct ActivationShape {
  double logits = 0;           // S * vocabulary, elements; logits are gathered from all TP ranks
  double hidden = 0;           // T * hidden width, elements
  double intermediate = 0;     // T * widest dense FFN / TP, elements
  Bytes expert_workspace{};    // fused experts' two buffers, 0 without experts
  Bytes gathered{};            // states of all data-parallel ranks' tokens, 0 for one rank
  Bytes up_projected{};        // latent attention: keys and values of a long prompt's context
  Bytes gathered_keys{};       // sparse attention: keys of prompts, gathered from the cache
  Bytes index_scores{};        // and an indexer's scores of a chunk of them
  Bytes encoder_pass{};        // of the largest image, 0 for text models and others than Qwen's
  Bytes encoder_outputs{};     // image embeddings held for T tokens, 0 for text models
  double element_bytes = 2.0;  // of activations
};

ActivationShape activation_shape(const Transformer& model, const Engine& engine,
                                 const Parallelism& parallel);

/// Sampler pass: logits_bytes * S * V for logits in several precisions, plus what is still held:
/// the hidden states of all T tokens, the workspace of experts (if the preset keeps it) and of
/// sparse attention, which is one buffer as large as the larger of the two, and image embeddings.
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
/// of latent attention or the scores of an indexer, beside the workspace that is kept.
Bytes forward_peak(const ActivationShape& shape, const MemoryConstants& constants);

/// Bytes that attention adds to vLLM's estimate of CUDA graphs, which is how much less memory is
/// free after the largest batch ran once and was captured, the allocator's cache emptied before
/// (0.22, gpu_model_runner.py, profile_cudagraph_memory, _warmup_and_capture). A decode graph holds
/// an indexer's scores, 4 bytes for each entry of max_model_len of each sequence, and so does the
/// run before it; the larger batches' graphs leave attention out, but it allocates as in the
/// profile run.
Bytes attention_in_graphs(const Transformer& model, const Engine& engine,
                          const Parallelism& parallel);

struct ActivationPeak {
  Bytes bytes{};
  std::string detail{};  // which pass set the peak, with its numbers
};

/// The highest of the two passes, that of an image's encoder and, when the engine compiles, the
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
