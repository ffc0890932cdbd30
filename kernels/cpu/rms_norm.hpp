// RMSNorm with residual on the CPU. Contract, shapes and bytes: kernels/rms_norm.hpp.
#pragma once

#include "kernels/cpu/thread_pool.hpp"
#include "kernels/rms_norm.hpp"

namespace roofcast::kernels::cpu {

/// Normalises a range of the rows in the calling thread. Call check() first: this does not throw.
void rms_norm(const RmsNorm& norm, Range rows);

/// Returns when all rows are done. Throws std::invalid_argument for a bad shape.
void rms_norm(const RmsNorm& norm);

}  // namespace roofcast::kernels::cpu
