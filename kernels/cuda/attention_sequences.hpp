// Which sequences of a ragged batch a CTA works on: each warp sums the sequences' lengths on the
// device, so that no host copy of the lengths and no additional kernel is needed.
#pragma once

#include <cstdint>

#include "kernels/cuda/attention_tile.hpp"
#include "kernels/cuda/warp.hpp"

namespace roofcast::kernels::cuda {

/// Sum of count_of(sequence), equal in all lanes.
template <class CountOf>
ROOFCAST_DEVICE int sum_over_sequences(int sequences, const CountOf& count_of) {
  std::uint32_t sum = 0;
  ROOFCAST_UNROLL_BY_FOUR  // so that several loads are in flight
      for (int s = thread_index() % kWarpThreads; s < sequences; s += kWarpThreads) {
    sum += static_cast<std::uint32_t>(count_of(s));
  }
  ROOFCAST_UNROLL
  for (int mask = kWarpThreads / 2; mask > 0; mask /= 2) {
    sum += shuffle(sum, (thread_index() % kWarpThreads) ^ mask);
  }
  return static_cast<int>(sum);
}

/// The sequence that contains a unit of work, and the number of its first unit.
struct SequenceStart {
  int sequence = 0;
  int unit = 0;
};

/// The location of unit `target` if sequence s has count_of(s) units. Beyond the last unit,
/// `sequence` is the number of sequences. Equal in all lanes.
template <class CountOf>
ROOFCAST_DEVICE SequenceStart find_sequence(int sequences, int target, const CountOf& count_of) {
  const int lane = thread_index() % kWarpThreads;
  SequenceStart start;
  for (int base = 0; base < sequences; base += kWarpThreads) {
    const int own = base + lane < sequences ? count_of(base + lane) : 0;
    std::uint32_t until = static_cast<std::uint32_t>(own);  // units of this and lower lanes
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

/// A CTA's share of one item of a decode batch (attention_tile.hpp).
struct ShareOfItem {
  int sequence = 0;
  int item = 0;         // of the sequence
  TokenRange tokens{};  // may start up to 15 before the first visible one
  int first_visible = 0;
  PartOfItem part{};
  int units = 0;  // 0: no work left
};

/// The next piece of this CTA's equal share of a decode batch, of which `done` units are done. Each
/// sequence has `items` items and the tokens visible_at(sequence). Recomputed for each piece,
/// because the loop over its tokens leaves no registers to keep the sums.
template <class VisibleAt>
ROOFCAST_DEVICE ShareOfItem next_share(int done, int sequences, int items,
                                       const VisibleAt& visible_at) {
  const auto units_at = [&](int sequence) { return units_of(visible_at(sequence)) * items; };
  const int total = sum_over_sequences(sequences, units_at);
  const int share = units_per_cta(total, block_count());
  const std::int64_t begin = static_cast<std::int64_t>(block_index()) * share;
  if (done == share || begin + done >= total) return {};
  const int end = begin + share < total ? static_cast<int>(begin) + share : total;

  const int unit = static_cast<int>(begin) + done;
  const SequenceStart start = find_sequence(sequences, unit, units_at);
  const TokenRange visible = visible_at(start.sequence);
  const int units = units_of(visible);  // per item
  const int item = (unit - start.unit) / units;
  const int item_unit = start.unit + item * units;  // its first unit
  const int stop = item_unit + units < end ? item_unit + units : end;
  const int first_token = first_unit_token(visible) + (unit - item_unit) * kUnitTokens;
  const int end_token = first_unit_token(visible) + (stop - item_unit) * kUnitTokens;
  return {.sequence = start.sequence,
          .item = item,
          .tokens = {first_token, end_token < visible.end ? end_token : visible.end},
          .first_visible = visible.first,
          .part = {.number = unit / share - item_unit / share,
                   .count = parts_of(item_unit, units, share)},
          .units = stop - unit};
}

}  // namespace roofcast::kernels::cuda
