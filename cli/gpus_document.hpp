// What `roofcast gpus` answers.
#pragma once

#include "reports/document.hpp"
#include "roofcast/gpus.hpp"

namespace roofcast {

/// All built-in profiles, one row each.
Document gpus_document(const GpuListAnswer& answer);

/// One profile: memory, peaks with ridge points, links, what was measured, and every number's
/// source.
Document gpu_document(const GpuAnswer& answer);

}  // namespace roofcast
