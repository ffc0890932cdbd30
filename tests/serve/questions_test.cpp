// Flags of a question as arguments of its command, and what is never passed on.
#include "serve/api_flags.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"

namespace roofcast::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<std::string> arguments(const std::string& command, const char* flags) {
  return api_arguments(command, Json::parse(flags), {});
}

/// The one line that refuses it; empty when it is taken.
std::string refusal(const std::string& command, const std::string& flags) {
  try {
    api_arguments(command, Json::parse(flags), {});
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

TEST(ApiFlags, BecomeTheArgumentsOfTheCommandInTheirOrder) {
  EXPECT_THAT(arguments("memory", R"({"model": "llama-3.1-8b", "gpu": "H100 SXM", "tp": 2,
                                      "kv_cache_dtype": "fp8", "enforce-eager": true})"),
              ElementsAre("--model=llama-3.1-8b", "--gpu=H100 SXM", "--tensor-parallel-size=2",
                          "--kv-cache-dtype=fp8", "--enforce-eager=true"));
}

TEST(ApiFlags, ListsAreTheFlagAgainAndAgain) {
  EXPECT_THAT(arguments("simulate", R"({"slo": ["p95:ttft:1s", "p95:tpot:50ms"]})"),
              ElementsAre("--slo=p95:ttft:1s", "--slo=p95:tpot:50ms"));
}

TEST(ApiFlags, NumbersKeepTheirDigits) {
  EXPECT_THAT(arguments("simulate", R"({"request_rate": 12.5, "num_prompts": 300, "seed": 7})"),
              ElementsAre("--request-rate=12.5", "--num-prompts=300", "--seed=7"));
}

TEST(ApiFlags, TogglesStandWithoutValueOrNotAtAll) {
  EXPECT_THAT(arguments("simulate", R"({"explain": true})"), ElementsAre("--explain"));
  EXPECT_THAT(arguments("simulate", R"({"explain": false})"), ElementsAre());
  EXPECT_THAT(refusal("simulate", R"({"explain": "yes"})"), HasSubstr("true or false"));
}

TEST(ApiFlags, RunsToCompareAreTheirIds) {
  EXPECT_THAT(arguments("compare", R"({"runs": [1, 12]})"), ElementsAre("1", "12"));
  for (const char* runs :
       {"[-1, 2]", R"(["1; DROP TABLE runs", 2])", "[1.5]", "7", R"(["--help"])"}) {
    EXPECT_NE(refusal("compare", std::string(R"({"runs": )") + runs + "}"), "") << runs;
  }
}

TEST(ApiFlags, WhatReadsOrWritesFilesIsNotListed) {
  for (const char* flag :
       {"trace", "store", "no-store", "requests-out", "keep-requests", "scenario", "from-cmd",
        "output", "help", "help-all", "trace-columns", "stages"}) {
    EXPECT_THAT(refusal("simulate", std::string("{\"") + flag + "\": \"x\"}"),
                HasSubstr("no flag '" + std::string(flag) + "'"));
  }
}

TEST(ApiFlags, MisspeltFlagsGetASuggestion) {
  EXPECT_THAT(refusal("memory", R"({"modle": "x"})"), HasSubstr("did you mean 'model'?"));
}

TEST(ApiFlags, ModelsAreOfTheCatalogueOnly) {
  for (const char* model : {"/etc/passwd", "../model", "~/model", "@file", "-x", "--help", ".",
                            "model.gguf", "C:\\\\model", "meta-llama/Llama-3.1-8B", "a\\u0000b"}) {
    EXPECT_NE(refusal("memory", std::string(R"({"model": ")") + model + "\"}"), "") << model;
  }
  EXPECT_THAT(refusal("memory", R"({"model": "llama-3.1-8"})"),
              HasSubstr("did you mean 'llama-3.1-8b'?"));
}

TEST(ApiFlags, GpusAndEnginesAreNoFiles) {
  for (const char* name : {"gpu.json", "/dev/stdin", "./h100", "-h100", "@h100"}) {
    EXPECT_NE(refusal("memory", std::string(R"({"gpu": ")") + name + "\"}"), "") << name;
    EXPECT_NE(refusal("memory", std::string(R"({"engine": ")") + name + "\"}"), "") << name;
  }
}

TEST(ApiFlags, LengthsComeFromNoFile) {
  EXPECT_THAT(refusal("simulate", R"({"input_len": "empirical:lengths.csv"})"),
              HasSubstr("from a file"));
  EXPECT_EQ(refusal("simulate", R"({"input_len": "lognormal:500:0.8"})"), "");
}

TEST(ApiFlags, ValuesArePlainAndShort) {
  for (const char* value :
       {R"~("")~", "null", "{}", "[1]", R"~("a\nb")~", R"~("$(id)")~", R"~("a'b")~"}) {
    EXPECT_NE(refusal("memory", std::string(R"({"block_size": )") + value + "}"), "") << value;
  }
  EXPECT_THAT(refusal("memory", R"({"block_size": ")" + std::string(201, '1') + "\"}"),
              HasSubstr("longer than 200"));
}

TEST(ApiFlags, RequestsAreLimitedHoweverTheyAreWritten) {
  // 20,000 at most by default; "21k" is 21,000.
  EXPECT_EQ(refusal("simulate", R"({"num_prompts": 20000})"), "");
  EXPECT_THAT(refusal("simulate", R"({"num_prompts": 20001})"), HasSubstr("allows 20000"));
  EXPECT_THAT(refusal("simulate", R"({"num-requests": "21k"})"), HasSubstr("allows 20000"));
  EXPECT_THAT(refusal("capacity", R"({"num_prompts": "21k"})"), HasSubstr("allows 20000"));
}

TEST(ApiFlags, WhatEveryRunningSequenceHoldsIsLimited) {
  EXPECT_EQ(refusal("simulate", R"({"prefix_len": "16k", "max_num_seqs": 4096})"), "");
  EXPECT_THAT(refusal("simulate", R"({"prefix_len": 16385})"), HasSubstr("allows 16384"));
  EXPECT_THAT(refusal("capacity", R"({"max_num_seqs": 4097})"), HasSubstr("allows 4096"));
  // Of some distributions the longest is not known before it is drawn.
  EXPECT_NE(refusal("simulate", R"({"prefix_len": "lognormal:16k:9"})"), "");
}

TEST(ApiFlags, ASmallLimitReplacesTheDefaultNumberOfRequests) {
  const std::vector<std::string> found =
      api_arguments("simulate", Json::object(), {.max_requests = 50});
  EXPECT_THAT(found, ElementsAre("--num-prompts=50"));
}

TEST(ApiFlags, QuestionsAreObjects) {
  EXPECT_THAT([] { api_arguments("memory", Json::array(), {}); },
              ThrowsMessage<UsageError>(HasSubstr("JSON object")));
}

TEST(ApiFlags, ReplicasAreBounded) {
  const Json many = {{"model", "llama-3.1-8b"}, {"prefill-replicas", 1001}};
  EXPECT_THROW(api_arguments("simulate", many, {}), UsageError);
  const Json max = {{"model", "llama-3.1-8b"}, {"prefill-replicas", 1000}};
  EXPECT_NO_THROW(api_arguments("simulate", max, {}));
}

}  // namespace
}  // namespace roofcast::test
