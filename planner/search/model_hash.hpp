// Hash of a loaded model: two models that differ in anything a forecast may use differ in it,
// independent of the file format that they were read from.
#pragma once

#include "base/content_hash.hpp"
#include "model/architecture/transformer.hpp"

namespace roofcast {

/// Adds every member of the model, including its layers.
void add_model(ContentHash& hash, const Transformer& model);

}  // namespace roofcast
