// No folder of the machine in what leaves it.
#include "serve/without_paths.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace roofcast::test {
namespace {

TEST(WithoutPaths, PathsAreCutDownToTheirLastName) {
  EXPECT_EQ(without_paths("roofcast simulate --store /home/ana/runs.db --seed 1"),
            "roofcast simulate --store runs.db --seed 1");
  EXPECT_EQ(without_paths("--trace=../../data/azure.csv"), "--trace=azure.csv");
  EXPECT_EQ(without_paths("see ~/x/y.json: not JSON"), "see y.json: not JSON");
  EXPECT_EQ(without_paths("empirical:/data/lengths.csv"), "lengths.csv");
  EXPECT_EQ(without_paths("C:\\Users\\ana\\x.db is locked"), "x.db is locked");
  EXPECT_EQ(without_paths("file:///home/ana/x"), "x");
}

TEST(WithoutPaths, QuotedPathsMayHaveSpaces) {
  EXPECT_EQ(without_paths("--store '/home/ana/my runs/x.db' --seed 1"), "--store 'x.db' --seed 1");
  EXPECT_EQ(without_paths("simulate '--store=/home/ana/my runs/x.db'"), "simulate '--store=x.db'");
  EXPECT_EQ(without_paths_in(Json("/home/ana/my runs/x.db")), Json("x.db"));
}

TEST(WithoutPaths, AMessageThatBeginsWithAPathKeepsItsWords) {
  EXPECT_EQ(without_paths("/home/ana/x.db: not a store"), "x.db: not a store");
  EXPECT_EQ(without_paths("/a/x/s.db: no run 9 (roofcast runs --store /a/x/s.db lists them)"),
            "s.db: no run 9 (roofcast runs --store s.db lists them)");
  EXPECT_EQ(without_paths("/a/x/s.db: its folder /a/x does not exist"),
            "s.db: its folder x does not exist");
  EXPECT_EQ(without_paths_in(Json("/a/x.json has 5 tokens/s")), Json("x.json has 5 tokens/s"));
}

TEST(WithoutPaths, LinksUnitsAndNamesStay) {
  for (const char* text :
       {"https://huggingface.co/meta-llama/Llama-3.1-8B/blob/main/config.json", "1,270 tokens/s",
        "meta-llama/Llama-3.1-8B", "10%/month", "and / or", "/", "", "p95:ttft:1s", "(1 - 0.9)",
        "10.0 /s served, 9 /h", "/s", "2.5/s", "Qwen/Qwen2.5-7B", "org/model.v2"}) {
    EXPECT_EQ(without_paths(text), text);
  }
}

TEST(WithoutPaths, EveryStringOfADocumentIsLookedAt) {
  const Json json = {{"a", {{"/x/y", {1, "/x/y/z", nullptr, true}}}}, {"b", 2.5}};
  EXPECT_EQ(without_paths_in(json).dump(), R"({"a":{"y":[1,"z",null,true]},"b":2.5})");
}

TEST(WithoutPaths, RelativePathsOfFilesAreCutAfterFlags) {
  EXPECT_EQ(without_paths("roofcast runs --store rel/deep/s.db '--trace=my traces/t.csv'"),
            "roofcast runs --store s.db '--trace=t.csv'");
  EXPECT_EQ(without_paths("aiconfigurator systems/h100_sxm.yaml, inter-node"),  // a source
            "aiconfigurator systems/h100_sxm.yaml, inter-node");
  EXPECT_EQ(without_paths("--trace=data/azure.jsonl --input-len empirical:data/lengths.csv"),
            "--trace=azure.jsonl --input-len lengths.csv");
}

TEST(WithoutPaths, AQuoteInAPathIsFoundAsAShellWritesIt) {
  EXPECT_EQ(without_paths("roofcast simulate '--store=/w/a'\\''b c/in ner/s.db' --seed 1"),
            "roofcast simulate '--store=s.db' --seed 1");
}

}  // namespace
}  // namespace roofcast::test
