// Places for work: taken, waited for, refused, given back.
#include "serve/work_slots.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace roofcast::test {
namespace {

using namespace std::chrono_literals;

bool never() { return false; }

TEST(WorkSlots, AreGivenUntilNoneIsLeft) {
  WorkSlots slots(2, 0);
  const auto first = slots.take(0ms, never);
  const auto second = slots.take(0ms, never);
  EXPECT_TRUE(first && second);
  EXPECT_FALSE(slots.take(10s, never));  // at once: no call may wait
}

TEST(WorkSlots, AreFreeAgainWhenTheirPlaceGoes) {
  WorkSlots slots(1, 0);
  { const auto place = slots.take(0ms, never); }
  EXPECT_TRUE(slots.take(0ms, never));
}

TEST(WorkSlots, WaitingEndsWithPatienceOrWhenStopped) {
  WorkSlots slots(1, 1);
  const auto place = slots.take(0ms, never);
  EXPECT_FALSE(slots.take(1ms, never));
  EXPECT_FALSE(slots.take(1h, [] { return true; }));
}

TEST(WorkSlots, OneThatWaitsGetsThePlaceThatIsGivenBack) {
  WorkSlots slots(1, 1);
  auto place = std::make_optional(slots.take(0ms, never));
  std::atomic<bool> got{false};
  std::thread other([&] { got = slots.take(1h, never).has_value(); });
  place.reset();
  other.join();
  EXPECT_TRUE(got);
}

}  // namespace
}  // namespace roofcast::test
