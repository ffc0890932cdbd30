#include "simulator/results/duration_histogram.hpp"

#include <algorithm>
#include <boost/histogram/unsafe_access.hpp>

namespace roofcast {
namespace {

constexpr DurationHistogram::Bin kBinsPerDoubling = 1 << DurationHistogram::kMantissaBits;

}  // namespace

Nanoseconds DurationHistogram::middle_of(Bin bin) {
  if (bin < 2 * kBinsPerDoubling) return bin;
  const int shift = bin / kBinsPerDoubling - 1;
  const Nanoseconds leading = bin - shift * kBinsPerDoubling;
  const Nanoseconds width = Nanoseconds{1} << shift;
  return (leading << shift) + (width - 1) / 2;
}

/// Grows the axis by whole doublings, so at most 54 times: growing bin by bin would copy the counts
/// each time when values rise slowly.
void DurationHistogram::cover(Bin bin) {
  const Bin first = bin / kBinsPerDoubling * kBinsPerDoubling;
  const Bin last = first + kBinsPerDoubling - 1;
  if (begin_ == end_) {
    counts_ = Counts(Axis(first, last + 1));
  } else {
    counts_(first, boost::histogram::weight(0));
    counts_(last, boost::histogram::weight(0));
  }
  begin_ = counts_.axis().bin(0);
  end_ = begin_ + counts_.axis().size();
}

void DurationHistogram::add(const DurationHistogram& other) {
  if (other.count_ == 0) return;
  cover(other.begin_);
  cover(other.end_ - 1);
  for (Bin bin = other.begin_; bin < other.end_; ++bin) {
    counts_.at(bin - begin_) += other.counts_.at(bin - other.begin_);
  }
  count_ += other.count_;
  sum_ += other.sum_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
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
  Place place{.bin = begin_, .before = 0};
  // Reads the storage directly: bounds checks on each access would cost more than the counting.
  const auto& counts = boost::histogram::unsafe_access::storage(counts_);
  for (;; ++place.bin) {
    const std::int64_t here = counts[static_cast<std::size_t>(place.bin - begin_)];
    if (rank < place.before + here) return place;
    place.before += here;
  }
}

Nanoseconds DurationHistogram::value_at(std::int64_t rank) const {
  return std::clamp(middle_of(place_of(rank).bin), min_, max_);
}

}  // namespace roofcast
