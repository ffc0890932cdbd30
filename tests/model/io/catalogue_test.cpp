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
      const Transformer same = load_model(alias);
      EXPECT_EQ(count_parameters(same).total, count_parameters(model).total) << alias;
      if (same.name == entry.name) continue;
      EXPECT_THAT(same.source, testing::StartsWith("same shapes as " + entry.name)) << alias;
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
        "Llama-3.1-70B-Instruct"}) {
    EXPECT_EQ(load_model(spelling).name, "llama-3.1-70b") << spelling;
  }
}

TEST(Catalogue, AModelOfAnotherNameAndTheSameShapesKeepsItsName) {
  EXPECT_EQ(load_model("meta-llama/Llama-3.3-70B-Instruct").name, "llama-3.3-70b-instruct");
  EXPECT_EQ(load_model("DeepSeek-R1-0528").name, "deepseek-r1-0528");
  EXPECT_EQ(load_model("nvidia/DeepSeek-R1-0528-NVFP4-v2").name, "deepseek-r1-0528");
  EXPECT_EQ(load_model("mistralai/Mistral-7B-Instruct-v0.3").name, "mistral-7b-v0.3");
}

// 70,553,706,496 parameters, of which 2 x 128,256 x 8,192 of embedding and LM head and 161 x 8,192
// of norms keep 16 bits; the rest has 8 bits and scales, or 4 and more scales.
TEST(Catalogue, NamesOfQuantisedCheckpointsAreTheModelInThatFormat) {
  const double kept = 2 * (2 * 128'256.0 * 8'192 + 161 * 8'192.0);
  const double matrices = 70'553'706'496.0 - kept / 2;
  const auto bytes = [](const char* name) {
    const Transformer model = load_model(name);
    EXPECT_THAT(model.name, testing::AnyOf("llama-3.1-70b", "llama-3.3-70b-instruct")) << name;
    return weight_bytes(model, {}).value;
  };
  EXPECT_EQ(bytes("unsloth/Llama-3.1-70B-Instruct"), kept + 2 * matrices);
  EXPECT_EQ(bytes("NousResearch/Meta-Llama-3.1-70B"), kept + 2 * matrices);
  for (const char* name :
       {"Llama-3.1-70B-Instruct-FP8", "llama-3.1-70b-fp8", "nvidia/Llama-3.1-70B-Instruct-FP8",
        "RedHatAI/Meta-Llama-3.1-70B-Instruct-FP8-dynamic",
        "RedHatAI/Llama-3.3-70B-Instruct-quantized.w8a8"}) {
    EXPECT_NEAR(bytes(name), kept + matrices, 0.01 * matrices) << name;
  }
  for (const char* name : {"hugging-quants/Meta-Llama-3.1-70B-Instruct-AWQ-INT4",
                           "RedHatAI/Meta-Llama-3.1-70B-Instruct-quantized.w4a16"}) {
    EXPECT_NEAR(bytes(name), kept + matrices / 2, 0.05 * matrices) << name;
  }
  // Qwen's have a 4-byte scale for each block of 128 x 128, others at most one for each row.
  EXPECT_GT(weight_bytes(load_model("Qwen/Qwen3-32B-FP8"), {}),
            weight_bytes(load_model("RedHatAI/Qwen3-32B-FP8"), {}));
}

TEST(Catalogue, AFolderThatDoesNotExistIsNotAModelOfItsName) {
  EXPECT_THROW(load_model("models/llama-3.1-70b"), Error);
  EXPECT_THROW(load_model("-fp8"), Error);
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
