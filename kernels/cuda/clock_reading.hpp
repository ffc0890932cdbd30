// A GPU's own clocks, read before and after work: how fast its multiprocessors ran meanwhile.
#pragma once

#include <cstdint>
#include <span>

namespace roofcast::kernels::cuda {

/// One multiprocessor at one moment; zeros: not read.
struct ClockReading {
  std::uint64_t nanoseconds = 0;  // %globaltimer, the same for all
  std::uint64_t cycles = 0;       // clock64(), each one's own
};

/// Median over the multiprocessors that were read both times (at the same index), in Hz; 0 when
/// there is none, or the time between is too short to tell (50 microseconds).
double mean_clock_hz(std::span<const ClockReading> before, std::span<const ClockReading> after);

}  // namespace roofcast::kernels::cuda
