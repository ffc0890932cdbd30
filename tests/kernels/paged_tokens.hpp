// Random tokens in pages, laid out to expose errors of a kernel: the page table is a random
// permutation; slots after a sequence's last token, and the page that unused table entries point
// to, hold NaN; now and then a value is large, so that reading a token by mistake shows.
#pragma once

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "tests/kernels/tensors.hpp"

namespace roofcast::kernels::test {

/// The page and slot of each token of each sequence.
class PageLayout {
 public:
  PageLayout(const std::vector<std::int32_t>& length, int page_size, std::mt19937& random)
      : page_size_(page_size) {
    int pages = 0;
    for (const std::int32_t tokens : length) {
      pages += pages_of(tokens);
      pages_per_sequence_ = std::max(pages_per_sequence_, pages_of(tokens) + kSpareEntries);
    }
    std::vector<std::int32_t> order(static_cast<std::size_t>(pages));
    std::iota(order.begin(), order.end(), kPoisonPage + 1);
    std::shuffle(order.begin(), order.end(), random);
    pages_ = pages + 1;
    auto next = order.begin();
    for (const std::int32_t tokens : length) {
      for (int i = 0; i < pages_per_sequence_; ++i) {
        entries_.push_back(i < pages_of(tokens) ? *next++ : kPoisonPage);
      }
    }
  }

  /// Place of token `t` of `sequence`: page * page_size + slot.
  std::int64_t slot(std::int64_t sequence, std::int64_t t) const {
    const auto entry = count(sequence * pages_per_sequence_ + t / page_size_);
    return std::int64_t{entries_[entry]} * page_size_ + t % page_size_;
  }

  const std::vector<std::int32_t>& entries() const { return entries_; }
  int pages_per_sequence() const { return pages_per_sequence_; }
  std::int64_t slots() const { return std::int64_t{pages_} * page_size_; }

 private:
  static constexpr std::int32_t kPoisonPage = 0;  // never written
  static constexpr int kSpareEntries = 2;

  int pages_of(std::int32_t tokens) const { return (tokens + page_size_ - 1) / page_size_; }

  int page_size_;
  int pages_per_sequence_ = 0;
  int pages_ = 0;
  std::vector<std::int32_t> entries_;  // [sequences, pages_per_sequence]
};

inline constexpr int kSpikeEvery = 61;  // no multiple of a page or a tile
inline constexpr float kSpike = 100;
/// Bound of sum |value| over n tokens, divided by n: normal values average 0.8, and one in
/// kSpikeEvery is kSpike times larger.
inline constexpr double kMeanValue = 4;

/// Normal values, `row` elements per token. Those of the last token and of every kSpikeEvery-th one
/// are `spike` times larger. All are stored divided by `scale`.
inline Tensor paged_tokens(Element element, const PageLayout& layout,
                           const std::vector<std::int32_t>& length, std::int64_t row, float spike,
                           float scale, std::mt19937& random) {
  std::normal_distribution<float> normal;
  Tensor tensor(element, count(layout.slots(), row));
  for (std::size_t s = 0; s < length.size(); ++s) {
    for (std::int32_t t = 0; t < length[s]; ++t) {
      const bool large = t % kSpikeEvery == kSpikeEvery - 1 || t == length[s] - 1;
      const float factor = (large ? spike : 1) / scale;
      const std::int64_t first = layout.slot(static_cast<std::int64_t>(s), t) * row;
      for (std::int64_t i = 0; i < row; ++i) tensor.set(count(first + i), factor * normal(random));
    }
  }
  return tensor;
}

/// For libraries, which multiply slots after a sequence's last token by a probability of zero:
/// finite numbers there must have no effect, but NaN may.
inline void fill_unused_slots(Tensor& tensor) {
  constexpr float kAnyNumber = 50;
  for (std::size_t i = 0; i < tensor.size(); ++i) {
    if (tensor.is_poison(i)) tensor.set(i, kAnyNumber);
  }
}

}  // namespace roofcast::kernels::test
