// Sampling without sorting. Tokens are ordered by key: the bits of the logit, mapped so that they
// compare as unsigned numbers. Every query about the order (the first top_k tokens, the fewest that
// reach a mass) is a prefix of it. A radix select finds the end of a prefix, from the highest digit
// down: a histogram of the digit with counts and masses, then a walk down its bins to the one in
// which the prefix ends. All three prefixes share the first histogram; later ones see few tokens.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>

#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/exponential.hpp"
#include "kernels/cpu/token_operators.hpp"
#include "kernels/cpu/with_element.hpp"

namespace roofcast::kernels::cpu {
namespace {

template <class T>
struct Row {
  const T* logits;
  std::int64_t size;
  float largest;
  float inverse_temperature;
};

/// Larger for larger logits; -0 counts as 0.
[[gnu::always_inline]] inline std::uint32_t key_of(float logit) {
  const auto bits = std::bit_cast<std::uint32_t>(logit + 0.0F);
  const bool negative = (bits >> 31) != 0;
  return negative ? ~bits : bits | 0x80000000U;
}

/// The logit with this key.
inline float logit_of(std::uint32_t key) {
  const bool negative = (key >> 31) == 0;
  return std::bit_cast<float>(negative ? ~key : key & 0x7fffffffU);
}

/// Compares keys rather than logits: a maximum of integers can be taken in any order, so the loop
/// vectorises.
template <class T>
ROOFCAST_CLONES std::uint32_t largest_key(const T* logits, std::int64_t count) {
  std::uint32_t largest = 0;
  for (std::int64_t i = 0; i < count; ++i) largest = std::max(largest, key_of(to_float(logits[i])));
  return largest;
}

/// Keys are read in digits of 11, 11 and 10 bits; 16-bit elements differ only in the first two.
constexpr int kBins = 2048;
constexpr std::array<int, 3> kShift = {21, 10, 0};
template <class T>
constexpr std::size_t kDigits = sizeof(T) == 2 ? 2 : 3;

struct Histogram {
  std::array<std::int64_t, kBins> count{};
  std::array<double, kBins> mass{};  // sums of exp((logit - largest) / temperature)

  void add(std::uint32_t digit, float mass_of_token) {
    ++count[digit];
    mass[digit] += mass_of_token;
  }
};

/// Tokens whose masses are computed together: the exponential vectorises, the histogram does not.
constexpr std::int64_t kChunk = 256;

template <class T>
ROOFCAST_CLONES void keys_and_masses(const Row<T>& row, std::int64_t first, std::int64_t count,
                                     std::uint32_t* keys, float* masses) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float logit = to_float(row.logits[first + i]);
    keys[i] = key_of(logit);
    masses[i] = exponential((logit - row.largest) * row.inverse_temperature);
  }
}

template <class T>
Histogram first_digits(const Row<T>& row) {
  Histogram histogram;
  std::array<std::uint32_t, kChunk> keys;
  std::array<float, kChunk> masses;
  for (std::int64_t first = 0; first < row.size; first += kChunk) {
    const std::int64_t count = std::min(kChunk, row.size - first);
    keys_and_masses(row, first, count, keys.data(), masses.data());
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      histogram.add(keys[i] >> kShift[0], masses[i]);
    }
  }
  return histogram;
}

/// Writes the keys of `count` tokens from the first on and returns how many start with `prefix`
/// (the bits above `shift`). Branch-free, so that it vectorises.
template <class T>
ROOFCAST_CLONES int keys_like(const T* logits, std::int64_t count, std::uint32_t prefix, int shift,
                              std::uint32_t* keys) {
  int found = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    keys[i] = key_of(to_float(logits[i]));
    found += keys[i] >> shift == prefix ? 1 : 0;
  }
  return found;
}

/// Calls visit(index, key) for the tokens whose keys start with `prefix`, in order, until it
/// returns false.
template <class T, class Visit>
void for_each_like(const Row<T>& row, std::uint32_t prefix, int shift, const Visit& visit) {
  std::array<std::uint32_t, kChunk> keys;
  for (std::int64_t first = 0; first < row.size; first += kChunk) {
    const std::int64_t count = std::min(kChunk, row.size - first);
    if (keys_like(row.logits + first, count, prefix, shift, keys.data()) == 0) continue;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint32_t key = keys[static_cast<std::size_t>(i)];
      if (key >> shift == prefix && !visit(first + i, key)) return;
    }
  }
}

/// Histogram of the tokens whose digits above number `digit` equal those of `prefix`.
template <class T>
Histogram further_digits(const Row<T>& row, std::size_t digit, std::uint32_t prefix) {
  const std::uint32_t bins = 1U << (kShift[digit - 1] - kShift[digit]);
  Histogram histogram;
  for_each_like(row, prefix, kShift[digit - 1], [&](std::int64_t i, std::uint32_t key) {
    const float logit = to_float(row.logits[i]);
    histogram.add((key >> kShift[digit]) % bins,
                  exponential((logit - row.largest) * row.inverse_temperature));
    return true;
  });
  return histogram;
}

/// A prefix of the order: the tokens before `key`, and the lowest `equal` of those that share it
/// (its significant digits).
struct Prefix {
  std::uint32_t key = 0;
  std::int64_t equal = 0;
  std::int64_t count = 0;
  double mass = 0;
};

bool longer(const Prefix& a, const Prefix& b) { return a.count > b.count; }

/// The bin in which a prefix ends, with the totals before it.
struct Bin {
  std::uint32_t digit;
  std::int64_t count_before;
  double mass_before;
};

/// Walks down from the highest bin to the first at whose end `reached(count, mass)` is true; if
/// rounding prevents that, to the last non-empty bin.
template <class Reached>
Bin walk(const Histogram& histogram, const Prefix& before, const Reached& reached) {
  Bin bin{.digit = 0, .count_before = before.count, .mass_before = before.mass};
  std::int64_t count = before.count;
  double mass = before.mass;
  for (std::uint32_t digit = kBins; digit-- > 0;) {
    if (histogram.count[digit] == 0) continue;
    bin = {.digit = digit, .count_before = count, .mass_before = mass};
    count += histogram.count[digit];
    mass += histogram.mass[digit];
    if (reached(count, mass)) break;
  }
  return bin;
}

/// The shortest prefix for which `reached(count, mass)` is true; reached must be monotone.
template <class T, class Reached>
Prefix shortest(const Row<T>& row, const Histogram& first, const Reached& reached) {
  Prefix prefix;
  Histogram further;
  const Histogram* histogram = &first;
  for (std::size_t digit = 0;; ++digit) {
    const Bin bin = walk(*histogram, prefix, reached);
    const int bits = digit == 0 ? 0 : kShift[digit - 1] - kShift[digit];
    prefix.key = prefix.key << bits | bin.digit;
    prefix.count = bin.count_before;
    prefix.mass = bin.mass_before;
    if (digit + 1 == kDigits<T>) break;
    further = further_digits(row, digit + 1, prefix.key);
    histogram = &further;
  }
  // Tokens with the same key have the same mass: take the fewest that suffice.
  const std::size_t last = prefix.key % (1U << (kShift[kDigits<T> - 2] - kShift[kDigits<T> - 1]));
  const std::int64_t there = histogram->count[last];
  const double mass = histogram->mass[last] / static_cast<double>(there);
  const auto reached_with = [&](std::int64_t equal) {
    return reached(prefix.count + equal, prefix.mass + static_cast<double>(equal) * mass);
  };
  std::int64_t min = 1;
  for (std::int64_t max = there; min < max;) {
    const std::int64_t middle = min + (max - min) / 2;
    if (reached_with(middle)) {
      max = middle;
    } else {
      min = middle + 1;
    }
  }
  prefix.equal = min;
  prefix.count += min;
  prefix.mass += static_cast<double>(min) * mass;
  return prefix;
}

/// The lowest of the tokens with the largest logit.
template <class T>
std::int32_t first_largest(const Row<T>& row) {
  std::int64_t token = 0;
  for_each_like(row, key_of(row.largest), 0, [&](std::int64_t i, std::uint32_t) {
    token = i;
    return false;
  });
  return static_cast<std::int32_t>(token);
}

template <class T>
std::int32_t last_token(const Row<T>& row, const Prefix& prefix) {
  std::int64_t left = prefix.equal;
  std::int64_t token = 0;
  for_each_like(row, prefix.key, kShift[kDigits<T> - 1], [&](std::int64_t i, std::uint32_t) {
    token = i;
    return --left > 0;
  });
  return static_cast<std::int32_t>(token);
}

template <class T>
std::int32_t draw(const Row<T>& row, const Sampling& sampling, double uniform) {
  const Histogram first = first_digits(row);
  Prefix kept{.count = row.size};
  for (const double mass : first.mass) kept.mass += mass;
  if (sampling.top_k > 0 && sampling.top_k < row.size) {
    kept =
        shortest(row, first, [&](std::int64_t count, double) { return count >= sampling.top_k; });
  }
  if (sampling.top_p < 1) {
    const double target = sampling.top_p * kept.mass;
    const Prefix likely =
        shortest(row, first, [&](std::int64_t, double mass) { return mass >= target; });
    if (longer(kept, likely)) kept = likely;
  }
  const double target = uniform * kept.mass;
  const Prefix drawn =
      shortest(row, first, [&](std::int64_t, double mass) { return mass > target; });
  return last_token(row, longer(drawn, kept) ? kept : drawn);
}

}  // namespace

void sampling(const Sampling& sampling, Range rows) {
  with_plain(sampling.element, [&]<class T>(T) {
    const bool greedy = sampling.top_k == 1;
    for (std::int64_t r = rows.begin; r < rows.end; ++r) {
      const T* logits = static_cast<const T*>(sampling.logits) + r * sampling.vocabulary;
      const Row<T> row{.logits = logits,
                       .size = sampling.vocabulary,
                       .largest = logit_of(largest_key(logits, sampling.vocabulary)),
                       .inverse_temperature = greedy ? 1 : 1 / sampling.temperature};
      sampling.token[r] = greedy ? first_largest(row) : draw(row, sampling, sampling.uniform[r]);
    }
  });
}

}  // namespace roofcast::kernels::cpu
