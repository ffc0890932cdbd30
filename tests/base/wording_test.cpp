#include "base/wording.hpp"

#include <gtest/gtest.h>

namespace roofcast::test {
namespace {

TEST(Wording, NumbersAndNounsAgree) {
  EXPECT_EQ(counted(0, "request"), "0 requests");
  EXPECT_EQ(counted(1, "request"), "1 request");
  EXPECT_EQ(counted(19'366, "request"), "19,366 requests");
}

TEST(Wording, DurationsHaveThreeDigitsInTheUnitThatFits) {
  EXPECT_EQ(duration(0.04539), "45.4 ms");
  EXPECT_EQ(duration(0.5), "500 ms");
  EXPECT_EQ(duration(12.34), "12.3 s");
  EXPECT_EQ(duration(4887.2), "4,887 s");
}

TEST(Wording, DurationsAreNeverInPowersOfTen) {
  EXPECT_EQ(duration(0.99999), "1 s");  // 999.99 ms would print as 1e+03
  EXPECT_EQ(duration(99.96), "100 s");  // likewise above
  EXPECT_EQ(duration(0), "0 ms");
}

}  // namespace
}  // namespace roofcast::test
