// The matrices of a LoRA adapter beside those of a model.
#pragma once

#include <cstdint>

#include "model/architecture/parallelism.hpp"
#include "model/architecture/transformer.hpp"
#include "model/architecture/weights.hpp"

namespace roofcast {

/// One adapter on one rank, for every matrix of some layers: A (rank x inputs, once for each matrix
/// that is stored with others: query, key and value; gate and up) and B (outputs x rank), split as
/// the matrix's inputs and outputs are. Neglects embedding and LM head, and A split over ranks.
struct AdapterShape {
  double elements = 0;        // for a rank of 1
  double elements_used = 0;   // the same of the experts that one token picks
  std::int64_t matrices = 0;  // that a token is multiplied with, those stored as one counted once
};

/// vLLM 0.19, lora/layers/base_linear.py, create_lora_weights; experts: fused_moe.py.
AdapterShape adapter_shape(const Transformer& model, const Parallelism& parallel,
                           LayerRange layers);

}  // namespace roofcast
