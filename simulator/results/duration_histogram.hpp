// Histogram of durations in bins whose width grows with the value, as in HdrHistogram
// (hdrhistogram.org): the exponent and the leading mantissa bits select the bin. Values from 1 ns
// to centuries take a bounded number of bins and are known to a fixed relative error. Uses integer
// arithmetic only, so bins are the same on every machine.
#pragma once

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "simulator/time.hpp"

namespace roofcast {

class DurationHistogram {
 public:
  using Bin = int;

  /// Mantissa bits below the leading one that select a bin: 1024 bins between a value and its
  /// double.
  static constexpr int kMantissaBits = 10;
  /// A bin's width is at most 1/1024 of its values, and its midpoint is reported.
  static constexpr double kRelativeError = 0.5 / (1 << kMantissaBits);
  /// Bins 0 to 2047 hold one value each; every further doubling up to 2^63 takes 1024.
  static constexpr Bin kMaxBins = (64 - kMantissaBits) << kMantissaBits;

  static Bin bin_of(Nanoseconds value) {
    assert(value >= 0);
    const auto bits = static_cast<std::uint64_t>(value);
    const int excess = static_cast<int>(std::bit_width(bits)) - (kMantissaBits + 1);
    const int shift = excess > 0 ? excess : 0;
    return (shift << kMantissaBits) + static_cast<Bin>(bits >> shift);
  }

  /// Midpoint of a bin, rounded down: the value reported for all values in it.
  static Nanoseconds middle_of(Bin bin);

  /// Precondition: value >= 0.
  void add(Nanoseconds value, std::int64_t count = 1) {
    const Bin bin = bin_of(value);
    Doubling& doubling = of(bin);
    doubling.bins[static_cast<std::size_t>(bin % kBinsPerDoubling)] += count;
    doubling.count += count;
    count_ += count;
    sum_ += static_cast<Sum>(value) * count;
    if (value < min_) min_ = value;
    if (value > max_) max_ = value;
  }

  void add(const DurationHistogram& other);

  std::int64_t count() const { return count_; }
  /// Exact, as are min and max. Precondition of all three: the histogram is not empty.
  double mean_s() const;
  Nanoseconds min() const { return min_; }
  Nanoseconds max() const { return max_; }

  struct Place {
    Bin bin = 0;
    std::int64_t before = 0;  // values in lower bins
  };
  /// Finds the value with `rank` values before it in ascending order. Precondition: 0 <= rank <
  /// count().
  Place place_of(std::int64_t rank) const;

  /// Returns that value, within kRelativeError.
  Nanoseconds value_at(std::int64_t rank) const;

  /// Bins kept in memory, 8 bytes each.
  std::int64_t bins_kept() const;
  /// The bin after the last that may hold a value; 0 if there are no values.
  Bin end() const { return static_cast<Bin>(doublings_.size()) * kBinsPerDoubling; }

 private:
  static constexpr Bin kBinsPerDoubling = 1 << kMantissaBits;

  struct Doubling {
    std::int64_t count = 0;            // in all its bins
    std::vector<std::int64_t> bins{};  // empty if no value was in any
  };
  // A sum of 64-bit durations can exceed 2^63; as an integer it does not depend on the order.
  __extension__ using Sum = __int128;

  /// The doubling of a bin, which is kept from now on.
  Doubling& of(Bin bin) {
    const auto index = static_cast<std::size_t>(bin / kBinsPerDoubling);
    if (index >= doublings_.size()) doublings_.resize(index + 1);
    Doubling& doubling = doublings_[index];
    if (doubling.bins.empty()) doubling.bins.resize(kBinsPerDoubling);
    return doubling;
  }

  std::vector<Doubling> doublings_{};  // from that of bin 0 on
  std::int64_t count_ = 0;
  Sum sum_ = 0;
  Nanoseconds min_ = std::numeric_limits<Nanoseconds>::max();
  Nanoseconds max_ = 0;
};

}  // namespace roofcast
