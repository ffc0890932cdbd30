// A layer's whole attention block as an engine runs it on one rank: projections, norms of latents,
// rotary embedding, cache write, attention (with its indexer and compressor) and output projection,
// without the all-reduce and the layer's own norms. Kernel tables time such blocks as one; where
// they do, the block's time stands for the sum of its operators (model/step/timed_block.hpp).
#pragma once

#include <cstdint>
#include <optional>

#include "model/architecture/parallelism.hpp"
#include "model/architecture/transformer.hpp"
#include "model/architecture/weights.hpp"
#include "model/curves/operator_shape.hpp"

namespace roofcast {

/// The shapes under which measured curves list a block.
struct BlockShapes {
  OperatorShape decode{};
  OperatorShape prefill{};

  bool operator==(const BlockShapes&) const = default;
};

/// The block of a layer of a model `hidden` wide, whose norms and routers are `activation`; `cache`
/// is the KV cache's type. nullopt for layers whose blocks are not timed as a whole: all but latent
/// attention and DeepSeek-V4's compressed caches. The latter's entries are fp8 whatever `cache`
/// says (vLLM 0.24, DeepseekV4Attention, and SGLang 0.5.14 keep no others).
std::optional<BlockShapes> block_shapes(const Layer& layer, std::int64_t hidden, DType activation,
                                        const Parallelism& parallel, DType cache);

/// Whether a weight of a layer with such a block is multiplied in it.
bool is_of_block(const Weight& weight);

}  // namespace roofcast
