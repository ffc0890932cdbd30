#include <fmt/format.h>
#include <gmock/gmock.h>

#include <unordered_set>

#include "base/error.hpp"
#include "tests/simulator/io/trace_support.hpp"
#include "tests/support/shared_data.hpp"

namespace roofcast::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

std::vector<std::int64_t> span_tokens(const Workload& workload) {
  std::vector<std::int64_t> tokens;
  for (const ContentSpan& span : workload.contents) tokens.push_back(span.tokens);
  return tokens;
}

std::vector<std::uint64_t> span_contents(const Workload& workload) {
  std::vector<std::uint64_t> contents;
  for (const ContentSpan& span : workload.contents) contents.push_back(span.content);
  return contents;
}

// 1300 tokens are blocks of 512, 512 and 276.
TEST(TraceJsonl, MooncakesHashIdsAreBlocksOf512TokensAndAShorterLast) {
  const auto workload = read_text(
      R"({"timestamp": 27482, "input_length": 1300, "output_length": 52, "hash_ids": [46, 47, 90]})"
      "\n"
      R"({"timestamp": 30535, "input_length": 512, "output_length": 26, "hash_ids": [46]})");
  ASSERT_EQ(workload.requests.size(), 2u);
  EXPECT_EQ(workload.requests[0].arrival, 0);
  EXPECT_EQ(workload.requests[1].arrival, 3053 * kMillisecond);
  EXPECT_EQ(workload.requests[0].input_tokens, 1300);
  EXPECT_EQ(workload.requests[1].output_tokens, 26);
  EXPECT_EQ(workload.requests[0].contents_count, 3u);
  EXPECT_EQ(workload.requests[1].contents_begin, 3u);
  EXPECT_EQ(workload.requests[1].contents_count, 1u);
  EXPECT_THAT(span_contents(workload), ElementsAre(46, 47, 90, 46));
  EXPECT_THAT(span_tokens(workload), ElementsAre(512, 512, 276, 512));
  EXPECT_TRUE(workload.notes.empty());
}

TEST(TraceJsonl, TheBlockSizeCanBeGiven) {
  const auto workload = read_text(
      R"({"timestamp": 0, "input_length": 40, "output_length": 1, "hash_ids": [1, 2, 3]})",
      {.block_size = 16});
  EXPECT_THAT(span_tokens(workload), ElementsAre(16, 16, 8));
}

TEST(TraceJsonl, FewerHashIdsLeaveTheRestOfThePromptUnshared) {
  const auto workload = read_text(
      R"({"timestamp": 0, "input_length": 1300, "output_length": 1, "hash_ids": [1, 2]})");
  EXPECT_THAT(span_tokens(workload), ElementsAre(512, 512));
}

TEST(TraceJsonl, ReadsLengthsAloneAndTheNamesOfOtherTools) {
  for (const char* text :
       {R"({"timestamp": 1500, "input_length": 7, "output_length": 9})",
        R"({"timestamp": 1500.0, "input_len": 7, "output_len": 9, "model": {"a": [1, {}]}})",
        R"({"arrival_time": 1.5, "input_toks": 7, "output_toks": 9, "request_id": "bench-0"})",
        R"({"arrival_time_ns": 1500000000, "input_toks": 7, "output_toks": 9})",
        R"({"arrival_ms": 1.5e3, "input_tokens": 7.0, "output_tokens": "9", "ttft": NaN})",
        R"({"id": "a", "t": 1.5, "in": 7, "out": 9, "note": "Infinity", "x": -Infinity})"}) {
    const std::string zero = text;
    // A first request at time 0 keeps the time of the one under test from becoming 0.
    std::string first = zero;
    for (const char* time : {"1500000000", "1500.0", "1500", "1.5e3", "1.5"}) {
      const auto at = first.find(time);
      if (at == std::string::npos) continue;
      first.replace(at, std::string(time).size(), "0");
      break;
    }
    const auto workload = read_text(fmt::format("{}\n{}\n", first, zero));
    ASSERT_EQ(workload.requests.size(), 2u) << text;
    EXPECT_EQ(workload.requests[1].arrival, 1500 * kMillisecond) << text;
    EXPECT_EQ(workload.requests[1].input_tokens, 7) << text;
    EXPECT_EQ(workload.requests[1].output_tokens, 9) << text;
  }
}

TEST(TraceJsonl, AgenticTracesCountSecondsAndBlocksOf64) {
  const auto workload =
      read_text(R"({"id": "s", "t": 0.25, "in": 100, "out": 5, "hash_ids": [7, 8]})"
                "\n"
                R"({"id": "s", "t": 2.5, "in": 64, "out": 5, "hash_ids": [7]})");
  EXPECT_EQ(workload.requests[1].arrival, 2250 * kMillisecond);
  EXPECT_THAT(span_tokens(workload), ElementsAre(64, 36, 64));
}

TEST(TraceJsonl, TheUnitOfTimeCanBeGiven) {
  const std::string text = R"({"timestamp": 0, "input_length": 1, "output_length": 1})"
                           "\n"
                           R"({"timestamp": 2000, "input_length": 1, "output_length": 1})";
  const auto second = [&](TraceTimeUnit unit) {
    return read_text(text, {.time_unit = unit}).requests[1].arrival;
  };
  EXPECT_EQ(second(TraceTimeUnit::seconds), 2000 * 1000 * kMillisecond);
  EXPECT_EQ(second(TraceTimeUnit::milliseconds), 2000 * kMillisecond);
  EXPECT_EQ(second(TraceTimeUnit::microseconds), 2 * kMillisecond);
  EXPECT_EQ(second(TraceTimeUnit::nanoseconds), 2000);
}

TEST(TraceJsonl, KeysCanBeRenamed) {
  const auto workload = read_text(
      R"({"timestamp": 5, "begin": 1, "prompt": 3, "answer": 4, "team": "blue"})",
      {.columns = parse_trace_columns("time=begin,input=prompt,output=answer,class=team")});
  EXPECT_EQ(workload.requests[0].input_tokens, 3);
  EXPECT_EQ(workload.requests[0].output_tokens, 4);
  EXPECT_EQ(workload.class_names, std::vector<std::string>{"blue"});
}

TEST(TraceJsonl, AKeyThatTheUserNamesHasToBeThere) {
  const std::string row = "{\"timestamp\": 0, \"input_length\": 1, \"output_length\": 1}\n";
  EXPECT_THAT(
      error_in(row, {.columns = parse_trace_columns("time=begin")}),
      HasSubstr(
          "no key 'begin', as named by `trace_columns` or workload.columns; found timestamp"));
  EXPECT_THAT(error_in(row, {.columns = parse_trace_columns("class=kind")}),
              HasSubstr("no row has the key 'kind'"));
  const std::string with_class =
      "{\"timestamp\": 0, \"input_length\": 1, \"output_length\": 1, \"kind\": \"a\"}\n";
  EXPECT_EQ(
      read_text(row + with_class, {.columns = parse_trace_columns("class=kind")}).requests.size(),
      2u);
}

TEST(TraceJsonl, MillisecondsThatLookLikeSecondsAreSaid) {
  const auto trace_from = [](const std::string& first, const std::string& key = "timestamp") {
    return "{\"" + key + "\": " + first + ", \"input_length\": 1, \"output_length\": 1}\n";
  };
  const auto notes = [](const std::string& text, const TraceWorkload& spec = {}) {
    return read_text(text, spec).notes;
  };
  EXPECT_THAT(notes(trace_from("1700000000")),
              ElementsAre(AllOf(HasSubstr("like a Unix time"), HasSubstr("`trace_time_unit` s"))));
  EXPECT_THAT(notes(trace_from("61.114")),
              ElementsAre(HasSubstr("timestamp is read as milliseconds, but has fractions")));
  // Told by the user or the key, or no such time: a recording's own milliseconds, Unix
  // milliseconds.
  EXPECT_THAT(notes(trace_from("1700000000"), {.time_unit = TraceTimeUnit::seconds}), IsEmpty());
  EXPECT_THAT(notes(trace_from("1700000000"), {.time_unit = TraceTimeUnit::milliseconds}),
              IsEmpty());
  EXPECT_THAT(notes(trace_from("1700000000", "timestamp_ms")), IsEmpty());
  EXPECT_THAT(notes(trace_from("27482.0")), IsEmpty());
  EXPECT_THAT(notes(trace_from("1700000000000")), IsEmpty());
}

TEST(TraceJsonl, RequestsWithoutTheClassThatOthersHaveAreOfTheNamelessClass) {
  const auto workload =
      read_text(R"({"timestamp": 0, "input_length": 1, "output_length": 1})"
                "\n"
                R"({"timestamp": 1, "input_length": 1, "output_length": 1, "class": "chat"})");
  EXPECT_EQ(workload.class_names, (std::vector<std::string>{"chat", ""}));
  EXPECT_EQ(workload.requests[0].slo_class, 1);
  EXPECT_EQ(workload.requests[1].slo_class, 0);
}

// aiperf's mooncake_trace: the delay counts from the answer to the turn before.
TEST(TraceJsonl, TurnsWithADelayFollowTheTurnBefore) {
  const auto workload =
      read_text(R"({"session_id": "b", "timestamp": 9000, "input_length": 10, "output_length": 1})"
                "\n"
                R"({"session_id": "a", "timestamp": 1000, "input_length": 20, "output_length": 1})"
                "\n"
                R"({"session_id": "b", "delay": 250, "input_length": 11, "output_length": 1})"
                "\n"
                R"({"session_id": "a", "delay": 1.5, "input_length": 21, "output_length": 1})"
                "\n"
                R"({"timestamp": 3000, "input_length": 30, "output_length": 1})"
                "\n"
                R"({"session_id": "a", "input_length": 22, "output_length": 1})");
  // Session a begins at 0, the single request at 2 s, session b at 8 s.
  std::vector<std::int64_t> inputs;
  for (const Request& request : workload.requests) inputs.push_back(request.input_tokens);
  ASSERT_THAT(inputs, ElementsAre(20, 21, 22, 30, 10, 11));
  std::vector<RequestId> follows;
  for (const Request& request : workload.requests) follows.push_back(request.follows);
  EXPECT_THAT(follows, ElementsAre(kNoRequest, 0, 1, kNoRequest, kNoRequest, 4));
  EXPECT_EQ(workload.requests[1].arrival, 1'500'000);
  EXPECT_EQ(workload.requests[2].arrival, 0);
  EXPECT_EQ(workload.requests[3].arrival, 2000 * kMillisecond);
  EXPECT_EQ(workload.requests[4].arrival, 8000 * kMillisecond);
  EXPECT_EQ(workload.requests[5].arrival, 250 * kMillisecond);
}

TEST(TraceJsonl, ScalingTheRateLeavesPausesAsTheyAre) {
  const auto workload =
      read_text(R"({"session_id": "a", "timestamp": 0, "input_length": 1, "output_length": 1})"
                "\n"
                R"({"session_id": "a", "delay": 100, "input_length": 1, "output_length": 1})"
                "\n"
                R"({"timestamp": 3000, "input_length": 1, "output_length": 1})",
                {.rate_scale = 3});
  EXPECT_EQ(workload.requests[1].arrival, 100 * kMillisecond);
  EXPECT_EQ(workload.requests[2].arrival, 1000 * kMillisecond);
}

TEST(TraceJsonl, SessionsWithoutATimeBeginWithTheTrace) {
  const auto workload =
      read_text(R"({"timestamp": 70, "input_length": 1, "output_length": 1})"
                "\n"
                R"({"session_id": "a", "input_length": 2, "output_length": 1})"
                "\n"
                R"({"session_id": "a", "delay": 2, "input_length": 3, "output_length": 1})");
  ASSERT_EQ(workload.requests.size(), 3u);
  EXPECT_EQ(workload.requests[1].arrival, 0);
  EXPECT_EQ(workload.requests[2].follows, 1);
  EXPECT_THAT(workload.notes, ElementsAre(HasSubstr("1 session without a time")));
}

TEST(TraceJsonl, PausesOfASessionEndAfterTenYears) {
  // Six years in milliseconds, twice.
  const std::string turn =
      R"({"session_id": "a", "delay": 189216000000, "input_length": 1, "output_length": 1})";
  const std::string text =
      R"({"session_id": "a", "timestamp": 0, "input_length": 1, "output_length": 1})"
      "\n" +
      turn + "\n" + turn;
  EXPECT_THAT([&] { read_text(text); },
              ThrowsMessage<Error>(AllOf(HasSubstr(":3: "), HasSubstr("exceed ten years"))));
  EXPECT_EQ(read_text(text, {.skip_bad_rows = true}).requests.size(), 2u);
}

TEST(TraceJsonl, ASessionWhoseFirstTurnFailedBeginsWithTheNext) {
  const std::string text =
      R"({"timestamp": 0, "input_length": 9, "output_length": 1})"
      "\n"
      R"({"session_id": "a", "timestamp": 500, "input_length": 1, "output_length": 0})"
      "\n"
      R"({"session_id": "a", "delay": 20, "input_length": 2, "output_length": 1})"
      "\n"
      R"({"session_id": "a", "delay": 30, "input_length": 3, "output_length": 0})"
      "\n"
      R"({"session_id": "a", "delay": 40, "input_length": 4, "output_length": 1})";
  const auto workload = read_text(text, {.drop_failed = true});
  ASSERT_EQ(workload.requests.size(), 3u);
  EXPECT_EQ(workload.requests[1].follows, kNoRequest);
  EXPECT_EQ(workload.requests[1].arrival, 520 * kMillisecond);
  EXPECT_EQ(workload.requests[2].follows, 1);
  EXPECT_EQ(workload.requests[2].arrival, 40 * kMillisecond);
  EXPECT_THAT(workload.notes, ElementsAre(HasSubstr("2 rows with 0 output tokens left out")));
}

TEST(TraceJsonl, TheFirstRequestsOfAFileKeepTheirSessions) {
  const auto workload =
      read_text(R"({"session_id": "a", "timestamp": 0, "input_length": 1, "output_length": 1})"
                "\n"
                R"({"session_id": "a", "delay": 20, "input_length": 2, "output_length": 1})"
                "\n"
                R"({"session_id": "a", "delay": 20, "input_length": 3, "output_length": 1})",
                {.max_requests = 2});
  ASSERT_EQ(workload.requests.size(), 2u);
  EXPECT_EQ(workload.requests[1].follows, 0);
  EXPECT_THAT(workload.notes, ElementsAre(HasSubstr("only the first 2 rows")));
}

TEST(TraceJsonl, ABadLineIsNamedAndCanBeSkipped) {
  const std::string good = R"({"timestamp": 0, "input_length": 600, "output_length": 1})";
  struct Case {
    std::string row;
    const char* message;
  };
  const std::string deep = R"({"x": )" + std::string(40, '[') + std::string(40, ']') + "}";
  for (const Case& c : std::initializer_list<Case>{
           {R"({"timestamp": 1, "input_length": 5, "output_length")", "is not JSON from character"},
           {R"({"timestamp": 1, "input_length": 5, "output_length": 1}})", "is not JSON"},
           {"\xff\xfe\x01", "is not JSON from character 1 on"},
           {"[1, 2]", "is a list, expected a JSON object"},
           {"7", "is not a JSON object"},
           {"null", "is not a JSON object"},
           {"{}", "no key for a time: expected timestamp, input_length, output_length; found "},
           {R"({"timestamp": 1, "output_length": 1})", "no key for an input"},
           {R"({"timestamp": 1, "text_input": "Hi", "output_length": 1})", "tokenizer"},
           {R"({"timestamp": 1, "input_length": null, "output_length": 1})",
            "no key for an input: expected timestamp, input_length, output_length; found "
            "timestamp, "
            "input_length (null)"},
           {R"({"timestamp": 1, "input_length": 5})", "found timestamp, input_length"},
           {R"({"timestamp": 1, "input_length": -5, "output_length": 1})", "input_length is '-5'"},
           {R"({"timestamp": 1, "input_length": 1e308, "output_length": 1})", "is '1e308'"},
           {R"({"timestamp": 1, "input_length": 1e999, "output_length": 1})", "is not JSON"},
           {R"({"timestamp": 1, "input_length": true, "output_length": 1})", "is 'true'"},
           {R"({"timestamp": 1, "input_length": [5], "output_length": 1})",
            "input_length is a list, expected one value"},
           {R"({"timestamp": 1, "input_length": {}, "output_length": 1})", "is an object"},
           {R"({"timestamp": -1, "input_length": 5, "output_length": 1})", "timestamp is '-1'"},
           {R"({"timestamp": NaN, "input_length": 5, "output_length": 1})", "no key for a time"},
           {R"({"timestamp": 1e20, "input_length": 5, "output_length": 1})", "counted in ms"},
           {R"({"timestamp": 1, "timestamp": 2, "input_length": 5, "output_length": 1})",
            "timestamp is given twice"},
           {R"({"timestamp": 1, "input_length": 5, "output_length": 1, "hash_ids": 3})",
            "hash_ids is '3', expected a list"},
           {R"({"timestamp": 1, "input_length": 5, "output_length": 1, "hash_ids": [0.5]})",
            "hash_ids has 0.5"},
           {R"({"timestamp": 1, "input_length": 5, "output_length": 1, "hash_ids": [[1]]})",
            "hash_ids has a list"},
           {R"({"timestamp": 1, "input_length": 5, "output_length": 1, "hash_ids": [1, 2]})",
            "hash_ids has 2 entries, expected at most 1"},
           {R"({"timestamp": 1, "input_length": 5, "output_length": 1, "delay": 3})",
            "delay requires a session_id"},
           {R"({"session_id": 1, "input_length": 5, "output_length": 1, "delay": -3})",
            "delay is '-3'"},
           {R"({"timestamp": 1, "input_length": 5, "output_length": 1, "priority": 1e12})",
            "priority is '1e12'"},
           {R"({"timestamp": 1, "input_length": 5, "output_length": 1, "class": "a\nb"})",
            "class is 'a?b', expected a text without"},
           {deep, "nests deeper than 32 levels"}}) {
    const std::string text = fmt::format("{0}\n{1}\n{0}\n", good, c.row);
    EXPECT_THAT(error_in(text), AllOf(HasSubstr("t.jsonl:2: "), HasSubstr(c.message))) << c.row;
    const auto skipped = read_text(text, {.skip_bad_rows = true});
    EXPECT_EQ(skipped.requests.size(), 2u) << c.row;
    EXPECT_EQ(skipped.rows_skipped, 1) << c.row;
  }
}

TEST(TraceJsonl, AFileOfOneValueOverManyLinesIsRefusedInItsFirst) {
  EXPECT_THAT(error_in("{\n  \"timestamp\": 1\n}\n"), HasSubstr("t.jsonl:1: is not JSON"));
  EXPECT_THAT(error_in("[\n{\"timestamp\": 1}\n]\n"), HasSubstr("t.jsonl:1: is a list"));
}

struct BlockCounts {
  std::size_t requests = 0;
  std::int64_t blocks = 0;
  std::int64_t hits = 0;  // in a cache that forgets nothing
  std::size_t distinct = 0;
};

BlockCounts count_blocks(const std::string& file) {
  const auto path = shared_data("traces/mooncake/" + file);
  const Workload workload = read_trace({.path = path.string()});
  EXPECT_TRUE(workload.notes.empty());
  BlockCounts counts{.requests = workload.requests.size()};
  std::unordered_set<std::uint64_t> held;
  for (const Request& request : workload.requests) {
    std::int64_t tokens = 0;
    for (std::uint32_t i = 0; i < request.contents_count; ++i) {
      const ContentSpan& span = workload.contents[request.contents_begin + i];
      ++counts.blocks;
      if (!held.insert(span.content).second) ++counts.hits;
      tokens += span.tokens;
    }
    EXPECT_EQ(tokens, request.input_tokens);
  }
  counts.distinct = held.size();
  return counts;
}

// Mooncake, FAST 2025 release: 12,031 requests over 3,537.0 s; ids are chained, so an id seen
// before is a block found. 1 - 182,790 / 288,500 = 36.6 %.
TEST(MooncakeTraces, ConversationFinds36PercentOfItsBlocksInAnEndlessCache) {
  SKIP_WITHOUT_SHARED_DATA("traces/mooncake");
  const BlockCounts counts = count_blocks("conversation_trace.jsonl.gz");
  EXPECT_EQ(counts.requests, 12'031u);
  EXPECT_EQ(counts.distinct, 182'790u);
  EXPECT_NEAR(static_cast<double>(counts.hits) / static_cast<double>(counts.blocks), 0.366, 5e-4);
}

TEST(MooncakeTraces, SyntheticFinds64PercentOfItsBlocksInAnEndlessCache) {
  SKIP_WITHOUT_SHARED_DATA("traces/mooncake");
  const BlockCounts counts = count_blocks("synthetic_trace.jsonl.gz");
  EXPECT_EQ(counts.requests, 3'993u);
  EXPECT_EQ(counts.distinct, 43'924u);
  EXPECT_NEAR(static_cast<double>(counts.hits) / static_cast<double>(counts.blocks), 0.640, 5e-4);
}

TEST(RecordedRuns, RequestsOfAMeasuredRunAreATrace) {
  SKIP_WITHOUT_SHARED_DATA("vllm_runs/RTX4090__Llama-3.1-8B/requests.jsonl");
  const auto path = shared_data("vllm_runs/RTX4090__Llama-3.1-8B/requests.jsonl");
  const Workload workload = read_trace({.path = path.string()});
  ASSERT_EQ(workload.requests.size(), 300u);
  // Its first lines: 1787267980.0827403 and 1787267980.3478317 s, 2358 and 1034 input tokens.
  EXPECT_EQ(workload.requests[1].arrival, 265'091'400);
  EXPECT_EQ(workload.requests[0].input_tokens, 2358);
  EXPECT_EQ(workload.requests[1].output_tokens, 769);
}

}  // namespace
}  // namespace roofcast::test
