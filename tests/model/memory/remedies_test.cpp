#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "model/architecture/requantise.hpp"
#include "model/memory/memory_plan.hpp"
#include "tests/model/deployments.hpp"
#include "tests/support/shapes.hpp"

namespace roofcast {
namespace {

/// The value of the remedy that sets `flag`; empty if there is none.
std::string value_of(const std::vector<Remedy>& list, const std::string& flag) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const Remedy& remedy) {
    return remedy.flag.rfind(flag + " ", 0) == 0;
  });
  return found == list.end() ? "" : found->flag.substr(flag.size() + 1);
}

TEST(Remedies, AreEmptyWhenItFits) {
  EXPECT_TRUE(remedies(test::deploy(test::llama_3_1_8b(), test::h100(), "vllm")).empty());
}

TEST(Remedies, TheContextNamedIsTheLongestThatFits) {
  Deployment deployment = test::deploy(test::llama_3_1_8b(), test::rtx_4090(), "vllm");
  ASSERT_FALSE(plan_memory(deployment).fits);
  const std::string longest = value_of(remedies(deployment), "--max-model-len");
  ASSERT_FALSE(longest.empty());
  deployment.engine.max_model_len = std::stoll(longest);
  EXPECT_TRUE(plan_memory(deployment).fits);
  deployment.engine.max_model_len += 1;
  EXPECT_FALSE(plan_memory(deployment).fits);
}

TEST(Remedies, TheSequencesNamedAreTheMostWithAStateBlockEach) {
  Deployment deployment =
      test::deploy(test::qwen3_27b_hybrid(), test::gpu_of("card", 180), "vllm-0.29",
                   {.max_model_len = 32'768, .num_gpu_blocks_override = 700});
  ASSERT_FALSE(plan_memory(deployment).fits);
  EXPECT_EQ(value_of(remedies(deployment), "--max-num-seqs"), "700");
  deployment.engine.max_num_seqs = 700;
  EXPECT_TRUE(plan_memory(deployment).fits);
  deployment.engine.max_num_seqs = 701;
  EXPECT_FALSE(plan_memory(deployment).fits);
}

/// The degree of the remedy that sets tensor parallelism and nothing else.
std::string degree_alone(const std::vector<Remedy>& list) {
  for (const Remedy& remedy : list) {
    const std::string degree = value_of({remedy}, "--tensor-parallel-size");
    if (!degree.empty() && degree.find(' ') == std::string::npos) return degree;
  }
  return "";
}

TEST(Remedies, FewerGpusAreNamedWithTheChangeThatMakesThemEnough) {
  // 141 GB of weights: two H100s hold them, but not the K and V of 131,072 tokens beside them.
  Deployment deployment = test::deploy(test::llama_3_1_70b(), test::h100(), "vllm");
  const std::vector<Remedy> all = remedies(deployment);
  const auto beside = std::find_if(all.begin(), all.end(), [](const Remedy& remedy) {
    return remedy.flag.starts_with("--tensor-parallel-size 2 --");
  });
  ASSERT_NE(beside, all.end());
  EXPECT_TRUE(all.back().flag.starts_with("--tensor-parallel-size"));  // the largest change
  EXPECT_EQ(all.back().flag, "--tensor-parallel-size " + degree_alone(all));
  const std::string context = beside->flag.substr(beside->flag.rfind(' ') + 1);
  ASSERT_NE(beside->flag.find("--max-model-len"), std::string::npos) << beside->flag;
  deployment.parallel.tensor = 2;
  deployment.engine.max_model_len = std::stoll(context);
  EXPECT_TRUE(plan_memory(deployment).fits);
}

TEST(Remedies, TensorParallelismNamedIsTheSmallestThatFits) {
  // 141 GB of weights: no H100 holds them alone, and at full context two are still too few.
  Deployment deployment = test::deploy(test::llama_3_1_70b(), test::h100(), "vllm");
  const std::string degree = degree_alone(remedies(deployment));
  ASSERT_FALSE(degree.empty());
  deployment.parallel.tensor = std::stoi(degree);
  EXPECT_TRUE(plan_memory(deployment).fits);
  deployment.parallel.tensor /= 2;
  EXPECT_FALSE(plan_memory(deployment).fits);
}

TEST(Remedies, EveryOneNamedMakesItFit) {
  // A 32B model in bf16 (61 GiB) on one 80 GB card: little is left for 40960 tokens at 256 KiB.
  const Deployment deployment = test::deploy(test::qwen3_32b(), test::h100(), "vllm");
  ASSERT_FALSE(plan_memory(deployment).fits);
  const std::vector<Remedy> found = remedies(deployment);
  ASSERT_FALSE(found.empty());
  for (const Remedy& remedy : found) {
    const auto space = remedy.flag.find(' ');
    const std::string flag = remedy.flag.substr(0, space);
    const std::string value = remedy.flag.substr(space + 1);
    Deployment changed = deployment;
    if (flag == "--gpu-memory-utilization") {
      changed.engine.gpu_memory_utilization = std::stod(value);
      EXPECT_LE(changed.engine.gpu_memory_utilization, 0.95);
    } else if (flag == "--max-num-seqs") {
      changed.engine.max_num_seqs = std::stoll(value);
    } else if (flag == "--kv-cache-dtype") {
      changed.engine.kv_cache_dtype = *parse_dtype(value);
    } else if (flag == "--max-model-len") {
      changed.engine.max_model_len = std::stoll(value);
    } else if (flag == "--quantization") {
      requantise(changed.model, value);
    } else if (flag == "--tensor-parallel-size") {
      changed.parallel.tensor = std::stoi(value);
    } else {
      FAIL() << "unknown flag " << remedy.flag;
    }
    EXPECT_TRUE(plan_memory(changed).fits) << remedy.flag;
    EXPECT_FALSE(remedy.effect.empty()) << remedy.flag;
  }
}

TEST(Remedies, QuantisedWeightsAreNotQuantisedUpwards) {
  Transformer model = test::llama_3_1_70b();
  requantise(model, "awq");
  const Deployment deployment = test::deploy(model, test::rtx_4090(), "vllm");
  ASSERT_FALSE(plan_memory(deployment).fits);
  EXPECT_EQ(value_of(remedies(deployment), "--quantization"), "");
}

}  // namespace
}  // namespace roofcast
