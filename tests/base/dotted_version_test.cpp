#include "base/dotted_version.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace roofcast {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(DottedVersion, IsItsNumbers) {
  EXPECT_THAT(version_of("1.3.0rc20"), ElementsAre(1, 3, 0, 20));
  EXPECT_THAT(version_of("v0.5.14"), ElementsAre(0, 5, 14));
  EXPECT_THAT(version_of("99999999999999999999"), ElementsAre(1'000'000));
  EXPECT_THAT(version_of("nightly"), IsEmpty());
}

TEST(DottedVersion, IsOlderByNumberNotByText) {
  EXPECT_TRUE(is_older("0.5.9", "0.5.14"));
  EXPECT_FALSE(is_older("0.5.14", "0.5.9"));
  EXPECT_TRUE(is_older("1.1.0rc2", "1.2"));
  EXPECT_FALSE(is_older("1.10", "1.2"));
}

TEST(DottedVersion, ComparesThePartsThatBothState) {
  EXPECT_FALSE(is_older("0.24.1", "0.24"));
  EXPECT_FALSE(is_older("0.24", "0.24"));
  EXPECT_FALSE(is_older("0.5", "0.5.10"));  // the newest 0.5
  EXPECT_TRUE(is_older("0.4", "0.5.10"));
}

TEST(DottedVersion, WithoutNumbersIsOlderThanAny) { EXPECT_TRUE(is_older("nightly", "0.1")); }

}  // namespace
}  // namespace roofcast
