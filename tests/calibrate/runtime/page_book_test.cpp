#include "calibrate/runtime/page_book.hpp"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

namespace roofcast::runtime {
namespace {

TEST(PageBook, GivesAsManyPagesAsTheTokensNeedAndNoneTwice) {
  PageBook book(6, 4, 1);
  std::set<std::int32_t> seen;
  for (const std::int32_t page : book.reserve(7, 9)) seen.insert(page);  // 9 tokens: 3 pages of 4
  EXPECT_EQ(seen.size(), 3U);
  for (const std::int32_t page : book.reserve(8, 4)) seen.insert(page);
  EXPECT_EQ(seen.size(), 4U);
  EXPECT_EQ(book.free_pages(), 2U);
  EXPECT_GE(*seen.begin(), 0);
  EXPECT_LT(*seen.rbegin(), 6);
}

TEST(PageBook, KeepsThePagesOfARequestThatGrows) {
  PageBook book(4, 4, 1);
  const std::int32_t first = book.reserve(0, 1)[0];
  EXPECT_EQ(book.reserve(0, 5)[0], first);
  EXPECT_EQ(book.free_pages(), 2U);
  // Token 5 is the second of the second page.
  EXPECT_EQ(book.slot(0, 5), std::int64_t{book.reserve(0, 5)[1]} * 4 + 1);
}

TEST(PageBook, TakesPagesBack) {
  PageBook book(2, 4, 1);
  book.reserve(0, 8);
  EXPECT_THROW(book.reserve(1, 1), std::logic_error);
  book.release(0);
  EXPECT_EQ(book.free_pages(), 2U);
  EXPECT_NO_THROW(book.reserve(1, 8));
  book.release(5);  // has none
}

TEST(PageBook, ScattersPages) {
  PageBook book(64, 1, 1);
  bool in_order = true;
  std::int32_t before = -1;
  for (const std::int32_t page : book.reserve(0, 64)) {
    in_order &= page == before + 1;
    before = page;
  }
  EXPECT_FALSE(in_order);
}

}  // namespace
}  // namespace roofcast::runtime
