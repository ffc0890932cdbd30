// roofcast trace and the trace flags, as a user types them.
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/run_command.hpp"

namespace roofcast::test {
namespace {

using testing::HasSubstr;

constexpr const char* kMooncake =
    "{\"timestamp\": 0, \"input_length\": 600, \"output_length\": 5, \"hash_ids\": [1, 2]}\n"
    "{\"timestamp\": 1500, \"input_length\": 512, \"output_length\": 6, \"hash_ids\": [1]}\n";

TEST(TraceCommand, AMooncakeTraceIsWrittenAsItWasRead) {
  const TemporaryFolder folder;
  std::ofstream("in.jsonl") << kMooncake;
  const CommandResult result = run_command("trace --trace in.jsonl --out out.jsonl -o json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(text_in("out.jsonl"), kMooncake);
  EXPECT_TRUE(nlohmann::json::parse(result.out)["notes"].empty()) << result.out;
}

TEST(TraceCommand, WritesTheLoadThatAServerCounted) {
  const TemporaryFolder folder;
  const auto series = [](const std::string& name, const std::string& last) {
    return R"({"metric":{"__name__":"vllm:)" + name + R"(},"values":[[0,"0"],[60,")" + last +
           R"("]]})";
  };
  std::ofstream("range.json") << R"({"data":{"resultType":"matrix","result":[)"
                              << series("time_to_first_token_seconds_count\"", "9") << ","
                              << series("time_to_first_token_seconds_sum\"", "1.8") << ","
                              << series("request_prompt_tokens_bucket\",\"le\":\"10\"", "9") << ","
                              << series("request_prompt_tokens_sum\"", "45") << ","
                              << series("request_prompt_tokens_count\"", "9") << ","
                              << series("request_generation_tokens_bucket\",\"le\":\"1\"", "9")
                              << "," << series("request_generation_tokens_sum\"", "9") << ","
                              << series("request_generation_tokens_count\"", "9") << "]}}";
  const CommandResult result =
      run_command("trace --from-prometheus range.json --out load.csv -o json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto answer = nlohmann::json::parse(result.out);
  EXPECT_EQ(answer["requests"], 9);
  EXPECT_EQ(answer["output_tokens_total"], 9);
  EXPECT_EQ(answer["measured"][0]["metric"], "ttft_s");
  EXPECT_DOUBLE_EQ(answer["measured"][0]["value"].get<double>(), 0.2);
  EXPECT_THAT(run_command("trace --trace load.csv").out, HasSubstr("9 requests"));
  EXPECT_THAT(run_command("trace --from-prometheus range.json").out, HasSubstr("200.0 ms"));
  for (const char* other : {"--trace load.csv", "--request-rate 4", "--input-len 9"}) {
    const CommandResult both =
        run_command(std::string("trace --from-prometheus range.json ") + other);
    EXPECT_EQ(both.exit_code, 2) << other;
    EXPECT_THAT(both.err, HasSubstr("--from-prometheus")) << other;
  }
  EXPECT_EQ(run_command("trace --from-prometheus range.json --out range.json").exit_code, 2);
}

TEST(TraceCommand, CsvSaysThatItKeepsNoSharedPrefixes) {
  const TemporaryFolder folder;
  std::ofstream("in.jsonl") << kMooncake;
  const CommandResult result = run_command("trace --trace in.jsonl --out out.csv");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("CSV does not record which prompts share a prefix"));
  EXPECT_THAT(text_in("out.csv"), HasSubstr("1.500000000,512,6"));
}

TEST(TraceCommand, FlagsSayHowTheTraceIsWrittenAndHowFastItRuns) {
  const TemporaryFolder folder;
  std::ofstream("in.txt")
      << "Begin,Prompt,Answer,Kind\n0,10,1,chat\n8000,20,0,batch\n16000,30,3,chat\n";
  const CommandResult result = run_command(
      "trace --trace in.txt --trace-format csv --trace-time-unit ms --rate-scale 4 --drop-failed "
      "--trace-columns time=Begin,input=Prompt,output=Answer,class=Kind --out out.csv");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(text_in("out.csv"),
            "arrival_s,input_tokens,output_tokens,class\n"
            "0.000000000,10,1,chat\n"
            "4.000000000,30,3,chat\n");
}

TEST(TraceCommand, WaysToScaleExcludeEachOther) {
  const CommandResult result =
      run_command("trace --trace in.csv --rate-scale 2 --time-scale 2 --out out.csv");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err,
              HasSubstr("--time-scale, --rate-scale and --trace-rate are mutually exclusive"));
}

TEST(TraceCommand, BadValuesOfItsFlagsAreNamed) {
  for (const char* flag : {"--trace-format xml", "--trace-time-unit h", "--trace-columns time",
                           "--trace-block-size 0", "--trace-rate -1"}) {
    const CommandResult result = run_command(std::string("trace --trace in.csv ") + flag);
    EXPECT_EQ(result.exit_code, 2) << flag;
    EXPECT_THAT(result.err, HasSubstr(std::string(flag).substr(0, 9))) << flag;
  }
}

TEST(TraceCommand, RequestsKeepTheClassOfTheTrace) {
  const TemporaryFolder folder;
  std::ofstream("in.csv") << "arrival,input,output,class\n0,10,2,\"chat, fast\"\n1,10,2,batch\n";
  const std::string base =
      "simulate --model llama-3.1-8b --gpu h100 --no-store --trace in.csv --requests-out ";
  ASSERT_EQ(run_command(base + "r.csv").exit_code, 0);
  EXPECT_THAT(text_in("r.csv"), HasSubstr(",\"chat, fast\","));
  EXPECT_THAT(text_in("r.csv"), HasSubstr(",batch,"));
  ASSERT_EQ(run_command(base + "r.jsonl").exit_code, 0);
  EXPECT_THAT(text_in("r.jsonl"), HasSubstr("\"slo_class\":\"chat, fast\""));
}

}  // namespace
}  // namespace roofcast::test
