// What `roofcast memory` prints.
#pragma once

#include "reports/document.hpp"
#include "roofcast/memory.hpp"

namespace roofcast {

/// The verdict or the solution in a sentence, every term, and the largest batch per context or what
/// would make it fit.
Document memory_document(const MemoryAnswer& answer);

}  // namespace roofcast
