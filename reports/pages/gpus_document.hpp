// What `roofcast gpus` prints: all built-in profiles, or one.
#pragma once

#include "reports/document.hpp"
#include "roofcast/gpus.hpp"

namespace roofcast {

/// All built-in profiles, one per row.
Document gpus_document(const GpuListAnswer& answer);

/// One profile: memory, peaks with ridge points, links, measurements, and the source of every
/// number.
Document gpu_document(const GpuAnswer& answer);

}  // namespace roofcast
