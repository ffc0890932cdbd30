// One model on one kind of GPU with one engine: the subject of every question.
#pragma once

#include "model/architecture/parallelism.hpp"
#include "model/architecture/transformer.hpp"
#include "model/engines/engine.hpp"
#include "model/hardware/gpu.hpp"

namespace roofcast {

struct Deployment {
  Transformer model{};
  Gpu gpu{};
  Parallelism parallel{};
  Engine engine{};
};

/// Throws Error if the parallelism cannot run the model: TP that does not divide the query heads,
/// more stages than layers, expert parallelism without experts.
void check_parallelism(const Transformer& model, const Parallelism& parallel);

}  // namespace roofcast
