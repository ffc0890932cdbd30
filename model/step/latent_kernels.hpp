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
  bool rotated_write = false;    // one kernel rotates, concatenates and writes the cache
  int copies = 0;     // of a decode: queries and keys put together, attention's output flattened
  int widenings = 0;  // of a decode: kernels that turn absorbed weights into 16 bits and scale them
};

/// Of a layer whose projections are of `format`; the default on other vendors' GPUs and in other
/// engines than SGLang and ATOM.
///
/// - SGLang on gfx950 runs norms that quantise for weights in fp8 with scales of blocks
///   (sgl-project/sglang pull 12689) and in mxfp4, batched products that read absorbed weights as
///   they are (pull 13617) and one kernel for rotation, concatenation and cache write, which pull
///   18242 found there, by 0.5.5.post3: an assumption for the last. Before, and on gfx942 until
///   0.5.10 (pulls 18242 and 18624 of February 2026, after 0.5.9's image), it widened and scaled
///   both absorbed weights in each step where they are in fp8, and copied queries, keys and
///   attention's output (forward_mla_rocm.py and forward_mla.py, the paths without AITER's
///   kernels). gfx942 still copies the output and quantises apart.
/// - ATOM norms both latents at once, in fp8 quantised (deepseek_v2.py, ENABLE_DS_QKNORM_FUSION and
///   ENABLE_DS_QKNORM_QUANT_FUSION, both by default), and rotates and writes at once
///   (attention_mla.py), from its first tagged version on.
LatentKernels latent_kernels(const Deployment& deployment, const WeightFormat& format);

/// Whether the norms after a row-parallel matrix of a decode run within its all-reduce: ATOM's do
/// (layernorm.py, ENABLE_ALLREDUCE_RMSNORM_FUSION, by default). Neglects that the first layer's has
/// none before it, and that single models may not.
bool norms_within_all_reduce(const Deployment& deployment);

}  // namespace roofcast
