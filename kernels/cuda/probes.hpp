// Kernels that do nothing but be there: one that reads the GPU's clocks, one that is empty, one
// that waits.
#pragma once

#include <cstdint>

#include "kernels/cuda/clock_reading.hpp"

struct CUstream_st;  // what cudaStream_t points to, so that this header needs no CUDA

namespace roofcast::kernels::cuda {

/// More than any GPU has.
inline constexpr int kMaxMultiprocessors = 512;

/// Each multiprocessor that runs part of it writes readings[its number]; on an idle GPU nearly all
/// do. `readings`: [kMaxMultiprocessors], where the GPU can write. Throws CudaError when the
/// launch fails.
void launch_clock_probe(ClockReading* readings, int multiprocessors, CUstream_st* stream);

void launch_empty(CUstream_st* stream);

/// What is queued behind it on the stream starts after so many nanoseconds at the earliest.
void launch_delay(std::uint64_t nanoseconds, CUstream_st* stream);

}  // namespace roofcast::kernels::cuda
