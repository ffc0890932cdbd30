#include "simulator/engine/contiguous_kv.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <iterator>

namespace roofcast {

std::int64_t reserved_tokens(const Engine& engine, std::int64_t input_tokens,
                             std::int64_t output_tokens) {
  const Speculation& speculation = engine.speculation;
  const std::int64_t drafts =
      speculation.on() ? speculation.draft_tokens + speculation.lookahead() : 0;
  std::int64_t tokens = 0;
  switch (engine.kv_reservation) {
    case KvReservation::paged:
      return 0;
    case KvReservation::max:
      return engine.max_model_len;
    case KvReservation::pow2: {
      const auto output = static_cast<std::uint64_t>(output_tokens);
      tokens = input_tokens + static_cast<std::int64_t>(std::bit_ceil(output)) + drafts;
      break;
    }
    case KvReservation::oracle:
      tokens = input_tokens + output_tokens + drafts;
      break;
  }
  return engine.max_model_len > 0 ? std::min(tokens, engine.max_model_len) : tokens;
}

FreeRanges::FreeRanges(std::int64_t size) {
  if (size > 0) ranges_[0] = size;
}

std::optional<std::int64_t> FreeRanges::take(std::int64_t slots) {
  auto best = ranges_.end();
  for (auto range = ranges_.begin(); range != ranges_.end(); ++range) {
    if (range->second < slots) continue;
    if (best == ranges_.end() || range->second < best->second) best = range;
  }
  if (best == ranges_.end()) return std::nullopt;
  const auto [first, length] = *best;
  ranges_.erase(best);
  if (length > slots) ranges_[first + slots] = length - slots;
  return first;
}

bool FreeRanges::fits(std::int64_t slots) const {
  return std::any_of(ranges_.begin(), ranges_.end(),
                     [&](const auto& range) { return range.second >= slots; });
}

void FreeRanges::give_back(std::int64_t first, std::int64_t slots) {
  const auto after = ranges_.lower_bound(first);
  assert(after == ranges_.end() || after->first >= first + slots);
  if (after != ranges_.end() && after->first == first + slots) {
    slots += after->second;
    ranges_.erase(after);
  }
  const auto next = ranges_.lower_bound(first);
  if (next != ranges_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == first) {
      before->second += slots;
      return;
    }
  }
  ranges_[first] = slots;
}

std::int64_t FreeRanges::in_shorter(std::int64_t slots) const {
  std::int64_t sum = 0;
  for (const auto& [first, length] : ranges_) sum += length < slots ? length : 0;
  return sum;
}

}  // namespace roofcast
