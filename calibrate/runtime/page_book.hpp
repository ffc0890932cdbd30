// Maps each request's keys and values to physical pages. The scheduler only counts blocks; this
// class assigns page numbers from a free list, so that pages are scattered as in a server that has
// run for a while.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace roofcast::runtime {

class PageBook {
 public:
  /// Pages 0 to `pages` - 1, allocated in the order of a random permutation of stream `seed`.
  PageBook(std::int32_t pages, int page_size, std::uint64_t seed);

  int page_size() const { return page_size_; }
  std::size_t free_pages() const { return free_.size(); }

  /// Returns the pages of a request's first `tokens` tokens, allocating as needed. Throws
  /// std::logic_error if none is free, i.e. the scheduler counted wrongly.
  std::span<const std::int32_t> reserve(std::int32_t request, std::int64_t tokens);

  /// Index of the token at `position` of a request: page * page_size + offset in the page.
  /// Precondition: reserved.
  std::int64_t slot(std::int32_t request, std::int64_t position) const;

  /// Frees the request's pages, if it has any.
  void release(std::int32_t request);

 private:
  int page_size_;
  std::vector<std::int32_t> free_;
  std::map<std::int32_t, std::vector<std::int32_t>> pages_;
};

}  // namespace roofcast::runtime
