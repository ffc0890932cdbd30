#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <boost/iostreams/copy.hpp>
#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filtering_streambuf.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.hpp"
#include "simulator/io/scenario_workload.hpp"
#include "simulator/io/timestamp.hpp"
#include "simulator/io/trace_reader.hpp"
#include "simulator/io/trace_writer.hpp"
#include "tests/support/shared_data.hpp"

namespace roofcast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string gzip(const std::string& text) {
  std::istringstream in(text);
  std::ostringstream out;
  boost::iostreams::filtering_streambuf<boost::iostreams::input> filter;
  filter.push(boost::iostreams::gzip_compressor());
  filter.push(in);
  boost::iostreams::copy(filter, out);
  return out.str();
}

/// A file for this test, removed when it ends.
class TraceFile : public testing::Test {
 protected:
  ~TraceFile() override { std::filesystem::remove(path_); }

  TraceWorkload write(const std::string& bytes, const std::string& extension = ".csv") {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    path_ =
        fmt::format("{}roofcast_{}_{}{}", testing::TempDir(), info->name(), getpid(), extension);
    std::ofstream(path_, std::ios::binary) << bytes;
    return {.path = path_};
  }

  /// The error that reading gives; fails when there is none.
  std::string error_of(const TraceWorkload& spec) {
    try {
      read_trace(spec);
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
      return error.what();
    }
    ADD_FAILURE() << "expected an Error";
    return "";
  }

  std::string error_of(const std::string& bytes, const std::string& extension = ".csv") {
    return error_of(write(bytes, extension));
  }

  std::string path_;
};

constexpr const char* kAzure =
    "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
    "2023-11-16 18:15:46.6805900,374,44\r\n"
    "2023-11-16 18:15:50.9951690,396,109";

TEST_F(TraceFile, SaysThatTheTraceOfAStoredRunHasChanged) {
  constexpr const char* kRows = "arrival_s,input_tokens,output_tokens\n0,5,2\n1,6,2\n";
  Scenario scenario;
  TraceWorkload trace = write(kRows);
  trace.hash = trace_hash(trace);
  // FNV-1a of no bytes is its basis (Fowler, Noll and Vo).
  TraceWorkload empty;
  empty.bytes = std::make_shared<const std::string>();
  EXPECT_EQ(trace_hash(empty), "cbf29ce484222325");
  scenario.workload = trace;
  const auto told = [&] {
    const std::vector<std::string> notes = load_workload(scenario).notes;
    return std::ranges::any_of(notes, [](const std::string& note) {
      return note.find("is not the trace of the stored run any more") != std::string::npos;
    });
  };
  EXPECT_FALSE(told());
  write(std::string(kRows) + "2,7,2\n");
  EXPECT_TRUE(told());
  std::get<TraceWorkload>(scenario.workload).hash.clear();
  EXPECT_FALSE(told());
}

// 604,800 s.
TEST_F(TraceFile, AWeekIsNotSaidInSeconds) {
  const auto workload =
      read_trace(write("arrival_s,input_tokens,output_tokens\n0,5,2\n604800,6,2\n"));
  EXPECT_THAT(workload.description, HasSubstr("2 requests over 7 d 00 h"));
}

TEST_F(TraceFile, ReadsAzuresColumnsAndItsLastLineWithoutAnEnd) {
  const auto workload = read_trace(write(kAzure));
  ASSERT_EQ(workload.requests.size(), 2u);
  EXPECT_EQ(workload.requests[0].arrival, 0);
  EXPECT_EQ(workload.requests[1].arrival, 4'314'579'000);  // 50.9951690 - 46.6805900 s
  EXPECT_EQ(workload.requests[1].input_tokens, 396);
  EXPECT_EQ(workload.requests[1].output_tokens, 109);
  EXPECT_THAT(workload.description, HasSubstr("2 requests over 4.3 s"));
  EXPECT_TRUE(workload.notes.empty());
}

TEST_F(TraceFile, ReadsGzipWhateverItsName) {
  EXPECT_EQ(read_trace(write(gzip(kAzure), ".csv.gz")).requests.size(), 2u);
  EXPECT_EQ(read_trace(write(gzip(kAzure), ".bin")).requests.size(), 2u);
}

TEST_F(TraceFile, FindsColumnsByNameInAnyOrder) {
  const auto workload =
      read_trace(write("output_tokens , \"Arrival_S\",comment,input_tokens\n"
                       "7,1.5,\"a, \"\"b\"\"\",5\n"
                       "8,2.25,,6.0\n"));
  ASSERT_EQ(workload.requests.size(), 2u);
  EXPECT_EQ(workload.requests[0].input_tokens, 5);
  EXPECT_EQ(workload.requests[0].output_tokens, 7);
  EXPECT_EQ(workload.requests[1].arrival, 750'000'000);
  EXPECT_EQ(workload.requests[1].input_tokens, 6);
}

TEST_F(TraceFile, ReadsAByteOrderMarkBlankLinesClassesAndPriorities) {
  const auto workload = read_trace(write(
      "\xEF\xBB\xBF\narrival,input,output,class,priority\n\n0,1,1,chat,2\n1,1,1,batch,-1\n\n"));
  ASSERT_EQ(workload.requests.size(), 2u);
  EXPECT_EQ(workload.class_names, (std::vector<std::string>{"chat", "batch"}));
  EXPECT_EQ(workload.requests[1].slo_class, 1);
  EXPECT_EQ(workload.requests[1].priority, -1);
}

TEST_F(TraceFile, SortsByTimeKeepsTiesAndSaysSo) {
  const auto workload = read_trace(write("arrival,input,output\n5,1,1\n3,2,1\n5,3,1\n4,4,1\n"));
  std::vector<std::int64_t> order;
  for (const Request& request : workload.requests) order.push_back(request.input_tokens);
  EXPECT_EQ(order, (std::vector<std::int64_t>{2, 4, 1, 3}));
  EXPECT_EQ(workload.requests[0].arrival, 0);
  ASSERT_EQ(workload.notes.size(), 1u);
  EXPECT_THAT(workload.notes[0], HasSubstr("sorted"));
}

TEST_F(TraceFile, RowsWithoutTokensAreKeptCountedAndSaid) {
  const auto workload = read_trace(write("arrival,input,output\n0,5,0\n1,0,3\n2,5,0\n"));
  EXPECT_EQ(workload.requests[0].output_tokens, 1);
  EXPECT_EQ(workload.requests[1].input_tokens, 1);
  ASSERT_EQ(workload.notes.size(), 2u);
  EXPECT_THAT(workload.notes[0], HasSubstr("2 rows with 0 output tokens"));
  EXPECT_THAT(workload.notes[1], HasSubstr("1 row with 0 input tokens"));
}

TEST_F(TraceFile, LimitsAndScalesAsAsked) {
  TraceWorkload spec = write("arrival,input,output\n0,1,1\n10,1,1\n20,1,1\n");
  spec.max_requests = 2;
  spec.time_scale = 0.5;
  const auto workload = read_trace(spec);
  ASSERT_EQ(workload.requests.size(), 2u);
  EXPECT_EQ(workload.requests[1].arrival, 5'000'000'000);
  EXPECT_THAT(workload.notes[0], HasSubstr("only the first 2 rows"));
  spec.max_requests = 3;
  EXPECT_TRUE(read_trace(spec).notes.empty());
}

TEST_F(TraceFile, ABadRowIsNamedByItsLine) {
  const std::string header = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
  const std::string good = "2023-11-16 18:15:46,374,44\n";
  struct Case {
    const char* row;
    const char* message;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"2023-11-16 18:15:46,abc,44", "ContextTokens is 'abc', expected a whole number"},
           {"2023-11-16 18:15:46,-5,44", "ContextTokens is '-5'"},
           {"2023-11-16 18:15:46,374,nan", "GeneratedTokens is 'nan'"},
           {"2023-11-16 18:15:46,374,10000001", "from 0 to 10000000"},
           {"2023-11-16 18:15:46,374,99999999999999999999", "GeneratedTokens is '999"},
           {"2023-11-16 18:15:46,3.5,1", "ContextTokens is '3.5'"},
           {"2023-11-16 18:15:46,,1", "ContextTokens is ''"},
           {"2023-11-16 18:15:46,374", "2 fields, expected 3"},
           {"2023-11-16 18:15:46,374,1,1", "4 fields, expected 3"},
           {"2023-13-16 18:15:46,374,1", "TIMESTAMP is '2023-13-16 18:15:46'"},
           {"12.5,374,1", "a date and time, as in the rows before"},
           {"\"2023-11-16 18:15:46,374,1", "unclosed quote"},
           {"2099-11-16 18:15:46,374,1", "arrives 76"}}) {
    EXPECT_THAT(error_of(fmt::format("{}{}{}\n", header, good, c.row)),
                AllOf(HasSubstr(".csv:3: "), HasSubstr(c.message)));
  }
}

TEST_F(TraceFile, SecondsAreBoundedToo) {
  for (const char* time : {"-1", "nan", "inf", "1e300", "1700000000000", "", "1,5"}) {
    EXPECT_THAT(error_of(fmt::format("arrival,input,output\n{},1,1\n", time)),
                HasSubstr(".csv:2: "))
        << time;
  }
}

TEST_F(TraceFile, BadRowsAreSkippedAndCountedWhenAsked) {
  TraceWorkload spec = write("arrival,input,output\n0,1,1\nx,1,1\n1,y,1\n2,1,1\n");
  spec.skip_bad_rows = true;
  const auto workload = read_trace(spec);
  EXPECT_EQ(workload.requests.size(), 2u);
  EXPECT_EQ(workload.rows_skipped, 2);
  EXPECT_THAT(workload.notes[0], AllOf(HasSubstr("2 rows"), HasSubstr("line 3: arrival is 'x'")));
}

TEST_F(TraceFile, WithNothingToReadSaysWhy) {
  EXPECT_THAT(error_of(""), HasSubstr("is empty"));
  EXPECT_THAT(error_of("\n\n"), HasSubstr("is empty"));
  EXPECT_THAT(error_of(gzip(""), ".csv.gz"), HasSubstr("is empty"));
  EXPECT_THAT(error_of("arrival,input,output\n"), HasSubstr("the file has no rows"));
  TraceWorkload spec = write("arrival,input,output\nx,1,1\n");
  spec.skip_bad_rows = true;
  EXPECT_THAT(error_of(spec), HasSubstr("no row could be read; the first: line 2"));
}

TEST_F(TraceFile, MissingColumnsAreNamedWithThoseFound) {
  EXPECT_THAT(error_of("TIMESTAMP,ContextTokens,Answer\n1,2,3\n"),
              AllOf(HasSubstr("no column for an output"),
                    HasSubstr("found TIMESTAMP, ContextTokens, Answer")));
  EXPECT_THAT(error_of(std::string("\x7f\x45LF\x02\x01\0\0\x03", 9)),
              HasSubstr("no column for a time"));
}

TEST_F(TraceFile, DamagedGzipIsOneClearLine) {
  const std::string whole = gzip("arrival,input,output\n0,1,1\n1,1,1\n");
  EXPECT_THAT(error_of(whole.substr(0, whole.size() - 12), ".csv.gz"),
              HasSubstr("damaged or truncated"));
  EXPECT_THAT(error_of(whole.substr(0, whole.size() - 3), ".csv.gz"),
              HasSubstr("damaged or truncated"));
  std::string flipped = whole;
  flipped[whole.size() / 2] = static_cast<char>(~flipped[whole.size() / 2]);
  EXPECT_THAT(error_of(flipped, ".csv.gz"), HasSubstr("damaged or truncated"));
  EXPECT_THAT(error_of("arrival,input,output\n0,1,1\n", ".csv.gz"), HasSubstr("is not gzip"));
  EXPECT_THAT(error_of("\x1f\x8b", ".csv.gz"), HasSubstr("damaged or truncated"));
}

TEST_F(TraceFile, ALineWithoutEndStopsAtAMegabyte) {
  EXPECT_THAT(error_of(gzip(std::string(5'000'000, 'a')), ".csv.gz"),
              AllOf(HasSubstr(":1: "), HasSubstr("longer than 1000000 bytes")));
  EXPECT_THAT(error_of(std::string("arrival,input,output\n0,1,1\n").append(2'000'000, '1')),
              HasSubstr(":3: line is longer"));
}

TEST_F(TraceFile, AFileThatIsNotThereIsNamed) {
  EXPECT_THAT(error_of(TraceWorkload{.path = "/nonexistent/t.csv"}),
              AllOf(HasSubstr("/nonexistent/t.csv"), HasSubstr("No such file")));
  EXPECT_THAT(error_of(TraceWorkload{.path = "/tmp"}), HasSubstr("is a folder"));
}

TEST_F(TraceFile, ScaleAndLimitMustMakeSense) {
  TraceWorkload spec = write("arrival,input,output\n0,1,1\n");
  spec.time_scale = -1;
  EXPECT_THAT(error_of(spec), HasSubstr("time_scale is -1"));
  spec.time_scale = 1;
  spec.max_requests = -1;
  EXPECT_THAT(error_of(spec), HasSubstr("max_requests is -1"));
}

TEST_F(TraceFile, WhatIsWrittenIsReadBackToTheNanosecond) {
  Workload workload = generate({.num_prompts = 200,
                                .request_rate = 3,
                                .input = {LengthDistribution::Kind::lognormal, 500, 1},
                                .output = {LengthDistribution::Kind::uniform, 1, 300}},
                               5);
  workload.class_names = {"chat, \"fast\"", "batch"};
  for (std::size_t i = 0; i < 200; ++i) {
    workload.requests[i].slo_class = static_cast<std::int32_t>(i % 2);
    workload.requests[i].priority = static_cast<std::int64_t>(i % 3) - 1;
  }
  std::ostringstream text;
  write_trace_csv(workload, text);
  const Workload read = read_trace(write(text.str()));
  ASSERT_EQ(read.requests.size(), 200u);
  EXPECT_EQ(read.class_names, workload.class_names);
  const Nanoseconds first = workload.requests[0].arrival;
  for (std::size_t i = 0; i < 200; ++i) {
    EXPECT_EQ(read.requests[i].arrival, workload.requests[i].arrival - first);
    EXPECT_EQ(read.requests[i].input_tokens, workload.requests[i].input_tokens);
    EXPECT_EQ(read.requests[i].output_tokens, workload.requests[i].output_tokens);
    EXPECT_EQ(read.requests[i].slo_class, workload.requests[i].slo_class);
    EXPECT_EQ(read.requests[i].priority, workload.requests[i].priority);
  }
}

struct TraceFacts {
  std::size_t rows;
  double input_mean, output_mean;
  std::int64_t input_min, input_max, output_min, output_max;  // a minimum of 0: not published
};

void expect_facts(const char* file, const TraceFacts& facts) {
  const auto path = shared_data(std::string("traces/azure2023/") + file);
  const Workload workload = read_trace({.path = path.string()});
  ASSERT_EQ(workload.requests.size(), facts.rows);
  EXPECT_TRUE(workload.notes.empty());
  double inputs = 0, outputs = 0;
  std::int64_t input_min = kMaxTokens, input_max = 0, output_min = kMaxTokens, output_max = 0;
  for (const Request& request : workload.requests) {
    inputs += static_cast<double>(request.input_tokens);
    outputs += static_cast<double>(request.output_tokens);
    input_min = std::min(input_min, request.input_tokens);
    input_max = std::max(input_max, request.input_tokens);
    output_min = std::min(output_min, request.output_tokens);
    output_max = std::max(output_max, request.output_tokens);
  }
  const auto rows = static_cast<double>(facts.rows);
  EXPECT_NEAR(inputs / rows, facts.input_mean, 0.05);
  EXPECT_NEAR(outputs / rows, facts.output_mean, 0.05);
  EXPECT_EQ(input_max, facts.input_max);
  EXPECT_EQ(output_max, facts.output_max);
  if (facts.input_min > 0) {
    EXPECT_EQ(input_min, facts.input_min);
    EXPECT_EQ(output_min, facts.output_min);
  }
  // About an hour.
  EXPECT_NEAR(to_seconds(workload.requests.back().arrival).value, 3500, 100);
}

// Facts as published with the traces' analyses: rows, means to one decimal, extremes.
TEST(AzureTraces, ConversationHasItsKnownRowsAndLengths) {
  SKIP_WITHOUT_SHARED_DATA("traces/azure2023");
  expect_facts("AzureLLMInferenceTrace_conv.csv.gz", {.rows = 19'366,
                                                      .input_mean = 1154.7,
                                                      .output_mean = 211.1,
                                                      .input_min = 0,
                                                      .input_max = 14'050,
                                                      .output_min = 0,
                                                      .output_max = 1000});
}

TEST(AzureTraces, CodeHasItsKnownRowsAndLengths) {
  SKIP_WITHOUT_SHARED_DATA("traces/azure2023");
  expect_facts("AzureLLMInferenceTrace_code.csv.gz", {.rows = 8'819,
                                                      .input_mean = 2047.8,
                                                      .output_mean = 27.9,
                                                      .input_min = 3,
                                                      .input_max = 7'437,
                                                      .output_min = 6,
                                                      .output_max = 1'899});
}

TEST(Timestamp, TakesTheFormsOfTheAzureTraces) {
  // 2023-11-16 is day 19,677 since 1970; 18:15:46 is second 65,746.
  const Nanoseconds second = 1'000'000'000;
  const Nanoseconds base = (19'677LL * 86'400 + 65'746) * second;
  EXPECT_EQ(parse_date_time("2023-11-16 18:15:46.6805900"), base + 680'590'000);
  EXPECT_EQ(parse_date_time("2023-11-16 18:15:46"), base);
  EXPECT_EQ(parse_date_time("2023-11-16T18:15:46Z"), base);
  EXPECT_EQ(parse_date_time("2023-11-16 18:15:46+00:00"), base);
  EXPECT_EQ(parse_date_time("2023-11-16 18:15:46.5+02:00"), base + second / 2 - 7200 * second);
  EXPECT_EQ(parse_date_time("2023-11-16 18:15:46-0530"), base + 19'800 * second);
  EXPECT_EQ(parse_date_time("1970-01-01 00:00:00"), 0);
  EXPECT_EQ(parse_date_time("2024-02-29 00:00:00.0000000006"), 1'709'164'800LL * second + 1);
}

TEST(Timestamp, RefusesWhatIsNoTime) {
  for (const char* text :
       {"", "2023-11-16", "2023-11-16 18:15", "2023-02-29 00:00:00", "2023-00-01 00:00:00",
        "2023-11-16 24:00:00", "2023-11-16 18:60:00", "2023-11-16 18:15:46.",
        "2023-11-16 18:15:46x", "2023-11-16 18:15:46+", "2023-11-16 18:15:46+25:00",
        "1969-12-31 00:00:00", "9999-01-01 00:00:00", "23-11-16 18:15:46", "2023/11/16 18:15:46"}) {
    EXPECT_EQ(parse_date_time(text), std::nullopt) << text;
  }
}

TEST(Timestamp, SecondsAreExactToTheNanosecond) {
  EXPECT_EQ(parse_seconds("0"), 0);
  EXPECT_EQ(parse_seconds("3.25"), 3'250'000'000);
  EXPECT_EQ(parse_seconds("1700000000.123456789"), 1'700'000'000'123'456'789);
  EXPECT_EQ(parse_seconds("1.0000000006"), 1'000'000'001);
  EXPECT_EQ(parse_seconds("0.9999999999"), 1'000'000'000);
  EXPECT_EQ(parse_seconds("2."), 2'000'000'000);
  EXPECT_EQ(parse_seconds("1e3"), 1'000'000'000'000);
  EXPECT_EQ(parse_seconds(".5"), 500'000'000);
}

}  // namespace
}  // namespace roofcast::test
