#include "simulator/io/trace_writer.hpp"

#include <gmock/gmock.h>

#include "tests/simulator/io/trace_support.hpp"

namespace roofcast::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Two sessions (one of three turns) and a single request, with prompts in blocks of 512 tokens.
Workload sessions() {
  Workload workload;
  workload.requests = {{.arrival = 0, .input_tokens = 600, .output_tokens = 5, .contents_count = 2},
                       {.arrival = 250'000'001,
                        .input_tokens = 1024,
                        .output_tokens = 6,
                        .slo_class = 1,
                        .follows = 0,
                        .contents_begin = 2,
                        .contents_count = 2},
                       {.arrival = kSecond / 4,
                        .input_tokens = 3,
                        .output_tokens = 7,
                        .max_tokens = 50,
                        .priority = -2},
                       {.arrival = 3 * kSecond + 1,
                        .input_tokens = 4,
                        .output_tokens = 8,
                        .max_tokens = kNoMaxTokens},
                       {.arrival = 0, .input_tokens = 5, .output_tokens = 9, .follows = 1},
                       {.arrival = 7, .input_tokens = 6, .output_tokens = 10, .follows = 3}};
  workload.contents = {{.content = 1, .tokens = 512},
                       {.content = 18'446'744'073'709'551'615u, .tokens = 88},
                       {.content = 1, .tokens = 512},
                       {.content = 3, .tokens = 512}};
  workload.class_names = {"chat, \"fast\"", "batch\\\u00e9"};
  return workload;
}

/// The same with each turn after its session's first, as the reader orders them.
std::vector<std::int64_t> inputs_as_read() { return {600, 1024, 5, 3, 4, 6}; }

void expect_same(const Workload& read, bool with_contents) {
  std::vector<std::int64_t> inputs;
  std::vector<RequestId> follows;
  std::vector<Nanoseconds> arrivals;
  std::vector<std::string> classes;
  for (const Request& request : read.requests) {
    inputs.push_back(request.input_tokens);
    follows.push_back(request.follows);
    arrivals.push_back(request.arrival);
    classes.push_back(read.class_names[static_cast<std::size_t>(request.slo_class)]);
  }
  ASSERT_EQ(inputs, inputs_as_read());
  EXPECT_THAT(follows, ElementsAre(kNoRequest, 0, 1, kNoRequest, kNoRequest, 4));
  EXPECT_THAT(arrivals, ElementsAre(0, 250'000'001, 0, kSecond / 4, 3 * kSecond + 1, 7));
  EXPECT_EQ(classes[0], "chat, \"fast\"");
  EXPECT_EQ(classes[1], "batch\\\u00e9");
  EXPECT_EQ(read.requests[3].priority, -2);
  EXPECT_EQ(read.requests[3].output_tokens, 7);
  EXPECT_EQ(read.requests[3].max_tokens, 50);
  EXPECT_EQ(read.requests[4].max_tokens, kNoMaxTokens);
  EXPECT_EQ(read.requests[5].max_tokens, 10);  // as it generates
  if (!with_contents) return;
  EXPECT_EQ(read.requests[1].contents_begin, 2u);
  EXPECT_EQ(read.requests[1].contents_count, 2u);
  EXPECT_EQ(read.requests[2].contents_count, 0u);
  ASSERT_EQ(read.contents.size(), 4u);
  EXPECT_EQ(read.contents[1].content, 18'446'744'073'709'551'615u);
  EXPECT_EQ(read.contents[1].tokens, 88);
}

TEST(TraceWriter, JsonlIsReadBackWithSessionsClassesAndSharedBlocks) {
  std::ostringstream text;
  write_trace_jsonl(sessions(), text);
  expect_same(read_text(text.str()), true);
  EXPECT_THAT(lost_in_jsonl(sessions()), IsEmpty());
}

TEST(TraceWriter, CsvIsReadBackWithSessionsAndClassesAndSaysWhatItLacks) {
  std::ostringstream text;
  write_trace_csv(sessions(), text);
  expect_same(read_text(text.str()), false);
  EXPECT_THAT(lost_in_csv(sessions()), ElementsAre(HasSubstr("share a prefix")));
}

TEST(TraceWriter, JsonlHasMooncakesKeysAndMillisecondsToTheNanosecond) {
  Workload workload;
  workload.requests = {{.arrival = 0, .input_tokens = 600, .output_tokens = 5, .contents_count = 2},
                       {.arrival = 1'500'000'001, .input_tokens = 1, .output_tokens = 2}};
  workload.contents = {{.content = 46, .tokens = 512}, {.content = 47, .tokens = 88}};
  std::ostringstream text;
  write_trace_jsonl(workload, text);
  EXPECT_EQ(text.str(),
            "{\"timestamp\": 0, \"input_length\": 600, \"output_length\": 5, \"hash_ids\": [46, "
            "47]}\n"
            "{\"timestamp\": 1500.000001, \"input_length\": 1, \"output_length\": 2}\n");
}

TEST(TraceWriter, ContentsThatAreNoBlocksOf512AreLeftOutAndSaid) {
  for (const ContentSpan& span : {ContentSpan{1, 100}, ContentSpan{1, 600}}) {
    Workload workload;
    workload.requests = {{.input_tokens = 1000, .output_tokens = 5, .contents_count = 1}};
    workload.contents = {span};
    std::ostringstream text;
    write_trace_jsonl(workload, text);
    EXPECT_THAT(text.str(), testing::Not(HasSubstr("hash_ids")));
    EXPECT_THAT(lost_in_jsonl(workload), ElementsAre(HasSubstr("not blocks of 512")));
  }
}

TEST(TraceWriter, WhatAFileCannotHoldIsSaid) {
  Workload workload;
  workload.requests = {
      {.input_tokens = 1, .output_tokens = 1, .output_continues_prompt = true, .adapter = 0}};
  workload.stages = {{.name = "warm-up"}};
  EXPECT_THAT(lost_in_csv(workload),
              ElementsAre(HasSubstr("stages"), HasSubstr("adapter"), HasSubstr("repeat")));
  EXPECT_EQ(lost_in_jsonl(workload), lost_in_csv(workload));
}

}  // namespace
}  // namespace roofcast::test
