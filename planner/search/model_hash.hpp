// What a model's files came to, as a hash: two that differ in anything a forecast may look at
// differ in it, whatever kind of file they were read from.
#pragma once

#include "base/content_hash.hpp"
#include "model/architecture/transformer.hpp"

namespace roofcast {

/// Every member of the model, those of its layers included.
void add_model(ContentHash& hash, const Transformer& model);

}  // namespace roofcast
