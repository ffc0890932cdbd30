// No folder of the machine in what leaves it.
#include "serve/without_paths.hpp"

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
  for (const char* text : {"https://huggingface.co/meta-llama/Llama-3.1-8B/blob/main/config.json",
                           "1,270 tokens/s", "meta-llama/Llama-3.1-8B", "10%/month", "and / or",
                           "/", "", "p95:ttft:1s", "(1 - 0.9)", "10.0 /s served, 9 /h", "/s"}) {
    EXPECT_EQ(without_paths(text), text);
  }
}

TEST(WithoutPaths, EveryStringOfADocumentIsLookedAt) {
  const Json json = {{"a", {{"/x/y", {1, "/x/y/z", nullptr, true}}}}, {"b", 2.5}};
  EXPECT_EQ(without_paths_in(json).dump(), R"({"a":{"y":[1,"z",null,true]},"b":2.5})");
}

TEST(WithoutPaths, KnownPathsAreFoundWithSpacesAndWhereTheyAreRelative) {
  const KnownPaths spaced = known_paths("/w/my secret dir/in ner/st ore.db");
  EXPECT_EQ(without_paths("roofcast simulate '--store=/w/my secret dir/in ner/st ore.db'", spaced),
            "roofcast simulate '--store=st ore.db'");
  EXPECT_EQ(without_paths("/w/my secret dir/in ner/st ore.db: no run 9", spaced),
            "st ore.db: no run 9");
  EXPECT_EQ(without_paths("st ore.db: its folder /w/my secret dir/in ner does not exist", spaced),
            "st ore.db: its folder in ner does not exist");
  EXPECT_EQ(without_paths("see /w/my secret dir/in ner/other.db: damaged", spaced),
            "see other.db: damaged");
  const KnownPaths relative = known_paths("rel/deep/s.db");
  EXPECT_EQ(without_paths("rel/deep/s.db: no run 7 (roofcast runs --store rel/deep/s.db lists)",
                          relative),
            "s.db: no run 7 (roofcast runs --store s.db lists)");
  EXPECT_EQ(without_paths("org/rel/deep/s.db", relative), "org/rel/deep/s.db");
}

TEST(WithoutPaths, AQuoteInAKnownPathIsFoundAsAShellWritesIt) {
  EXPECT_EQ(without_paths("'--store=/w/a'\\''b c/s.db'", known_paths("/w/a'b c/s.db")),
            "'--store=s.db'");
}

}  // namespace
}  // namespace roofcast::test
