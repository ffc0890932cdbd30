// A GPU's own clocks, read before and after work, to find how fast its multiprocessors ran.
#pragma once

#include <cstdint>
#include <span>

namespace roofcast::kernels::cuda {

/// One multiprocessor at one moment; zeros: not read.
struct ClockReading {
  std::uint64_t nanoseconds = 0;  // %globaltimer, common to all
  std::uint64_t cycles = 0;       // clock64(), one per multiprocessor
};

/// Median over the multiprocessors that were read both times (at the same index), in Hz; 0 if there
/// are none or the interval is too short (50 microseconds).
double mean_clock_hz(std::span<const ClockReading> before, std::span<const ClockReading> after);

}  // namespace roofcast::kernels::cuda
