// No folder of the machine in what leaves it.
#include "cli/serve/without_paths.hpp"

#include <gtest/gtest.h>

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
}

TEST(WithoutPaths, AMessageThatBeginsWithAPathKeepsItsWords) {
  EXPECT_EQ(without_paths("/home/ana/x.db: not a store"), "x.db: not a store");
}

TEST(WithoutPaths, LinksUnitsAndNamesStay) {
  for (const char* text :
       {"https://huggingface.co/meta-llama/Llama-3.1-8B/blob/main/config.json", "1,270 tokens/s",
        "meta-llama/Llama-3.1-8B", "10%/month", "and / or", "/", "", "p95:ttft:1s", "(1 - 0.9)"}) {
    EXPECT_EQ(without_paths(text), text);
  }
}

TEST(WithoutPaths, EveryStringOfADocumentIsLookedAt) {
  const Json json = {{"a", {{"/x/y", {1, "/x/y/z", nullptr, true}}}}, {"b", 2.5}};
  EXPECT_EQ(without_paths_in(json).dump(), R"({"a":{"y":[1,"z",null,true]},"b":2.5})");
}

}  // namespace
}  // namespace roofcast::test
