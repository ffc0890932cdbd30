#include "simulator/results/duration_histogram.hpp"

#include <algorithm>
#include <functional>

namespace roofcast {

Nanoseconds DurationHistogram::middle_of(Bin bin) {
  if (bin < 2 * kBinsPerDoubling) return bin;
  const int shift = bin / kBinsPerDoubling - 1;
  const Nanoseconds leading = bin - shift * kBinsPerDoubling;
  const Nanoseconds width = Nanoseconds{1} << shift;
  return (leading << shift) + (width - 1) / 2;
}

void DurationHistogram::add(const DurationHistogram& other) {
  for (std::size_t i = 0; i < other.doublings_.size(); ++i) {
    const Doubling& theirs = other.doublings_[i];
    if (theirs.bins.empty()) continue;
    Doubling& ours = of(static_cast<Bin>(i) * kBinsPerDoubling);
    std::ranges::transform(theirs.bins, ours.bins, ours.bins.begin(), std::plus());
    ours.count += theirs.count;
  }
  count_ += other.count_;
  sum_ += other.sum_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
}

std::int64_t DurationHistogram::bins_kept() const {
  return kBinsPerDoubling * std::ranges::count_if(doublings_, [](const Doubling& doubling) {
           return !doubling.bins.empty();
         });
}

double DurationHistogram::mean_s() const {
  assert(count_ > 0);
  // Whole nanoseconds and remainder separately, so that the mean of equal values is that value.
  const auto whole = static_cast<Nanoseconds>(sum_ / count_);
  const auto rest = static_cast<double>(sum_ % count_) / static_cast<double>(count_);
  constexpr double kSecondsPerNanosecond = 1e-9;
  return to_seconds(whole).value + rest * kSecondsPerNanosecond;
}

DurationHistogram::Place DurationHistogram::place_of(std::int64_t rank) const {
  assert(rank >= 0 && rank < count_);
  std::int64_t before = 0;
  auto doubling = doublings_.begin();
  for (; rank >= before + doubling->count; ++doubling) before += doubling->count;
  auto bin = doubling->bins.begin();
  for (; rank >= before + *bin; ++bin) before += *bin;
  const auto whole = static_cast<Bin>(doubling - doublings_.begin()) * kBinsPerDoubling;
  return {.bin = whole + static_cast<Bin>(bin - doubling->bins.begin()), .before = before};
}

Nanoseconds DurationHistogram::value_at(std::int64_t rank) const {
  return std::clamp(middle_of(place_of(rank).bin), min_, max_);
}

}  // namespace roofcast
