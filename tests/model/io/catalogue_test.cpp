#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/error.hpp"
#include "model/architecture/weights.hpp"
#include "model/io/model_reader.hpp"

namespace roofcast {
namespace {

TEST(Catalogue, EveryEntryLoadsUnderItsNameAndAliases) {
  for (const CatalogueEntry& entry : catalogue()) {
    const Transformer model = load_model(entry.name);
    EXPECT_EQ(model.name, entry.name);
    EXPECT_EQ(model.source, entry.source);
    EXPECT_GT(count_parameters(model).total, 100'000'000) << entry.name;
    EXPECT_GT(model.max_context, 0) << entry.name;
    for (const std::string& alias : entry.aliases) {
      EXPECT_EQ(load_model(alias).name, entry.name) << alias;
    }
  }
}

TEST(Catalogue, EntriesAreInOrderWithSources) {
  std::string previous;
  for (const CatalogueEntry& entry : catalogue()) {
    EXPECT_LT(previous, entry.name);
    EXPECT_THAT(entry.source, testing::AnyOf(testing::HasSubstr("huggingface.co/"),
                                             testing::HasSubstr("arxiv.org/")))
        << entry.name;
    previous = entry.name;
  }
}

TEST(Catalogue, NoNameOrAliasIsTakenTwice) {
  std::set<std::string> taken;
  for (const CatalogueEntry& entry : catalogue()) {
    EXPECT_TRUE(taken.insert(entry.name).second) << entry.name;
    for (const std::string& alias : entry.aliases) {
      EXPECT_TRUE(taken.insert(alias).second) << alias;
    }
  }
}

TEST(Catalogue, CaseSeparatorsAndOrganisationDoNotMatter) {
  for (const char* const spelling :
       {"llama-3.1-70b", "LLAMA_3.1_70B", "Llama 3.1 70B", "meta-llama/Llama-3.1-70B-Instruct",
        "Llama-3.1-70B-Instruct", "meta-llama/Llama-3.3-70B-Instruct"}) {
    EXPECT_EQ(load_model(spelling).name, "llama-3.1-70b") << spelling;
  }
}

TEST(Catalogue, AnUnknownNameGivesTheNearestAndSaysThatPathsWork) {
  try {
    load_model("lama-3.1-70b");
    FAIL() << "accepted";
  } catch (const Error& e) {
    const std::string text = e.what();
    EXPECT_THAT(text, testing::HasSubstr("did you mean 'llama-3.1-70b'"));
    EXPECT_THAT(text, testing::HasSubstr("config.json"));
    EXPECT_THAT(text, testing::Not(testing::HasSubstr("\n")));
  }
  EXPECT_THROW(load_model(""), Error);
  EXPECT_THROW(load_model("---"), Error);
}

}  // namespace
}  // namespace roofcast
