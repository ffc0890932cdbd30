// Layers of a model in words, equal ones counted together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/architecture/transformer.hpp"

namespace roofcast {

struct LayerKind {
  std::int64_t count = 0;
  std::string mixer;  // "attention 64/8 heads x 128, sliding 4096, bf16"
  std::string ffn;    // "MoE 8 x 14336, top 2, fp8"
};

/// Kinds in order of first appearance.
std::vector<LayerKind> layer_kinds(const Transformer& model);

}  // namespace roofcast
