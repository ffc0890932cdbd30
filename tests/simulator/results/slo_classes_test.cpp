#include "simulator/results/slo_classes.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace roofcast::test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

Slo chat_and_batch() {
  return {.classes = {{.name = "chat", .share = 0.7}, {.name = "batch", .share = 0.3}}};
}

TEST(SloClasses, AreDrawnByShareWhereTheTraceDoesNotSay) {
  Workload workload = generate({.num_prompts = 10'000}, 0);
  assign_slo_classes(workload, chat_and_batch(), 1);
  const auto batch = std::count_if(workload.requests.begin(), workload.requests.end(),
                                   [](const Request& r) { return r.slo_class == 1; });
  EXPECT_NEAR(static_cast<double>(batch), 3000, 4 * 46);  // sqrt(10000 * 0.7 * 0.3) = 46
}

TEST(SloClasses, FollowTheTraceByName) {
  Workload workload = generate({.num_prompts = 2}, 0);
  workload.class_names = {"batch", "chat"};
  workload.requests[1].slo_class = 1;
  assign_slo_classes(workload, chat_and_batch(), 1);
  EXPECT_EQ(workload.requests[0].slo_class, 1);
  EXPECT_EQ(workload.requests[1].slo_class, 0);
}

TEST(SloClasses, AClassThatTheScenarioLacksIsNamed) {
  Workload workload = generate({.num_prompts = 1}, 0);
  workload.class_names = {"code"};
  EXPECT_THAT([&] { assign_slo_classes(workload, chat_and_batch(), 1); },
              ThrowsMessage<Error>(testing::AllOf(HasSubstr("'code'"), HasSubstr("chat, batch"))));
}

TEST(SloClasses, WithoutClassesInTheScenarioATracesStayAndItIsSaid) {
  Workload workload = generate({.num_prompts = 2}, 0);
  workload.class_names = {"x", "y"};
  workload.requests[1].slo_class = 1;
  assign_slo_classes(workload, {}, 1);
  EXPECT_EQ(workload.requests[1].slo_class, 1);
  EXPECT_EQ(workload.class_names, (std::vector<std::string>{"x", "y"}));
  ASSERT_EQ(workload.notes.size(), 1u);
}

}  // namespace
}  // namespace roofcast::test
