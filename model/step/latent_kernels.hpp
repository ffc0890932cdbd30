// Which kernels AMD's engines run around latent attention, where that is not one for each operator.
#pragma once

#include "model/architecture/dtype.hpp"
#include "model/deployment.hpp"

namespace roofcast {

/// What one kernel does there instead of several, and what runs besides. By default one kernel for
/// each operator.
struct LatentKernels {
  bool quantised_input = false;  // the layer's first norm quantises what qkv_a_proj reads
  bool joint_norms = false;      // one kernel norms the latents of queries and of keys
  bool quantised_query = false;  // it quantises what q_b_proj reads, too
  int rotations = 1;         // of a decode: kernels that rotate queries and keys; 0: the one that
                             // concatenates them and writes the cache does
  int prompt_rotations = 1;  // the same of prompts
  int copies = 0;     // of a decode: queries and keys put together, attention's output flattened
  int widenings = 0;  // of a decode: kernels that turn absorbed weights into 16 bits and scale them
};

/// Kernels of SGLang's rotary embedding where PyTorch computes it: the cosines and sines gathered,
/// each repeated; of queries and of keys a product, a negation, a concatenation, another product
/// and a sum.
inline constexpr int kNativeRotations = 3 + 2 * 5;

/// How often these read or write the rotated elements: 2 for the first product, 1 for negating
/// half of them, 2, 2 and 3 for the others. A single kernel reads and writes them once.
inline constexpr double kNativeRotationPasses = 10;

/// Of a layer whose projections are of `format`; the default on other vendors' GPUs and in other
/// engines than SGLang and ATOM.
///
/// - SGLang rotates DeepSeek's queries and keys in PyTorch on AMD's GPUs
///   (DeepseekScalingRotaryEmbedding.forward_native, which its constructor chooses under HIP; main
///   of 11 September 2025 to 15 May 2026): always those of prompts (forward_mha.py), on gfx942
///   those of decodes, too, which it then concatenates. There it also widens and scales both
///   absorbed weights in each step where they are in fp8 and copies attention's output
///   (forward_mla.py, the paths without AITER's kernels). Pulls 18242 and 18624 of 25 February 2026
///   gave gfx942 AITER's kernels, and pull 19122 two days later moved the code without them. From
///   0.5.11 on (pull 23186) one kernel norms both latents.
/// - On gfx950 one kernel rotates and concatenates a decode's (deepseek_v2.py of 0.5.2). From
///   0.5.5.post3 on norms quantise for weights in fp8 with scales of blocks (pull 12689) and in
///   mxfp4, batched products read absorbed weights as they are (pull 13617), and the kernel that
///   rotates writes the cache as well, which pull 18242 found there: an assumption for the last.
/// - ATOM norms both latents at once, in fp8 quantised (deepseek_v2.py, ENABLE_DS_QKNORM_FUSION and
///   ENABLE_DS_QKNORM_QUANT_FUSION, both by default), and rotates and writes at once
///   (attention_mla.py), from its first tagged version on.
LatentKernels latent_kernels(const Deployment& deployment, const WeightFormat& format);

/// Whether the norms after a row-parallel matrix of a decode run within its all-reduce: ATOM's do
/// (layernorm.py, ENABLE_ALLREDUCE_RMSNORM_FUSION, by default). Neglects that the first layer's has
/// none before it, and that single models may not.
bool norms_within_all_reduce(const Deployment& deployment);

}  // namespace roofcast
