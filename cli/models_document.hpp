// What `roofcast models` answers.
#pragma once

#include "model/architecture/transformer.hpp"
#include "reports/document.hpp"

namespace roofcast {

/// Every catalogue model with its size and KV bytes per token.
Document catalogue_document();

/// One model: parameters, weights by part and format, KV cache, FLOPs per token, layers, notes.
Document model_document(const Transformer& model);

}  // namespace roofcast
