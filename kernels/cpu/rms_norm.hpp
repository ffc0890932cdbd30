// RMSNorm with residual on the CPU, one thread. Contract, shapes and bytes: kernels/rms_norm.hpp.
#pragma once

#include "kernels/rms_norm.hpp"

namespace roofcast::kernels::cpu {

/// Returns when all rows are done. Throws std::invalid_argument on a bad shape.
void rms_norm(const RmsNorm& norm);

}  // namespace roofcast::kernels::cpu
