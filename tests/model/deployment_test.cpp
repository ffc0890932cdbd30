#include "model/deployment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"
#include "tests/support/shapes.hpp"

namespace roofcast {
namespace {

using ::testing::HasSubstr;

std::string refusal(const Transformer& model, const Parallelism& parallel) {
  try {
    check_parallelism(model, parallel);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Parallelism, ThatShardsEveryLayerIsAccepted) {
  EXPECT_EQ(refusal(test::llama_3_1_70b(), {.tensor = 8}), "");
  EXPECT_EQ(refusal(test::llama_3_1_70b(), {.tensor = 16, .pipeline = 4}), "");
  EXPECT_EQ(refusal(test::mixtral_8x7b(), {.tensor = 2, .data = 4, .expert_parallel = true}), "");
  EXPECT_EQ(refusal(test::qwen3_next_80b(), {.tensor = 4}), "");
}

TEST(Parallelism, AMessageNamesTheDegreesThatWork) {
  // 32 query heads, 8 KV heads, FFN width 14336 = 2^11 * 7.
  EXPECT_EQ(
      refusal(test::llama_3_1_8b(), {.tensor = 3}),
      "`tensor_parallel_size`: 3 does not divide the 32 query heads of llama-3.1-8b; possible "
      "values: 1, 2, 4, 8, 16, 32");
  // 28 query heads, 4 KV heads: 14 would divide the query heads, but not share out the KV heads.
  EXPECT_THAT(refusal(test::qwen2_5_7b(), {.tensor = 8}), HasSubstr("possible values: 1, 2, 4"));
  EXPECT_THAT(refusal(test::qwen2_5_7b(), {.tensor = 14}), HasSubstr("KV heads"));
}

TEST(Parallelism, KvHeadsAreReplicatedOnceTensorParallelismExceedsThem) {
  EXPECT_EQ(refusal(test::llama_3_1_8b(), {.tensor = 16}), "");
}

TEST(Parallelism, ImpossibleDegreesAreRefused) {
  EXPECT_THAT(refusal(test::llama_3_1_8b(), {.tensor = 0}), HasSubstr("at least 1"));
  EXPECT_THAT(refusal(test::llama_3_1_8b(), {.data = -1}), HasSubstr("data_parallel_size"));
  EXPECT_THAT(refusal(test::llama_3_1_8b(), {.pipeline = 33}), HasSubstr("has 32 layers"));
  EXPECT_THAT(refusal(test::llama_3_1_8b(), {.expert_parallel = true}),
              HasSubstr("has no experts"));
}

}  // namespace
}  // namespace roofcast
