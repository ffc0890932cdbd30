// roofcast trace and the trace flags, as a user types them.
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/run_command.hpp"

namespace roofcast::test {
namespace {

using testing::HasSubstr;

std::string text_in(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

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
  EXPECT_THAT(result.err, HasSubstr("--time-scale, --rate-scale and --trace-rate exclude"));
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
