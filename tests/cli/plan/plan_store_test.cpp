// Answers that a plan may take from its store, and those that it must not: answers for other
// inputs.
#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/run_command.hpp"

namespace roofcast::test {
namespace {

const std::string kPlan =
    "plan --gpu h100 --slo p95:ttft:2s p95:tpot:100ms --search tp=1 --max-replicas 3 --top 1 ";
const std::string kStoredLoad =
    "--request-rate 4 --num-prompts 40 --input-len 256 --output-len 16 ";

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

std::string config_of_layers(int layers) {
  return fmt::format(
      R"({{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096,
           "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8,
           "num_hidden_layers": {}, "vocab_size": 128256, "max_position_embeddings": 8192,
           "torch_dtype": "bfloat16"}})",
      layers);
}

std::string engine_with_request_time(const std::string& seconds) {
  return fmt::format(R"({{"schema_version": 1, "kind": "engine", "name": "ours",
                         "preset": "vllm-0.19", "host": {{"per_request_s": {}}}}})",
                     seconds);
}

/// Forty simultaneous requests, the last two of another class.
std::string trace_with_priority(int last) {
  std::string text = "time,input,output,priority,class\n";
  for (int i = 0; i < 38; ++i) text += "0,2000,16,1,most\n";
  for (int i = 0; i < 2; ++i) text += fmt::format("0,2000,16,{},last\n", last);
  return text;
}

/// The plan, `change`, the plan again: stored answers of the first must not appear in the second.
template <class Change>
void expect_answers_anew(const std::string& line, const Change& change) {
  const CommandResult before = run_command(line + " --store plans.db");
  EXPECT_EQ(before.exit_code, 0) << before.err;
  change();
  const CommandResult after = run_command(line + " --store plans.db");
  EXPECT_EQ(after.out, run_command(line + " --no-store").out);
  EXPECT_NE(after.out, before.out) << "the change changes nothing: this test shows nothing";
}

TEST(PlanStore, AnswersAnewForAModelWhoseFileWasEdited) {
  const TemporaryFolder folder;
  std::filesystem::create_directory("model");
  write("model/config.json", config_of_layers(8));
  expect_answers_anew(kPlan + kStoredLoad + "--model ./model",
                      [] { write("model/config.json", config_of_layers(16)); });
}

TEST(PlanStore, AnswersAnewForAnEngineProfileThatWasEdited) {
  const TemporaryFolder folder;
  write("ours.json", engine_with_request_time("0.006"));
  expect_answers_anew(kPlan + kStoredLoad + "--model llama-3.1-8b --engine ./ours.json",
                      [] { write("ours.json", engine_with_request_time("0.6")); });
}

TEST(PlanStore, AnswersAnewForATraceWithOtherPriorities) {
  // Four at a time: those with the lower number are served before all others.
  const TemporaryFolder folder;
  write("load.csv", trace_with_priority(1));
  write("load.json", R"({"schema_version": 1, "model": "llama-3.1-8b", "gpu": "h100",
    "engine_options": {"scheduling_policy": "priority", "max_num_seqs": 4},
    "workload": {"type": "trace", "path": "load.csv"},
    "slo": {"classes": [
      {"name": "most", "targets": [{"metric": "ttft", "percentile": 95, "limit_s": 20}]},
      {"name": "last", "targets": [{"metric": "ttft", "percentile": 95, "limit_s": 20}]}]}})");
  expect_answers_anew("plan load.json --search tp=1 --max-replicas 3 --top 1",
                      [] { write("load.csv", trace_with_priority(0)); });
}

TEST(PlanStore, UsesWhatItHasSimulated) {
  const TemporaryFolder folder;
  const std::string line = kPlan + kStoredLoad + "--model llama-3.1-8b --store plans.db";
  const CommandResult first = run_command(line);
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(run_command(line).out, first.out);
  {
    SQLite::Database database("plans.db", SQLite::OPEN_READWRITE);
    // A latency that no simulation of this load would come to.
    EXPECT_GT(database.exec("UPDATE evaluations SET answer = "
                            "json_set(answer, '$.ttft_p95_s', 1.2345) "
                            "WHERE question LIKE 'trial %'"),
              0);
  }
  EXPECT_NE(run_command(line).out, first.out);
}

TEST(PlanStore, KeepsNoPlanOfAMisuse) {
  // The profile of the MI325X has no price, which only the look at the shapes finds.
  const TemporaryFolder folder;
  const CommandResult misuse = run_command(
      "plan --gpu mi325x --slo p95:ttft:2s --model llama-3.1-8b --request-rate 4 "
      "--store plans.db");
  EXPECT_EQ(misuse.exit_code, 2) << misuse.err;
  SQLite::Database database("plans.db");
  EXPECT_EQ(database.execAndGet("SELECT count(*) FROM runs").getInt(), 0);
}

}  // namespace
}  // namespace roofcast::test
