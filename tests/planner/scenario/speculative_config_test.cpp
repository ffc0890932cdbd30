#include "planner/scenario/speculative_config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"

namespace roofcast::test {
namespace {

std::optional<DraftMethod> drafting(const std::string& config) {
  return parse_speculative_config(config, "--speculative-config").modelled();
}

TEST(SpeculativeConfig, ReadsTheKeysThatBearOnTime) {
  const SpeculativeConfig config = parse_speculative_config(
      R"({"method": "eagle3", "model": "d", "num_speculative_tokens": 3, "draft_tensor_parallel_size": 1})",
      "-sc");
  EXPECT_EQ(config.method, "eagle3");
  EXPECT_EQ(config.model, "d");
  EXPECT_EQ(config.num_speculative_tokens, 3);
}

TEST(SpeculativeConfig, ModelsWhatVllmWouldDraftWith) {
  EXPECT_EQ(drafting(R"({"method": "eagle3"})"), DraftMethod::eagle);
  EXPECT_EQ(drafting(R"({"method": "deepseek_mtp"})"), DraftMethod::mtp);
  EXPECT_EQ(drafting(R"({"model": "d"})"), DraftMethod::draft_model);
  EXPECT_EQ(drafting(R"({"model": "yuhuili/EAGLE3-LLaMA3.1-Instruct-8B"})"), DraftMethod::eagle);
  EXPECT_EQ(drafting(R"({"model": "ngram"})"), DraftMethod::ngram);
  EXPECT_EQ(drafting(R"({"num_speculative_tokens": 1})"), std::nullopt);
  EXPECT_EQ(drafting(R"({"method": "medusa"})"), std::nullopt);
}

TEST(SpeculativeConfig, RefusesWhatIsNoConfig) {
  for (const char* text : {"", "{", "[1]", "3", R"({"num_speculative_tokens": "three"})",
                           R"({"num_speculative_tokens": 1.5})"}) {
    EXPECT_THROW(parse_speculative_config(text, "-sc"), UsageError) << text;
  }
}

}  // namespace
}  // namespace roofcast::test
