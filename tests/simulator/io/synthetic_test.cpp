// Synthetic workloads in scenario files, and the length files that they refer to.
#include <gmock/gmock.h>

#include "base/error.hpp"
#include "simulator/io/length_table_reader.hpp"
#include "simulator/io/scenario_reader.hpp"
#include "simulator/io/scenario_workload.hpp"
#include "tests/support/temporary_folder.hpp"

namespace roofcast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::string scenario_text(const std::string& workload) {
  return R"({"model": "m", "gpu": "g", "workload": {"type": "synthetic", )" + workload + "}}";
}

SyntheticWorkload read(const std::string& workload) {
  return std::get<SyntheticWorkload>(parse_scenario(scenario_text(workload), "s").workload);
}

TEST(SyntheticScenario, EveryPatternIsReadAndWrittenBack) {
  for (const char* workload :
       {R"("ramp_up": {"strategy": "exponential", "start_rps": 1, "end_rps": 20})",
        R"("stages": [{"rate": 5, "duration_s": 30, "warm_up": true},
                      {"rate": 10, "duration_s": 60}])",
        R"("cycle": [{"rate": 20, "duration_s": 10}, {"rate": 0, "duration_s": 50}])",
        R"("diurnal": {"low": 0, "high": 20, "period_s": 60})", R"("request_rate": 4)"}) {
    Scenario scenario = parse_scenario(scenario_text(workload), "s");
    const Scenario again = parse_scenario(to_json(scenario), "s");
    EXPECT_EQ(std::get<SyntheticWorkload>(again.workload).pattern,
              std::get<SyntheticWorkload>(scenario.workload).pattern)
        << workload;
    EXPECT_EQ(to_json(again), to_json(scenario));
  }
}

TEST(SyntheticScenario, EveryShapeIsReadAndWrittenBack) {
  const std::string text = scenario_text(R"("num_warmups": 3, "range_ratio": {"output": 0.5},
    "range_ratio_style": "sglang", "lora_adapters": 8, "lora_zipf": 1.1,
    "shared_prefix": {"num_groups": 4, "system_prompt_len": 100},
    "sessions": {"turns": "uniform:1:5", "think_time_s": "exponential:8", "first_input_len": 500,
                 "max_session_tokens": 8192})");
  const Scenario scenario = parse_scenario(text, "s");
  const auto& workload = std::get<SyntheticWorkload>(scenario.workload);
  EXPECT_EQ(workload.num_warmups, 3);
  EXPECT_EQ(workload.range_ratio, (RangeRatio{RangeRatio::Style::sglang, {}, 0.5}));
  EXPECT_EQ(workload.lora, (LoraAdapters{8, 1.1}));
  EXPECT_EQ(workload.shared_prefix, (SharedPrefix{4, 0, fixed_length(100)}));
  ASSERT_TRUE(workload.sessions);
  EXPECT_EQ(to_text(workload.sessions->turns), "uniform:1:5");
  EXPECT_EQ(to_text(workload.sessions->think_time), "exponential:8");
  EXPECT_EQ(workload.sessions->first_input, fixed_length(500));
  EXPECT_EQ(workload.sessions->max_session_tokens, 8192);
  const auto again = std::get<SyntheticWorkload>(parse_scenario(to_json(scenario), "s").workload);
  EXPECT_EQ(again.sessions, workload.sessions);
  EXPECT_EQ(again.shared_prefix, workload.shared_prefix);
  EXPECT_EQ(again.range_ratio, workload.range_ratio);
  EXPECT_EQ(again.lora, workload.lora);
  EXPECT_EQ(again.num_warmups, 3);
}

TEST(SyntheticScenario, GroupsOfPromptsSayHowManyThereAre) {
  const char* prefix = R"("shared_prefix": {"num_groups": 64, "num_prompts_per_group": 16})";
  EXPECT_EQ(read(prefix).num_prompts, 1024);
  EXPECT_EQ(read(std::string(prefix) + R"(, "num_prompts": 10)").num_prompts, 10);
}

TEST(SyntheticScenario, WhatDoesNotGoTogetherIsNamed) {
  struct Case {
    const char* workload;
    const char* message;
  };
  for (const Case& c : std::initializer_list<Case>{
           {R"("request_rate": 1, "diurnal": {"low": 1, "high": 2})",
            "workload.diurnal is {\"high\":2,\"low\":1}, expected no diurnal together with "
            "request_rate"},
           {R"("num_prompts": 5, "stages": [{"rate": 1, "duration_s": 10}])",
            "expected no num_prompts together with stages"},
           {R"("stages": [{"rate": 1}])", "workload.stages[0].duration_s is missing"},
           {R"("stages": [{"rate": -1, "duration_s": 1}])", "workload.stages[0].rate is -1"},
           {R"("stages": 3)", "workload.stages is 3, expected a list"},
           {R"("cycle": [{"rate": 1, "duration_s": 1, "warm_up": true}])",
            "unknown key workload.cycle[0].warm_up"},
           {R"("ramp_up": {"start_rps": 0, "end_rps": 1})", "workload.ramp_up.start_rps is 0"},
           {R"("ramp_up": {"strategy": "steep", "start_rps": 1, "end_rps": 2})",
            "expected linear or exponential"},
           {R"("range_ratio": 2)", "workload.range_ratio is 2, expected a number from 0 to 1"},
           {R"("range_ratio_style": "x")", "expected vllm or sglang"},
           {R"("sessions": {"think_time_s": "zipf:1"})", "workload.sessions.think_time_s is"},
           {R"("sessions": {"turns": 0})", "workload.sessions.turns is 0"},
           {R"("shared_prefix": {"num_groups": 0})", "workload.shared_prefix.num_groups is 0"},
           {R"("range_ratio_style": "sglang")", "expected range_ratio beside it"},
           {R"("lora_zipf": 0)", "workload.lora_zipf is 0"},
           {R"("lora_zipf": 1)", "expected lora_adapters beside it"}}) {
    EXPECT_THAT([&] { read(c.workload); }, ThrowsMessage<Error>(HasSubstr(c.message)))
        << c.workload;
  }
}

class LengthTables : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) {
    return folder_.write(name, text);
  }

  TemporaryFolder folder_;
};

TEST_F(LengthTables, HoldPairsOrSingleLengths) {
  const LengthTable pairs =
      read_length_table(file("p.csv", "output_tokens,count,input_tokens\n7,2,100\n\n9,0,200\n"));
  EXPECT_TRUE(pairs.paired);
  ASSERT_EQ(pairs.rows.size(), 1u);  // what was never seen is left out
  EXPECT_EQ(pairs.rows[0].input_tokens, 100);
  EXPECT_EQ(pairs.rows[0].output_tokens, 7);
  EXPECT_EQ(pairs.rows[0].count, 2);
  const LengthTable single = read_length_table(file("s.csv", "tokens\n5\n6"));
  EXPECT_FALSE(single.paired);
  ASSERT_EQ(single.rows.size(), 2u);
  EXPECT_EQ(single.rows[1].output_tokens, 6);
  EXPECT_EQ(single.rows[1].count, 1);
}

TEST_F(LengthTables, ColumnsAreCalledAsInTracesInAnyCase) {
  for (const char* header : {"ContextTokens,GeneratedTokens", "request tokens,RESPONSE TOKENS",
                             "prompt_tokens,completion_tokens", "in,out"}) {
    const LengthTable table = read_length_table(file("t.csv", std::string(header) + "\n10,2\n"));
    ASSERT_EQ(table.rows.size(), 1u) << header;
    EXPECT_EQ(table.rows[0].input_tokens, 10) << header;
    EXPECT_EQ(table.rows[0].output_tokens, 2) << header;
  }
  EXPECT_EQ(read_length_table(file("u.csv", "Tokens,Count\n5,3\n")).rows[0].count, 3);
}

TEST_F(LengthTables, RowsWithALengthOfZeroAreLeftOutAndSaid) {
  file("l.csv", "input,output\n40,0\n0,4\n40,4\n");
  const std::string path =
      file("s.json", scenario_text(R"("num_prompts": 3, "input_len": "empirical:l.csv")"));
  const Workload workload = load_workload(read_scenario(path));
  for (const Request& request : workload.requests) EXPECT_EQ(request.input_tokens, 40);
  ASSERT_EQ(workload.notes.size(), 1u);
  EXPECT_THAT(workload.notes[0], HasSubstr("l.csv: 2 rows with a length of 0 left out"));
}

TEST_F(LengthTables, WhatTheyCannotHoldIsNamedByLine) {
  struct Case {
    const char* text;
    const char* message;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"", "has no header"},
           {"a,b\n1,2\n", ":1: no length columns"},
           {"tokens\n", "contains no lengths"},
           {"tokens\n1\n-1\n", ":3: '-1' is not a length or count, expected a whole number from 0"},
           {"tokens\n0\n", "contains no lengths"},
           {"tokens\n1.5\n", ":2: '1.5'"},
           {"tokens\n99999999999\n", ":2: '99999999999'"},
           {"tokens,count\n5\n", ":2: has 1 fields, expected 2"},
           {"tokens,count\n5,-1\n", ":2: '-1'"}}) {
    const std::string path = file("bad.csv", c.text);
    EXPECT_THAT([&] { read_length_table(path); },
                ThrowsMessage<Error>(AllOf(HasSubstr("bad.csv"), HasSubstr(c.message))))
        << c.text;
  }
  EXPECT_THAT([] { read_length_table("/nonexistent/l.csv"); },
              ThrowsMessage<Error>(HasSubstr("/nonexistent/l.csv")));
}

TEST_F(LengthTables, AreFoundBesideTheScenario) {
  file("lengths.csv", "input,output\n40,4\n");
  const std::string path =
      file("s.json", scenario_text(R"("num_prompts": 3, "input_len": "empirical:lengths.csv",
                                      "output_len": "empirical:lengths.csv")"));
  const Workload workload = load_workload(read_scenario(path));
  ASSERT_EQ(workload.requests.size(), 3u);
  EXPECT_EQ(workload.requests[2].input_tokens, 40);
  EXPECT_EQ(workload.requests[2].output_tokens, 4);
}

}  // namespace
}  // namespace roofcast::test
