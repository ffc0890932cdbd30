#include "simulator/workload/shared_prefix.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.hpp"
#include "tests/simulator/support.hpp"

namespace roofcast::test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

SyntheticWorkload grouped(std::int64_t requests, const SharedPrefix& prefix) {
  return {.num_prompts = requests, .input = fixed_length(20), .shared_prefix = prefix};
}

TEST(SharedPrefix, EveryGroupHasItsPromptsBehindOneSystemPrompt) {
  const Workload workload = generate(
      grouped(12, {.groups = 4, .prompts_per_group = 3, .system_prompt = fixed_length(100)}), 1);
  std::map<std::uint64_t, int> requests_of;
  for (const Request& request : workload.requests) {
    EXPECT_EQ(request.input_tokens, 120);
    const auto contents = contents_of(workload, request);
    ASSERT_EQ(contents.size(), 1u);  // the question is not shared
    EXPECT_EQ(contents[0].tokens, 100);
    ++requests_of[contents[0].content];
  }
  ASSERT_EQ(requests_of.size(), 4u);
  for (const auto& [content, requests] : requests_of) EXPECT_EQ(requests, 3) << content;
}

TEST(SharedPrefix, GroupsComeInAShuffledOrder) {
  // 1024 requests in order of their groups by chance: one in 1024! / (16!)^64 orders.
  const Workload workload = generate(grouped(1024, {.groups = 64, .prompts_per_group = 16}), 1);
  EXPECT_FALSE(std::is_sorted(
      workload.requests.begin(), workload.requests.end(),
      [](const Request& a, const Request& b) { return a.contents_begin < b.contents_begin; }));
}

TEST(SharedPrefix, WhenAllQuestionsHaveBeenAskedTheyAreAskedAgain) {
  SyntheticWorkload spec = grouped(10, {.groups = 2, .prompts_per_group = 2});
  spec.input = {.kind = LengthDistribution::Kind::uniform, .a = 1, .b = 1'000'000};
  const Workload workload = generate(spec, 1);
  for (std::size_t i = 0; i < 10; ++i) {
    const Request& request = workload.requests[i];
    const auto contents = contents_of(workload, request);
    ASSERT_EQ(contents.size(), 2u);
    EXPECT_EQ(contents[0].tokens + contents[1].tokens, request.input_tokens);
    if (i < 4) continue;
    const Request& before = workload.requests[i - 4];
    EXPECT_EQ(request.input_tokens, before.input_tokens);
    EXPECT_EQ(contents[1].content, contents_of(workload, before)[1].content);
  }
  EXPECT_NE(contents_of(workload, workload.requests[0])[1].content,
            contents_of(workload, workload.requests[1])[1].content);
}

TEST(SharedPrefix, WithoutANumberOfPromptsNoQuestionIsAskedTwice) {
  const Workload workload = generate(grouped(10, {.groups = 4}), 1);
  std::map<std::uint64_t, int> requests_of;
  for (const Request& request : workload.requests) {
    const auto contents = contents_of(workload, request);
    ASSERT_EQ(contents.size(), 1u);
    ++requests_of[contents[0].content];
  }
  for (const auto& [content, requests] : requests_of) EXPECT_LE(requests, 3) << content;
}

TEST(SharedPrefix, OfOneGroupIsCommonToAllAndAddedToTheInput) {
  // As --random-prefix-len.
  const Workload workload = generate(grouped(5, {.system_prompt = fixed_length(300)}), 1);
  for (const Request& request : workload.requests) {
    EXPECT_EQ(request.input_tokens, 320);
    EXPECT_EQ(request.contents_begin, workload.requests[0].contents_begin);
  }
}

TEST(SharedPrefix, LengthsOfSystemPromptsAreDrawnOnceAGroup) {
  SharedPrefix prefix{.groups = 3, .prompts_per_group = 10};
  prefix.system_prompt = {.kind = LengthDistribution::Kind::uniform, .a = 1, .b = 1'000'000};
  const Workload workload = generate(grouped(30, prefix), 1);
  std::map<std::uint64_t, std::int64_t> length_of;
  for (const Request& request : workload.requests) {
    const ContentSpan system_prompt = contents_of(workload, request)[0];
    const auto [entry, added] = length_of.emplace(system_prompt.content, system_prompt.tokens);
    EXPECT_EQ(entry->second, system_prompt.tokens);
    EXPECT_EQ(request.input_tokens, system_prompt.tokens + 20);
  }
  EXPECT_EQ(length_of.size(), 3u);
}

TEST(SharedPrefix, GroupsThatNobodyAsksTakeNoMemory) {
  const Workload workload = generate(grouped(10, {.groups = 100'000'000}), 1);
  EXPECT_LE(workload.contents.size(), 10u);
  EXPECT_LE(workload.contents.capacity(), 100u);
  std::set<std::uint64_t> groups;
  for (const Request& request : workload.requests) {
    groups.insert(contents_of(workload, request)[0].content);
  }
  // Ten of 100 million: two alike have a chance of one in two million.
  EXPECT_EQ(groups.size(), 10u);
}

TEST(SharedPrefix, TakesEveryQuestionOnceBeforeAnyTwice) {
  // 3 groups of 4 questions, asked by 12 requests: each group four times.
  const Workload workload = generate(grouped(12, {.groups = 3, .prompts_per_group = 4}), 5);
  std::map<std::uint64_t, int> requests_of;
  for (const Request& request : workload.requests) {
    ++requests_of[contents_of(workload, request)[0].content];
  }
  ASSERT_EQ(requests_of.size(), 3u);
  for (const auto& [group, requests] : requests_of) EXPECT_EQ(requests, 4) << group;
}

TEST(SharedPrefix, DoesNotDisturbQuestionsAndAnswers) {
  SyntheticWorkload spec = grouped(100, {.groups = 5, .system_prompt = fixed_length(64)});
  spec.request_rate = 3;
  spec.input = {.kind = LengthDistribution::Kind::lognormal, .a = 300, .b = 1};
  const Workload with = generate(spec, 7);
  spec.shared_prefix.reset();
  const Workload without = generate(spec, 7);
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(with.requests[i].arrival, without.requests[i].arrival);
    EXPECT_EQ(with.requests[i].input_tokens, without.requests[i].input_tokens + 64);
  }
  EXPECT_TRUE(without.contents.empty());
}

TEST(SharedPrefix, KnobsOutOfRangeAreNamed) {
  EXPECT_THAT([] { generate(grouped(1, {.groups = 0}), 0); },
              ThrowsMessage<Error>(HasSubstr("shared_prefix.num_groups is 0")));
  EXPECT_THAT([] { generate(grouped(1, {.groups = 2, .prompts_per_group = 90'000'000}), 0); },
              ThrowsMessage<Error>(HasSubstr("shared_prefix.num_prompts_per_group is 90000000")));
}

}  // namespace
}  // namespace roofcast::test
