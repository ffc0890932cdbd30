// Refuses models whose counts could overflow the arithmetic.
#pragma once

#include <string>

#include "model/architecture/transformer.hpp"

namespace roofcast {

/// Throws Error naming `where` if the model has no layers, or more than 10^16 parameters by a
/// generous upper estimate: such sizes are mistakes, and 64-bit sums must not overflow.
void check_bounds(const Transformer& model, const std::string& where);

}  // namespace roofcast
