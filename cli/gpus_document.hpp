// What `roofcast gpus` answers.
#pragma once

#include "model/io/gpu_reader.hpp"
#include "reports/document.hpp"

namespace roofcast {

/// All built-in profiles, one row each.
Document gpu_list_document();

/// One profile: memory, peaks with ridge points, links, efficiencies, and every number's source.
Document gpu_document(const GpuProfile& profile);

}  // namespace roofcast
