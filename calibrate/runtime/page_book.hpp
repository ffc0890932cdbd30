// Which physical pages hold which request's keys and values. The scheduler counts blocks; this book
// gives them numbers, from a free list, so that pages lie scattered as in a server that has run for
// a while.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace roofcast::runtime {

class PageBook {
 public:
  /// Pages 0 to `pages` - 1, handed out in the order of a random permutation of stream `seed`.
  PageBook(std::int32_t pages, int page_size, std::uint64_t seed);

  int page_size() const { return page_size_; }
  std::size_t free_pages() const { return free_.size(); }

  /// Pages for the first `tokens` tokens of a request, more being taken as needed. Throws
  /// std::logic_error when none is free: the scheduler counted wrongly.
  std::span<const std::int32_t> reserve(std::int32_t request, std::int64_t tokens);

  /// Where the token at `position` of a request lies: page * page_size + place in the page.
  /// Precondition: reserved.
  std::int64_t slot(std::int32_t request, std::int64_t position) const;

  /// The request's pages are free again; nothing when it has none.
  void release(std::int32_t request);

 private:
  int page_size_;
  std::vector<std::int32_t> free_;
  std::map<std::int32_t, std::vector<std::int32_t>> pages_;
};

}  // namespace roofcast::runtime
