#include "simulator/cluster/event_queue.hpp"

#include <gmock/gmock.h>

#include <string>

namespace roofcast::test {
namespace {

TEST(EventQueue, GivesEventsByTimeThenPhaseThenInsertion) {
  EventQueue<std::string> queue;
  queue.push(20, 0, "late");
  queue.push(10, 2, "second phase, first in");
  queue.push(10, 1, "first phase");
  queue.push(10, 2, "second phase, second in");
  queue.push(5, 9, "early");
  EXPECT_EQ(queue.next_time(), 5);
  EXPECT_EQ(queue.next_phase(), 9);
  std::vector<std::string> order;
  while (!queue.empty()) order.push_back(queue.pop());
  EXPECT_THAT(order, testing::ElementsAre("early", "first phase", "second phase, first in",
                                          "second phase, second in", "late"));
}

TEST(EventQueue, GivesUpChosenEventsInItsOrderAndKeepsTheOthers) {
  EventQueue<int> queue;
  for (const int time : {7, 2, 9, 4, 1, 6, 3}) queue.push(time, 0, time);
  EXPECT_THAT(queue.take_if([](int time) { return time % 2 == 1; }),
              testing::ElementsAre(1, 3, 7, 9));
  std::vector<int> kept;
  while (!queue.empty()) kept.push_back(queue.pop());
  EXPECT_THAT(kept, testing::ElementsAre(2, 4, 6));
}

}  // namespace
}  // namespace roofcast::test
