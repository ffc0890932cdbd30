#include <gmock/gmock.h>

#include "tests/simulator/io/trace_support.hpp"

namespace roofcast::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(TraceCsv, ReadsBurstGptOfSixColumns) {
  const auto workload = read_text(
      "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
      "5,ChatGPT,472,18,490,Conversation log\n"
      "45,GPT-4,1087,230,1317,API log\n");
  ASSERT_EQ(workload.requests.size(), 2u);
  EXPECT_EQ(workload.requests[1].arrival, 40 * kSecond);
  EXPECT_EQ(workload.requests[1].input_tokens, 1087);
  EXPECT_EQ(workload.requests[1].output_tokens, 230);
  EXPECT_TRUE(workload.class_names.empty());
  EXPECT_TRUE(workload.notes.empty());
}

// The third file's times begin at about 19,440,110 s and it has two more columns.
TEST(TraceCsv, ReadsBurstGptOfEightColumnsAndCountsFromItsFirstTime) {
  const auto workload = read_text(
      "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log "
      "Type\n"
      "19440110.25,a,1.2,ChatGPT,472,18,490,Conversation log\n"
      "19440111.75,a,0.4,ChatGPT,500,20,520,Conversation log\n");
  ASSERT_EQ(workload.requests.size(), 2u);
  EXPECT_EQ(workload.requests[0].arrival, 0);
  EXPECT_EQ(workload.requests[1].arrival, kSecond + kSecond / 2);
  EXPECT_EQ(workload.requests[1].input_tokens, 500);
  EXPECT_EQ(workload.requests[1].follows, kNoRequest);
  EXPECT_THAT(workload.notes, ElementsAre(HasSubstr("column Session ID is not used")));
}

TEST(TraceCsv, ABurstGptRequestWithoutAnAnswerFailedAndCanBeLeftOut) {
  const std::string text =
      "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
      "5,ChatGPT,472,0,472,API log\n"
      "6,ChatGPT,10,3,13,API log\n";
  EXPECT_EQ(read_text(text).requests.size(), 2u);
  const auto workload = read_text(text, {.drop_failed = true});
  ASSERT_EQ(workload.requests.size(), 1u);
  EXPECT_EQ(workload.requests[0].input_tokens, 10);
  EXPECT_EQ(workload.requests[0].arrival, 0);
  EXPECT_THAT(workload.notes, ElementsAre(HasSubstr("1 row with 0 output tokens left out")));
}

TEST(TraceCsv, ReadsWhatClientsDeclared) {
  // 300 tokens under a limit of 200 cannot be: the limit is raised.
  const auto workload = read_text(
      "arrival,input,output,max_new_tokens\n"
      "0,10,20,64\n1,10,20,\n2,10,20,none\n3,10,20,0\n4,10,300,200\n");
  std::vector<std::int64_t> declared;
  for (const Request& request : workload.requests) declared.push_back(request.max_tokens);
  EXPECT_THAT(declared, ElementsAre(64, kExactMaxTokens, kNoMaxTokens, kNoMaxTokens, 300));
  EXPECT_THAT(workload.notes, ElementsAre(HasSubstr("1 row with more output than max_tokens")));
  EXPECT_THAT(error_in("arrival,input,output,max_tokens\n0,1,2,lots\n"),
              HasSubstr("max_tokens is 'lots', expected a whole number from 0"));
}

TEST(TraceCsv, AnyColumnCanBeMadeTheClass) {
  const auto workload = read_text(
      "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
      "5,ChatGPT,472,18,490,Conversation log\n"
      "45,GPT-4,1087,230,1317,API log\n",
      {.columns = parse_trace_columns("class=Log Type")});
  EXPECT_EQ(workload.class_names, (std::vector<std::string>{"Conversation log", "API log"}));
  EXPECT_EQ(workload.requests[1].slo_class, 1);
}

TEST(TraceCsv, ARenamedColumnIsTheOnlyOneOfItsKind) {
  const auto workload = read_text("arrival,input,output,Prompt\n0,1,2,3\n",
                                  {.columns = parse_trace_columns("input=Prompt")});
  EXPECT_EQ(workload.requests[0].input_tokens, 3);
  EXPECT_THAT(
      error_in("arrival,input,output\n0,1,2\n", {.columns = parse_trace_columns("input=Prompt")}),
      HasSubstr("no column 'Prompt'"));
}

TEST(TraceCsv, ReadsAzuresTraceOfImages) {
  const auto workload = read_text(
      "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n"
      "2024-10-01 00:00:00.100000,2,1500,30\n");
  EXPECT_EQ(workload.requests[0].input_tokens, 1500);
  EXPECT_THAT(workload.notes, ElementsAre(HasSubstr("column NumImages is not used")));
}

TEST(TraceCsv, TheUnitIsInTheColumnsNameOrGiven) {
  const auto second = [](const std::string& name, TraceWorkload spec = {}) {
    return read_text(name + ",input,output\n0,1,1\n2500,1,1\n", spec).requests[1].arrival;
  };
  EXPECT_EQ(second("timestamp"), 2500 * kSecond);
  EXPECT_EQ(second("arrival_ms"), 2'500'000'000);
  EXPECT_EQ(second("Arrival_US"), 2'500'000);
  EXPECT_EQ(second("time_ns"), 2'500);
  EXPECT_EQ(second("timestamp", {.time_unit = TraceTimeUnit::milliseconds}), 2'500'000'000);
}

TEST(TraceCsv, HashIdsAreNotReadAndThatIsSaid) {
  const auto workload =
      read_text("arrival,input,output,hash_ids\n0,600,5,\"[1, 2]\"\n1,512,5,\"[1]\"\n");
  EXPECT_TRUE(workload.contents.empty());
  EXPECT_THAT(workload.notes, ElementsAre(HasSubstr("column hash_ids is not used")));
}

TEST(TraceCsv, AColumnThatTheUserNamesHasToBeThere) {
  const std::string text = "arrival,input,output\n0,10,5\n";
  EXPECT_THAT(
      error_in(text, {.columns = parse_trace_columns("time=begin")}),
      HasSubstr(
          "no column 'begin', as named by `trace_columns` or workload.columns; found arrival, "
          "input, output"));
  EXPECT_THAT(error_in(text, {.columns = parse_trace_columns("class=kind")}),
              HasSubstr("no column 'kind'"));
}

TEST(TraceCsv, ScalesTheRate) {
  const std::string text = "arrival,input,output\n0,1,1\n10,1,1\n40,1,1\n";
  // 3 requests: 2 gaps over 40 s are 0.05 requests/s on average; 2 requests/s take 1 s.
  const auto scaled = read_text(text, {.request_rate = 2.0});
  EXPECT_EQ(scaled.requests[1].arrival, kSecond / 4);
  EXPECT_EQ(scaled.requests[2].arrival, kSecond);
  const auto faster = read_text(text, {.rate_scale = 4.0});
  EXPECT_EQ(faster.requests[1].arrival, 2'500'000'000);
  EXPECT_EQ(faster.requests[2].arrival, 10 * kSecond);
}

TEST(TraceCsv, OneScaleAtATimeAndOneThatMakesSense) {
  const std::string text = "arrival,input,output\n0,1,1\n0,1,1\n";
  EXPECT_THAT(error_in(text, {.time_scale = 2, .rate_scale = 2}),
              HasSubstr("expected at most one of"));
  EXPECT_THAT(error_in(text, {.rate_scale = 2, .request_rate = 2}),
              HasSubstr("expected at most one of"));
  EXPECT_THAT(error_in(text, {.rate_scale = 0}), HasSubstr("rate_scale is 0"));
  EXPECT_THAT(error_in(text, {.request_rate = -1}), HasSubstr("request_rate is -1"));
  EXPECT_THAT(error_in(text, {.request_rate = 1}), HasSubstr("arrive at the same time"));
  EXPECT_THAT(error_in(text, {.block_size = 0}), HasSubstr("trace_block_size is 0"));
  EXPECT_THAT(error_in("arrival,input,output\n0,1,1\n1,1,1\n", {.request_rate = 1e-12}),
              HasSubstr("years after the first"));
}

TEST(TraceCsv, TheFormatCanBeForced) {
  EXPECT_THAT(error_in("arrival,input,output\n0,1,1\n", {.format = TraceFormat::jsonl}),
              HasSubstr("t.jsonl:1: is not JSON"));
  EXPECT_THAT(error_in("{\"timestamp\": 1}\n", {.format = TraceFormat::csv}),
              HasSubstr("no column for a time"));
}

TEST(TraceColumns, AreGivenAsPairs) {
  const auto names = parse_trace_columns("time=Start at,hash_ids=blocks,session=s,delay=d");
  EXPECT_EQ(names.time, "Start at");
  EXPECT_EQ(names.hash_ids, "blocks");
  EXPECT_EQ(names.session, "s");
  EXPECT_EQ(names.delay, "d");
  EXPECT_EQ(names.input, "");
  for (const char* text : {"", "time", "time=", "=x", "times=x", "time=a,", "time=a,time=b"}) {
    EXPECT_THROW(parse_trace_columns(text), Error) << text;
  }
}

}  // namespace
}  // namespace roofcast::test
