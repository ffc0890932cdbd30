// What `roofcast models` prints: the catalogue, or one model.
#pragma once

#include "reports/document.hpp"
#include "roofcast/models.hpp"

namespace roofcast {

/// Every catalogue model with its size and KV bytes per token.
Document models_document(const ModelListAnswer& answer);

/// One model: parameters, weights by part and format, KV cache, FLOPs per token, layers, notes.
Document model_document(const ModelAnswer& answer);

}  // namespace roofcast
