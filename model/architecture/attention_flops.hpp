// FLOPs of a token that depend on the context or on recurrent state; those of the matrices are in
// weights.hpp.
#pragma once

#include <cstdint>

#include "base/units.hpp"
#include "model/architecture/transformer.hpp"

namespace roofcast {

/// FLOPs of attention scores and values for one token that attends to `context` tokens (including
/// itself), summed over all layers: 4 * heads * head_dim * attended per attention layer; absorbed
/// latent attention 2 * heads * (2 * kv_lora_rank + rope_dim) * attended. The indexer of a sparse
/// layer also scans the whole context: 2 * index_heads * index_head_dim per token.
Flops attention_flops_per_token(const Transformer& model, std::int64_t context);

/// FLOPs per token that recurrent mixers spend on their state; independent of the context.
Flops state_flops_per_token(const Transformer& model);

}  // namespace roofcast
