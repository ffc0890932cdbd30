#include "calibrate/runtime/page_book.hpp"

#include <boost/random/uniform_int_distribution.hpp>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "simulator/random.hpp"

namespace roofcast::runtime {

PageBook::PageBook(std::int32_t pages, int page_size, std::uint64_t seed)
    : page_size_(page_size), free_(static_cast<std::size_t>(pages)) {
  std::iota(free_.begin(), free_.end(), 0);
  RandomStream random = random_stream(seed, "pages");
  for (std::size_t i = free_.size(); i > 1; --i) {
    std::swap(free_[i - 1],
              free_[boost::random::uniform_int_distribution<std::size_t>(0, i - 1)(random)]);
  }
}

std::span<const std::int32_t> PageBook::reserve(std::int32_t request, std::int64_t tokens) {
  std::vector<std::int32_t>& pages = pages_[request];
  const auto needed = static_cast<std::size_t>((tokens + page_size_ - 1) / page_size_);
  while (pages.size() < needed) {
    if (free_.empty()) throw std::logic_error("the KV cache has no free page");
    pages.push_back(free_.back());
    free_.pop_back();
  }
  return pages;
}

std::int64_t PageBook::slot(std::int32_t request, std::int64_t position) const {
  const std::vector<std::int32_t>& pages = pages_.at(request);
  const auto index = static_cast<std::size_t>(position / page_size_);
  return std::int64_t{pages.at(index)} * page_size_ + position % page_size_;
}

void PageBook::release(std::int32_t request) {
  const auto found = pages_.find(request);
  if (found == pages_.end()) return;
  free_.insert(free_.end(), found->second.rbegin(), found->second.rend());
  pages_.erase(found);
}

}  // namespace roofcast::runtime
