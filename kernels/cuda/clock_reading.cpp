#include "kernels/cuda/clock_reading.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace roofcast::kernels::cuda {
namespace {

/// %globaltimer advances in steps of up to a microsecond: an error of at most 2 %.
constexpr std::uint64_t kShortestNanoseconds = 50'000;

}  // namespace

double mean_clock_hz(std::span<const ClockReading> before, std::span<const ClockReading> after) {
  constexpr double kNanosecond = 1e-9;
  std::vector<double> clocks;
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    if (before[i].nanoseconds == 0) continue;
    if (after[i].nanoseconds < before[i].nanoseconds + kShortestNanoseconds) continue;
    const auto cycles = static_cast<double>(after[i].cycles - before[i].cycles);
    const auto nanoseconds = static_cast<double>(after[i].nanoseconds - before[i].nanoseconds);
    clocks.push_back(cycles / (nanoseconds * kNanosecond));
  }
  if (clocks.empty()) return 0;
  const auto middle = clocks.begin() + static_cast<std::ptrdiff_t>(clocks.size() / 2);
  std::nth_element(clocks.begin(), middle, clocks.end());
  return *middle;
}

}  // namespace roofcast::kernels::cuda
