#include "base/wording.hpp"

#include <gtest/gtest.h>

namespace roofcast::test {
namespace {

TEST(Wording, NumbersAndNounsAgree) {
  EXPECT_EQ(counted(0, "request"), "0 requests");
  EXPECT_EQ(counted(1, "request"), "1 request");
  EXPECT_EQ(counted(19'366, "request"), "19,366 requests");
}

}  // namespace
}  // namespace roofcast::test
