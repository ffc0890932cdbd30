// Which sequence of a ragged batch a CTA works on: sums over the sequences' lengths on the device,
// made by each warp for itself, so that no host copy of the lengths and no further kernel is
// needed.
#pragma once

#include <cstdint>

#include "kernels/cuda/warp.hpp"

namespace roofcast::kernels::cuda {

/// Sum of count_of(sequence), the same in all lanes.
template <class CountOf>
ROOFCAST_DEVICE int sum_over_sequences(int sequences, const CountOf& count_of) {
  std::uint32_t sum = 0;
  ROOFCAST_UNROLL_BY_FOUR  // so that several loads are under way
      for (int s = thread_index() % kWarpThreads; s < sequences; s += kWarpThreads) {
    sum += static_cast<std::uint32_t>(count_of(s));
  }
  ROOFCAST_UNROLL
  for (int mask = kWarpThreads / 2; mask > 0; mask /= 2) {
    sum += shuffle(sum, (thread_index() % kWarpThreads) ^ mask);
  }
  return static_cast<int>(sum);
}

/// The sequence that holds a unit of work, and the number of the unit at which it begins.
struct SequenceStart {
  int sequence = 0;
  int unit = 0;
};

/// When sequence s has count_of(s) units: where unit `target` is. Past the last unit, `sequence` is
/// their number. The same in all lanes.
template <class CountOf>
ROOFCAST_DEVICE SequenceStart find_sequence(int sequences, int target, const CountOf& count_of) {
  const int lane = thread_index() % kWarpThreads;
  SequenceStart start;
  for (int base = 0; base < sequences; base += kWarpThreads) {
    const int own = base + lane < sequences ? count_of(base + lane) : 0;
    std::uint32_t until = static_cast<std::uint32_t>(own);  // units of this lane and those below
    ROOFCAST_UNROLL
    for (int distance = 1; distance < kWarpThreads; distance *= 2) {
      const std::uint32_t below = shuffle_up(until, distance);
      if (lane >= distance) until += below;
    }
    const std::uint32_t holders = ballot(start.unit + static_cast<int>(until) > target);
    if (holders != 0) {
      const int holder = lowest_bit(holders);
      const std::uint32_t before = until - static_cast<std::uint32_t>(own);
      return {base + holder, start.unit + static_cast<int>(shuffle(before, holder))};
    }
    start.unit += static_cast<int>(shuffle(until, kWarpThreads - 1));
  }
  start.sequence = sequences;
  return start;
}

}  // namespace roofcast::kernels::cuda
