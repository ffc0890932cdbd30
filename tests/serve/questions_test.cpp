// JSON objects as questions, and what is never passed on.
#include "serve/questions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace roofcast::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

void ask(const std::string& command, const Json& question, const ApiLimits& limits = {}) {
  if (command == "memory") asked_memory(question, limits);
  if (command == "estimate") asked_estimate(question, limits);
  if (command == "staircase") asked_staircase(question, limits);
  if (command == "learn") asked_lesson(question, limits);
  if (command == "sampling") asked_sampling(question);
  if (command == "simulate") asked_simulation(question, limits);
  if (command == "capacity") asked_capacity(question, limits);
  if (command == "compare") asked_runs(question);
}

/// The line that refuses it; empty if it is accepted.
std::string refusal(const std::string& command, const std::string& question) {
  try {
    ask(command, Json::parse(question));
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

AskedSimulation simulation(const char* question) {
  return asked_simulation(Json::parse(question), {});
}

TEST(Questions, KeysAreNamesOfFlagsOrTheirAliasesWithEitherDash) {
  const MemoryQuestion question =
      asked_memory(Json::parse(R"({"model": "llama-3.1-8b", "gpu": "H100 SXM", "tp": 2,
                      "kv_cache_dtype": "fp8", "enforce-eager": true, "solve": "context"})"),
                   {});
  EXPECT_EQ(question.deployment.model, "llama-3.1-8b");
  EXPECT_EQ(question.deployment.gpu, "H100 SXM");
  EXPECT_EQ(question.deployment.parallel.tensor, 2);
  EXPECT_TRUE(question.deployment.overrides.kv_cache_dtype.has_value());
  EXPECT_EQ(question.deployment.overrides.enforce_eager, true);
  EXPECT_EQ(question.solve, MemoryQuestion::Solve::context);
}

TEST(Questions, EachHasItsOwnKeys) {
  const BatchesQuestion estimate =
      asked_estimate(Json{{"batch", 8}, {"isl", "1k"}, {"osl", 3}, {"ops", true}}, {}).question;
  EXPECT_THAT(estimate.batches, testing::ElementsAre(8));
  EXPECT_THAT(estimate.input_tokens, testing::ElementsAre(1000));
  EXPECT_EQ(estimate.output_tokens, 3);
  EXPECT_THAT(asked_estimate(Json{{"batch", "1-8*2"}}, {}).question.batches,
              testing::ElementsAre(1, 2, 4, 8));
  EXPECT_THAT(refusal("estimate", R"({"batch": "1-1000+1"})"),
              HasSubstr("batch: 1000 requested, this server allows 100 pairs"));
  EXPECT_THAT(refusal("estimate", R"({"model": "llama-3.1-8b", "gpu": "h100", "watermark": 0.1})"),
              HasSubstr("would change nothing"));
  const StaircaseQuestion staircase = asked_staircase(Json{{"prompt", 5}, {"generate", 6}}, {});
  EXPECT_EQ(staircase.generate, 6);
  EXPECT_FALSE(staircase.deployment);
  EXPECT_THAT(refusal("staircase", R"({"prompt": 5, "generate": 6, "acceptance": 0.5})"),
              HasSubstr("--acceptance: would change nothing"));
  EXPECT_EQ(asked_staircase(Json{{"prompt", 5}}, {}).generate, 200);  // as the lesson has it
  const CapacityQuestion capacity =
      asked_capacity(Json{{"growth", "10%/month"}, {"from", "2026-11-22"}, {"lose_one", true}}, {});
  EXPECT_TRUE(capacity.growth->from.has_value());
  EXPECT_TRUE(capacity.lose_one);
  EXPECT_TRUE(capacity.free_length);
  EXPECT_FALSE(asked_capacity(Json{{"num_prompts", 100}}, {}).free_length);
  EXPECT_THAT(refusal("memory", R"({"num_prompts": 5})"), HasSubstr("unknown key 'num_prompts'"));
}

TEST(Questions, AListIsTheValuesWithCommasBetween) {
  EXPECT_THAT(asked_estimate(Json{{"batch", {1, 2, 4}}}, {}).question.batches,
              testing::ElementsAre(1, 2, 4));
  EXPECT_EQ(asked_memory(Json{{"gpu", {"h100", "l40s"}}}, {}).deployment.gpu, "h100,l40s");
  EXPECT_THAT(refusal("estimate", R"({"output_len": [1, 2]})"), HasSubstr("'1,2'"));
  EXPECT_THAT(refusal("estimate", R"({"batch": []})"), HasSubstr("batch: the value is empty"));
  EXPECT_THAT(refusal("estimate", R"({"batch": [[1], 2]})"), HasSubstr("not a list"));
}

TEST(Questions, LessonAndSamplingHaveTheirOwnKeys) {
  const LessonQuestion lesson =
      asked_lesson(Json{{"gpu", "h100"}, {"prompt", 5}, {"generate", 6}, {"acceptance", 0.5}}, {});
  EXPECT_EQ(lesson.prompt, 5);
  EXPECT_EQ(lesson.generate, 6);
  EXPECT_EQ(lesson.acceptance, 0.5);
  EXPECT_EQ(lesson.deployment.gpu, "h100");
  const SamplingQuestion sampling =
      asked_sampling(Json{{"temperature", 0.5}, {"top_k", 3}, {"top_p", "90%"}});
  EXPECT_EQ(sampling.top_k, 3);
  EXPECT_EQ(sampling.top_p, 0.9);
  EXPECT_THAT(refusal("sampling", R"({"top_p": 0})"), HasSubstr("top_p: '0' must be above 0"));
  EXPECT_THAT(refusal("learn", R"({"gpu": "x/y.json"})"), HasSubstr("gpu: "));
}

TEST(Questions, AProfileOfTheServersGoesByItsName) {
  ApiLimits limits;
  limits.profiles = {{.name = "my-cpu", .path = "/somewhere/my-cpu.json"}};
  const Json question{{"model", "gpt2"}, {"gpu", "my-cpu"}, {"prompt", 1}, {"generate", 2}};
  EXPECT_EQ(asked_lesson(question, limits).deployment.gpu, "/somewhere/my-cpu.json");
  EXPECT_EQ(asked_staircase(question, limits).deployment->gpu, "/somewhere/my-cpu.json");
  const Json by_path{{"gpu", "/somewhere/my-cpu.json"}};
  EXPECT_THROW(asked_lesson(by_path, limits), UsageError);
}

TEST(Questions, ListsHaveSeveralValues) {
  const Scenario scenario =
      simulation(R"({"slo": ["p95:ttft:1s", "p95:tpot:50ms"]})").question.scenario;
  EXPECT_EQ(scenario.slo.targets.size(), 2U);
}

TEST(Questions, ASimulationIsStoredUnderACommandLineThatRepeatsIt) {
  EXPECT_EQ(simulation(R"({"request_rate": 12.5, "num_prompts": 300, "explain": true, "seed": 7,
                           "slo": ["p95:ttft:1s", "p95:tpot:50ms"], "gpu": "H100 SXM"})")
                .command_line,
            "roofcast simulate --request-rate=12.5 --num-prompts=300 --explain --seed=7 "
            "--slo=p95:ttft:1s --slo=p95:tpot:50ms '--gpu=H100 SXM'");
}

TEST(Questions, TogglesAreTrueOrFalse) {
  EXPECT_TRUE(simulation(R"({"explain": true})").question.explain);
  EXPECT_FALSE(simulation(R"({"explain": false})").question.explain);
  EXPECT_THAT(refusal("simulate", R"({"explain": "yes"})"), HasSubstr("true or false"));
}

TEST(Questions, AKeyIsGivenOnce) {
  EXPECT_THAT(refusal("memory", R"({"tp": 2, "tensor-parallel-size": 4})"),
              HasSubstr("tensor_parallel_size: given twice"));
}

TEST(Questions, RefusalsNameTheKey) {
  EXPECT_THAT(refusal("simulate", R"({"num_prompts": "many"})"), HasSubstr("num_prompts: 'many'"));
  EXPECT_THAT(refusal("simulate", R"({"burstiness": 2})"), HasSubstr("burstiness"));
  EXPECT_EQ(with_json_keys("--from: needs --growth (10%--20%, a - b, --)"),
            "from: needs growth (10%--20%, a - b, --)");
  EXPECT_EQ(with_json_keys("--max-num-seqs: 0"), "max_num_seqs: 0");
  EXPECT_EQ(with_json_keys("`model` is missing"), "model is missing");
  EXPECT_EQ(with_json_keys("no run (roofcast runs --store x) for --tp"),
            "no run (roofcast runs --store x) for tp");
}

TEST(Questions, RunsToCompareAreTheirIds) {
  EXPECT_THAT(asked_runs(Json::parse(R"({"runs": [1, 12]})")), ElementsAre(1, 12));
  for (const char* runs :
       {"[-1, 2]", R"(["1; DROP TABLE runs", 2])", "[1.5]", "7", R"(["--help"])"}) {
    EXPECT_NE(refusal("compare", std::string(R"({"runs": )") + runs + "}"), "") << runs;
  }
  EXPECT_NE(refusal("compare", R"({"runs": [1, 2], "store": "x.db"})"), "");
}

TEST(Questions, NoKeyReadsOrWritesAFile) {
  EXPECT_THAT(refusal("simulate", R"({"trace": "x"})"), HasSubstr("the store has no trace 'x'"));
  for (const char* flag :
       {"store", "no-store", "requests-out", "keep-requests", "scenario", "from-cmd", "output",
        "help", "help-all", "trace-columns", "stages", "lora-adapters", "speculative-config"}) {
    EXPECT_THAT(refusal("simulate", std::string("{\"") + flag + "\": \"x\"}"),
                HasSubstr("unknown key '" + std::string(flag) + "'"));
  }
}

TEST(Questions, MisspeltKeysGetASuggestion) {
  EXPECT_THAT(refusal("memory", R"({"modle": "x"})"), HasSubstr("did you mean 'model'?"));
}

TEST(Questions, ModelsAreOfTheCatalogueOnly) {
  for (const char* model : {"/etc/passwd", "../model", "~/model", "@file", "-x", "--help", ".",
                            "model.gguf", "C:\\\\model", "meta-llama/Llama-3.1-8B", "a\\u0000b"}) {
    EXPECT_NE(refusal("memory", std::string(R"({"model": ")") + model + "\"}"), "") << model;
  }
  EXPECT_THAT(refusal("memory", R"({"model": "llama-3.1-8"})"),
              HasSubstr("did you mean 'llama-3.1-8b'"));
}

TEST(Questions, GpusAndEnginesAreNotFiles) {
  for (const char* name : {"gpu.json", "/dev/stdin", "./h100", "-h100", "@h100"}) {
    EXPECT_NE(refusal("memory", std::string(R"({"gpu": ")") + name + "\"}"), "") << name;
    EXPECT_NE(refusal("memory", std::string(R"({"engine": ")") + name + "\"}"), "") << name;
  }
}

TEST(Questions, LengthsDoNotComeFromFiles) {
  EXPECT_THAT(refusal("simulate", R"({"input_len": "empirical:lengths.csv"})"),
              HasSubstr("from a file"));
  EXPECT_EQ(refusal("simulate", R"({"input_len": "lognormal:500:0.8"})"), "");
}

TEST(Questions, ValuesArePlainAndShort) {
  for (const char* value :
       {R"~("")~", "null", "{}", "[[1]]", "[1, 2]", R"~("a\nb")~", R"~("$(id)")~", R"~("a'b")~"}) {
    EXPECT_NE(refusal("memory", std::string(R"({"block_size": )") + value + "}"), "") << value;
  }
  EXPECT_THAT(refusal("memory", R"({"block_size": ")" + std::string(201, '1') + "\"}"),
              HasSubstr("longer than 200"));
}

TEST(Questions, RequestsAreLimitedHoweverTheyAreWritten) {
  // 20,000 at most by default; "21k" is 21,000.
  EXPECT_EQ(refusal("simulate", R"({"num_prompts": 20000})"), "");
  EXPECT_THAT(refusal("simulate", R"({"num_prompts": 20001})"), HasSubstr("allows 20000"));
  EXPECT_THAT(refusal("simulate", R"({"num-requests": "21k"})"), HasSubstr("allows 20000"));
  EXPECT_THAT(refusal("capacity", R"({"num_prompts": "21k"})"), HasSubstr("allows 20000"));
}

TEST(Questions, MemoryOfEachRunningSequenceIsLimited) {
  EXPECT_EQ(refusal("simulate", R"({"prefix_len": "16k", "max_num_seqs": 4096})"), "");
  EXPECT_THAT(refusal("simulate", R"({"prefix_len": 16385})"), HasSubstr("allows 16384"));
  EXPECT_THAT(refusal("capacity", R"({"max_num_seqs": 4097})"), HasSubstr("allows 4096"));
  // The longest of some distributions is not known before it is drawn.
  EXPECT_NE(refusal("simulate", R"({"prefix_len": "lognormal:16k:9"})"), "");
}

TEST(Questions, ASmallLimitReplacesTheDefaultNumberOfRequests) {
  const AskedSimulation asked = asked_simulation(Json::object(), {.max_requests = 50});
  EXPECT_EQ(std::get<SyntheticWorkload>(asked.question.scenario.workload).num_prompts, 50);
  EXPECT_EQ(asked.command_line, "roofcast simulate --num-prompts=50");
}

TEST(Questions, QuestionsAreObjects) {
  EXPECT_THAT([] { ask("memory", Json::array()); },
              ThrowsMessage<UsageError>(HasSubstr("JSON object")));
}

TEST(Questions, ReplicasAreBounded) {
  const Json many = {{"model", "llama-3.1-8b"}, {"prefill-replicas", 1001}};
  EXPECT_THROW(ask("simulate", many), UsageError);
  const Json max = {
      {"model", "llama-3.1-8b"}, {"prefill-replicas", 1000}, {"decode-replicas", 1000}};
  EXPECT_NO_THROW(ask("simulate", max));
}

}  // namespace
}  // namespace roofcast::test
