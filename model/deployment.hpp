// One model on one kind of GPU with one engine: the subject of every question.
#pragma once

#include <optional>
#include <string>

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

/// Why the parallelism cannot run the model: TP that does not divide the query heads, more stages
/// than layers, expert parallelism without experts. Nullopt if it can.
std::optional<std::string> why_not_parallel(const Transformer& model, const Parallelism& parallel);

/// Throws UsageError with the reason if the parallelism cannot run the model.
void check_parallelism(const Transformer& model, const Parallelism& parallel);

}  // namespace roofcast
