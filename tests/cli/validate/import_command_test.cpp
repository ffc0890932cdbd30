#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "reports/store.hpp"
#include "tests/support/run_command.hpp"

namespace roofcast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Import : public testing::Test {
 protected:
  Import() {
    std::ofstream("bench.json")
        << R"({"backend":"vllm","model_id":"org/m","num_prompts":2,"request_rate":"inf",
"duration":2.0,"completed":2,"total_input_tokens":200,"total_output_tokens":22,
"request_throughput":1.0,"output_throughput":11.0,"mean_ttft_ms":50.0,"mean_tpot_ms":10.0,
"mean_e2el_ms":150.0,"input_lens":[100,100],"output_lens":[11,11],"ttfts":[0.05,0.05]})";
  }

  TemporaryFolder folder_;
};

TEST_F(Import, StoresMeasuredRunsAndPrintsWhatItUnderstood) {
  const CommandResult result =
      run_command("runs import bench.json --meta gpu=h100 tp=2 vllm_version=0.19.0 -o json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("1 run stored in roofcast.db"));
  const auto run = nlohmann::json::parse(result.out)["runs"][0];
  EXPECT_EQ(run["setting"]["tensor"], 2);
  EXPECT_EQ(run["setting"]["request_rate"], "inf");
  EXPECT_EQ(run["format"], "vllm-bench-serve");
  const auto stored = Store("roofcast.db", Store::Mode::read).run(run["id"]);
  ASSERT_TRUE(stored.has_value());
  EXPECT_EQ(stored->row.kind, "measured");
  EXPECT_EQ(stored->row.model, "org/m");
  EXPECT_EQ(stored->row.gpu, "h100 x 2");
  EXPECT_EQ(stored->row.engine, "vllm-0.19.0");
  EXPECT_TRUE(stored->requests.empty());
  // A stored run is shown as any other.
  EXPECT_THAT(run_command("runs 1").out, AllOf(HasSubstr("measured"), HasSubstr("ttft_s")));
}

TEST_F(Import, AStoredRunNamesOnlyWhatIsKnown) {
  std::ofstream("record.json") << R"([{"start_time": 0, "token_timestamps": [0.2, 0.3]}])";
  ASSERT_EQ(run_command("runs import record.json").exit_code, 0);
  const std::string shown = run_command("runs 1").out;
  EXPECT_THAT(shown, AllOf(HasSubstr("Run 1: measured\n"), HasSubstr("0 request rows")));
  EXPECT_EQ(shown.find("profile "), std::string::npos) << shown;
  EXPECT_EQ(shown.find(" of  on"), std::string::npos) << shown;
}

TEST_F(Import, ARunIsValidatedByItsNumberAsItsFileIs) {
  const std::string setting = "--model llama-3.1-8b --gpu h100 --engine vllm-0.19 ";
  ASSERT_EQ(run_command("runs import bench.json").exit_code, 0);
  const auto figures = [&](const std::string& what) {
    const CommandResult result =
        run_command("validate " + what + " " + setting + "--no-store -o json");
    EXPECT_EQ(result.exit_code, 0) << result.err;
    std::map<std::string, std::pair<double, double>> values;  // measured, predicted
    const auto answer = nlohmann::json::parse(result.out);
    for (const auto& figure : answer["cases"][0]["figures"]) {
      const std::string name = figure["name"].get<std::string>();
      values[name + " " + figure["statistic"].get<std::string>()] = {figure["measured"],
                                                                     figure["predicted"]};
    }
    return values;
  };
  const auto of_file = figures("bench.json");
  std::filesystem::remove("bench.json");
  EXPECT_EQ(figures("1"), of_file);
  EXPECT_EQ(of_file.at("e2e_s mean").first, 0.15);  // mean_e2el_ms of the file
  EXPECT_THAT(run_command("validate 2 --no-store").err, HasSubstr("roofcast.db: no run 2"));
  ASSERT_EQ(run_command("simulate --model gpt2 --gpu h100 --num-prompts 2 --input-len 9").exit_code,
            0);
  const CommandResult simulated = run_command("validate 2 --no-store");
  EXPECT_EQ(simulated.exit_code, 1);
  EXPECT_THAT(simulated.err, HasSubstr("is not a measured run but of kind 'simulate'"));
}

TEST_F(Import, KeepsEveryKeyThatItDoesNotKnow) {
  constexpr int kKeys = 20'000;  // 0.6 s where each key was looked for among the others
  nlohmann::json result = nlohmann::json::parse(std::ifstream("bench.json"));
  for (int i = 0; i < kKeys; ++i) result["key" + std::to_string(i)] = i;
  std::ofstream("many.json") << result;
  const CommandResult imported = run_command("runs import many.json --no-store -o json");
  ASSERT_EQ(imported.exit_code, 0) << imported.err;
  const auto other = nlohmann::json::parse(imported.out)["runs"][0]["setting"]["other"];
  for (int i = 0; i < kKeys; i += 1000) EXPECT_EQ(other["key" + std::to_string(i)], i);
  EXPECT_GE(other.size(), static_cast<std::size_t>(kKeys));
}

TEST_F(Import, KeepsRequestsWhereAskedTo) {
  ASSERT_EQ(run_command("runs import bench.json --keep-requests").exit_code, 0);
  EXPECT_EQ(Store("roofcast.db", Store::Mode::read).run(1)->requests.size(), 2U);
}

TEST_F(Import, ReadsTheRestWhenOneFileIsBroken) {
  std::filesystem::create_directory("results");
  std::filesystem::rename("bench.json", "results/b.json");
  std::ofstream("results/a.json") << R"({"request_throughput":1.0,"num_prompts":)";
  const CommandResult result = run_command("runs import results --no-store");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("roofcast: results/a.json:1: is not JSON"));
  EXPECT_THAT(result.out, AllOf(HasSubstr("org/m"), HasSubstr("150.0 ms")));
  EXPECT_FALSE(std::filesystem::exists("roofcast.db"));
}

TEST_F(Import, RefusesWhatItCannotUse) {
  EXPECT_EQ(run_command("runs import").exit_code, 2);
  EXPECT_EQ(run_command("runs import bench.json --meta gpu").exit_code, 2);
  EXPECT_EQ(run_command("runs import bench.json --format excel").exit_code, 2);
  EXPECT_EQ(run_command("runs import absent.json").exit_code, 1);
  std::ofstream("notes.txt") << "hello";
  const CommandResult result = run_command("runs import notes.txt");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("notes.txt: contains no result of a known format"));
}

}  // namespace
}  // namespace roofcast::test
