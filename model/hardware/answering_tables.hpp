// Whether a GPU's built-in kernel tables answer for an engine.
#pragma once

#include <string_view>

#include "model/hardware/gpu.hpp"

namespace roofcast {

/// Whether the GPU has tables and they hold the kernels that `engine` ("sglang-0.5") runs
/// (KernelTables::answer_for).
bool has_tables_for(const Gpu& gpu, std::string_view engine);

}  // namespace roofcast
