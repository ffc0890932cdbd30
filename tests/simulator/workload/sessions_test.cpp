#include "simulator/workload/generate_parts.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "base/error.hpp"
#include "simulator/results/slo_classes.hpp"
#include "simulator/workload/shared_prefix.hpp"
#include "tests/simulator/support.hpp"

namespace roofcast::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;

/// Sessions of three turns: questions of 100 tokens, answers of 50, think time 2 s.
SyntheticWorkload three_turns(std::int64_t sessions) {
  return {.num_prompts = sessions,
          .input = fixed_length(100),
          .output = fixed_length(50),
          .sessions = Sessions{.turns = fixed_length(3), .think_time = {.a = 2}}};
}

std::vector<std::int64_t> inputs_of(const Workload& workload) {
  std::vector<std::int64_t> inputs;
  for (const Request& request : workload.requests) inputs.push_back(request.input_tokens);
  return inputs;
}

TEST(Sessions, EveryPromptIsAllThatWasSaidBeforeAndANewQuestion) {
  // 100; 100 + 50 + 100; 250 + 50 + 100.
  const Workload workload = generate(three_turns(1), 0);
  EXPECT_THAT(inputs_of(workload), ElementsAre(100, 250, 400));
  for (const Request& request : workload.requests) {
    const auto contents = contents_of(workload, request);
    ASSERT_EQ(contents.size(), 1u);
    EXPECT_EQ(contents[0].tokens, request.input_tokens);
    EXPECT_EQ(contents[0].content, workload.contents[0].content);
    EXPECT_TRUE(request.output_continues_prompt);
  }
}

TEST(Sessions, TurnsFollowEachOtherAfterTheThinkTime) {
  const Workload workload = generate(three_turns(2), 0);
  ASSERT_EQ(workload.requests.size(), 6u);
  EXPECT_EQ(workload.requests[0].follows, kNoRequest);
  EXPECT_EQ(workload.requests[1].follows, 0);
  EXPECT_EQ(workload.requests[2].follows, 1);
  EXPECT_EQ(workload.requests[3].follows, kNoRequest);
  EXPECT_EQ(workload.requests[4].follows, 3);
  EXPECT_EQ(workload.requests[0].arrival, 0);  // all at once
  EXPECT_EQ(workload.requests[1].arrival, 2 * kSecond);
  EXPECT_EQ(workload.requests[3].arrival, 0);
  EXPECT_NE(contents_of(workload, workload.requests[0])[0].content,
            contents_of(workload, workload.requests[3])[0].content);
}

TEST(Sessions, ASystemPromptComesFirstAndIsSharedByItsGroup) {
  SyntheticWorkload spec = three_turns(4);
  spec.sessions->first_input = fixed_length(500);
  spec.shared_prefix =
      SharedPrefix{.groups = 2, .prompts_per_group = 2, .system_prompt = fixed_length(1000)};
  const Workload workload = generate(spec, 0);
  ASSERT_EQ(workload.requests.size(), 12u);
  std::map<std::uint64_t, int> turns_of_group;
  for (std::size_t i = 0; i < 12; ++i) {
    // 1000 + 500; + 50 + 100; + 50 + 100.
    const std::int64_t expected = 1500 + 150 * static_cast<std::int64_t>(i % 3);
    EXPECT_EQ(workload.requests[i].input_tokens, expected);
    const auto contents = contents_of(workload, workload.requests[i]);
    ASSERT_EQ(contents.size(), 2u);
    EXPECT_EQ(contents[0].tokens, 1000);
    EXPECT_EQ(contents[1].tokens, expected - 1000);
    ++turns_of_group[contents[0].content];
  }
  ASSERT_EQ(turns_of_group.size(), 2u);
  for (const auto& [group, turns] : turns_of_group) EXPECT_EQ(turns, 6) << group;
}

TEST(Sessions, EndBeforeTheTurnThatWouldPassTheLimit) {
  // Second turn: 250 + 50 = 300, within. Third: 400 + 50, beyond.
  SyntheticWorkload spec = three_turns(2);
  spec.sessions->max_session_tokens = 300;
  const Workload workload = generate(spec, 0);
  EXPECT_THAT(inputs_of(workload), ElementsAre(100, 250, 100, 250));
  ASSERT_EQ(workload.notes.size(), 1u);
  EXPECT_THAT(workload.notes[0], HasSubstr("2 sessions ended early"));
  EXPECT_THAT(workload.notes[0], HasSubstr("300 tokens"));
}

TEST(Sessions, SendTheirFirstTurnHoweverLong) {
  SyntheticWorkload spec = three_turns(1);
  spec.sessions->max_session_tokens = 10;
  EXPECT_THAT(inputs_of(generate(spec, 0)), ElementsAre(100));
}

TEST(Sessions, TurnsAndThinkTimesFollowTheirDistributions) {
  SyntheticWorkload spec = three_turns(10'000);
  spec.request_rate = 5;
  spec.sessions->turns = {.kind = LengthDistribution::Kind::uniform, .a = 1, .b = 5};
  spec.sessions->think_time = parse_think_time("exponential:8");
  const Workload workload = generate(spec, 3);
  // 1 to 5: mean 3, deviation sqrt(2); of the sum of 10,000, 141.
  EXPECT_NEAR(static_cast<double>(workload.requests.size()), 30'000, 4 * 141);
  double pauses_s = 0;
  double followers = 0;
  Nanoseconds last = 0;
  for (const Request& request : workload.requests) {
    if (request.follows == kNoRequest) {
      EXPECT_GE(request.arrival, last);
      last = request.arrival;
      continue;
    }
    pauses_s += to_seconds(request.arrival).value;
    ++followers;
  }
  EXPECT_EQ(last, 2000 * kSecond);  // the last session begins at 10,000 / 5 s
  // An exponential's deviation is its mean: 8 / sqrt(20,000) = 0.057.
  EXPECT_NEAR(pauses_s / followers, 8, 4 * 0.057);
}

TEST(Sessions, TurnsShareStageAdapterAndClass) {
  SyntheticWorkload spec = three_turns(50);
  spec.num_warmups = 20;
  spec.lora = {.count = 4};
  Workload workload = generate(spec, 2);
  assign_slo_classes(workload,
                     {.classes = {{.name = "a", .share = 0.5}, {.name = "b", .share = 0.5}}}, 2);
  for (std::size_t i = 0; i < workload.requests.size(); ++i) {
    const Request& request = workload.requests[i];
    const Request& first = workload.requests[i - i % 3];
    EXPECT_EQ(request.stage, i < 60 ? 0 : 1);
    EXPECT_EQ(request.adapter, first.adapter);
    EXPECT_EQ(request.slo_class, first.slo_class);
  }
}

TEST(Sessions, ThinkTimesDoNotDisturbLengths) {
  SyntheticWorkload spec = three_turns(50);
  spec.input = {.kind = LengthDistribution::Kind::lognormal, .a = 200, .b = 1};
  const auto before = inputs_of(generate(spec, 2));
  spec.sessions->think_time = parse_think_time("lognormal:5:1");
  EXPECT_EQ(inputs_of(generate(spec, 2)), before);
}

TEST(Sessions, AreDescribed) {
  SyntheticWorkload spec = three_turns(2);
  spec.request_rate = 4;
  EXPECT_EQ(generate(spec, 0).description,
            "synthetic: 2 sessions (6 requests) at 4 sessions/s (burstiness 1), input 100, output "
            "50, 3 turns, think time 2 s");
}

TEST(Sessions, ANegativeLimitIsNamed) {
  SyntheticWorkload spec = three_turns(1);
  spec.sessions->max_session_tokens = -1;
  EXPECT_THAT([&] { generate(spec, 0); },
              ThrowsMessage<Error>(HasSubstr("sessions.max_session_tokens is -1")));
}

TEST(Sessions, PausesOfOverTenYearsAreRefused) {
  // 30 days each: 121 are 3,630 days and 122 are 3,660, of which ten years have 3,650.
  SyntheticWorkload spec = three_turns(1);
  spec.sessions->think_time = {.a = kLongestThinkTime};
  spec.sessions->turns = fixed_length(122);
  EXPECT_EQ(generate(spec, 0).requests.size(), 122u);
  spec.sessions->turns = fixed_length(123);
  EXPECT_THAT([&] { generate(spec, 0); },
              ThrowsMessage<Error>(HasSubstr("sessions.think_time: the pauses of a session")));
}

TEST(Sessions, MovedDrawsAreCountedInANote) {
  // Turns of 5 +- 10: 0.5 to 2.5 are -0.45 to -0.25 deviations off, which 7.5 % of the draws are.
  // The others are 1,850 of 2,000, with a deviation of 12.
  SyntheticWorkload spec = three_turns(2000);
  spec.sessions->turns = parse_length_distribution("normal:5:10:1:2");
  EXPECT_THAT(generate(spec, 0).notes,
              ElementsAre(AllOf(HasSubstr("turn lengths drawn outside 1 to 2 and clamped"),
                                StartsWith("1,8"))));
}

TEST(ThinkTime, ReadsBackItsOwnText) {
  for (const char* text : {"5", "uniform:1:10", "exponential:8", "normal:10:3", "lognormal:5:1"}) {
    EXPECT_EQ(to_text(parse_think_time(text)), text);
  }
  EXPECT_EQ(parse_think_time("fixed:2").a, 2);
}

TEST(ThinkTime, WhatItCannotReadIsShownWithTheForms) {
  for (const char* text : {"", "-1", "1e9", "uniform:5:1", "uniform:1", "exponential:1:2",
                           "lognormal:0:1", "lognormal:5:11", "normal:5:-1", "zipf:3", "nan"}) {
    EXPECT_THAT([&] { parse_think_time(text); },
                ThrowsMessage<Error>(HasSubstr("exponential:MEAN")))
        << text;
  }
}

TEST(ThinkTime, IsNeverNegative) {
  ThinkTimeSampler sampler(parse_think_time("normal:1:5"), 1);
  for (int i = 0; i < 1000; ++i) EXPECT_GE(sampler.draw(), 0);
}

}  // namespace
}  // namespace roofcast::test
