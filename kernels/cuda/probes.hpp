// Kernels without work: one reads the GPU's clocks, one is empty, one waits.
#pragma once

#include <cstdint>

#include "kernels/cuda/clock_reading.hpp"

struct CUstream_st;  // what cudaStream_t points to, so that this header needs no CUDA

namespace roofcast::kernels::cuda {

/// More than any GPU has.
inline constexpr int kMaxMultiprocessors = 512;

/// Each multiprocessor that runs part of it writes readings[its number]; on an idle GPU nearly all
/// do. `readings`: [kMaxMultiprocessors], writable by the GPU. Throws CudaError if the launch
/// fails.
void launch_clock_probe(ClockReading* readings, int multiprocessors, CUstream_st* stream);

void launch_empty(CUstream_st* stream);

/// Delays later work on the stream by at least this many nanoseconds.
void launch_delay(std::uint64_t nanoseconds, CUstream_st* stream);

}  // namespace roofcast::kernels::cuda
