#include "model/step/latent_kernels.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>

#include "model/engines/engine.hpp"
#include "model/io/gpu_reader.hpp"
#include "model/io/model_reader.hpp"
#include "model/step/step_estimate.hpp"
#include "model/step/step_work.hpp"

namespace roofcast {
namespace {

Deployment deepseek_with(const char* gpu, const char* engine) {
  Deployment d{
      .model = load_model("deepseek-r1"), .gpu = load_gpu(gpu).gpu, .parallel = {.tensor = 8}};
  d.engine = resolve_engine(engine, {}, d.model, d.gpu, d.parallel);
  return d;
}

/// How often a step calls each operator, those of one name added up.
std::map<std::string, std::int64_t> calls_in(const Deployment& d, const StepBatch& batch) {
  std::map<std::string, std::int64_t> calls;
  for (const OperatorEstimate& op : RooflineStepTime(d).explain(batch).operators) {
    calls[op.work.name] += op.work.calls;
  }
  return calls;
}

std::map<std::string, std::int64_t> decode_calls(const char* gpu, const char* engine) {
  const Deployment d = deepseek_with(gpu, engine);
  return calls_in(d, decode_batch(d.model, 8, 1000));
}

constexpr std::int64_t kLatentLayers = 61;

// Of the four products that quantise around latent attention two get their input quantised.
TEST(LatentKernels, SglangOnGfx950NormsAndQuantisesAtOnce) {
  auto fused = decode_calls("mi355x", "sglang-0.5.12");
  auto apart = decode_calls("mi355x", "sglang-0.5.2");
  EXPECT_EQ(fused["latent_norms"], kLatentLayers);
  EXPECT_EQ(apart["latent_norms"], 2 * kLatentLayers);
  EXPECT_EQ(apart["quantise_activations"] - fused["quantise_activations"], 2 * kLatentLayers);
  EXPECT_EQ(fused["rope"], 0);
  EXPECT_EQ(fused["kv_write"], kLatentLayers);
  EXPECT_EQ(apart["rope"], kLatentLayers);
  EXPECT_EQ(fused["latent_copies"], 0);
  EXPECT_EQ(fused["absorbed_weights"], 0);
}

// Before, the output is copied, and two weights are widened and scaled in a decode.
TEST(LatentKernels, SglangBeforeCopiesAndWidens) {
  auto calls = decode_calls("mi355x", "sglang-0.5.2");
  EXPECT_EQ(calls["latent_copies"], kLatentLayers);
  EXPECT_EQ(calls["absorbed_weights"], 4 * kLatentLayers);
  const Deployment d = deepseek_with("mi355x", "sglang-0.5.2");
  auto prompt = calls_in(d, prefill_batch(1, 1000));
  EXPECT_EQ(prompt["latent_copies"], 0);
  EXPECT_EQ(prompt["absorbed_weights"], 0);
}

// On gfx942 queries and keys are rotated in 13 kernels and copied in all versions.
TEST(LatentKernels, SglangOnGfx942RunsPytorchAroundItsDecodes) {
  for (const char* engine : {"sglang-0.5.2", "sglang-0.5.9", "sglang-0.5.12", "sglang"}) {
    auto calls = decode_calls("mi300x", engine);
    EXPECT_EQ(calls["latent_copies"], 3 * kLatentLayers) << engine;
    EXPECT_EQ(calls["absorbed_weights"], 4 * kLatentLayers) << engine;
    EXPECT_EQ(calls["rope"], 13 * kLatentLayers) << engine;
  }
  EXPECT_EQ(decode_calls("mi300x", "sglang-0.5.10")["latent_norms"], 2 * kLatentLayers);
  EXPECT_EQ(decode_calls("mi300x", "sglang-0.5.11")["latent_norms"], kLatentLayers);
}

// SGLang rotates prompts in PyTorch on all of AMD's GPUs; ATOM does nowhere.
TEST(LatentKernels, PromptsOfSglangAreRotatedInPytorch) {
  const auto rotations = [](const char* gpu, const char* engine) {
    return calls_in(deepseek_with(gpu, engine), prefill_batch(1, 1000))["rope"];
  };
  for (const char* gpu : {"mi300x", "mi355x"}) {
    for (const char* engine : {"sglang-0.5.2", "sglang-0.5.12"}) {
      EXPECT_EQ(rotations(gpu, engine), 13 * kLatentLayers) << gpu << " " << engine;
    }
  }
  EXPECT_EQ(rotations("mi355x", "atom-0.1.2"), 0);
  EXPECT_EQ(rotations("h200", "sglang-0.5.12"), kLatentLayers);
}

// A version that states no patch is its newest.
TEST(LatentKernels, OfNoVersionAreTheNewest) {
  EXPECT_EQ(decode_calls("mi355x", "sglang"), decode_calls("mi355x", "sglang-0.5.12"));
  EXPECT_EQ(decode_calls("mi300x", "sglang"), decode_calls("mi300x", "sglang-0.5.12"));
}

// The norms after a decode's all-reduces are part of them; that of the last hidden state is not.
TEST(LatentKernels, AtomNormsWithinItsAllReduces) {
  auto calls = decode_calls("mi355x", "atom-0.1.2");
  EXPECT_EQ(calls["norms"], 1);
  EXPECT_EQ(calls["latent_norms"], kLatentLayers);
  EXPECT_EQ(calls["rope"], 0);
  const Deployment d = deepseek_with("mi355x", "atom-0.1.2");
  EXPECT_EQ(calls_in(d, prefill_batch(1, 1000))["norms"], 2 * kLatentLayers + 1);
  Deployment alone = d;
  alone.parallel.tensor = 1;
  EXPECT_FALSE(norms_within_all_reduce(alone));
}

// In mxfp4 ATOM's norms leave quantising to a kernel of its own.
TEST(LatentKernels, DependOnTheFormat) {
  const Deployment atom = deepseek_with("mi355x", "atom-0.1.2");
  EXPECT_TRUE(latent_kernels(atom, {.name = "fp8_block"}).quantised_query);
  EXPECT_FALSE(latent_kernels(atom, {.name = "mxfp4"}).quantised_query);
  EXPECT_TRUE(latent_kernels(atom, {.name = "bf16"}).joint_norms);
  const Deployment newer = deepseek_with("mi355x", "sglang-0.5.12");
  EXPECT_TRUE(latent_kernels(newer, {.name = "mxfp4"}).quantised_input);
  EXPECT_FALSE(latent_kernels(newer, {.name = "bf16"}).quantised_input);
  EXPECT_EQ(latent_kernels(newer, {.name = "bf16"}).rotations, 0);
  const Deployment sglang = deepseek_with("mi355x", "sglang-0.5.2");
  EXPECT_EQ(latent_kernels(sglang, {.name = "fp8_block"}).widenings, 4);
  EXPECT_EQ(latent_kernels(sglang, {.name = "mxfp4"}).widenings, 0);
}

TEST(LatentKernels, OfOtherVendorsAndEnginesAreOneForEachOperator) {
  for (const auto& [gpu, engine] :
       {std::pair("h200", "sglang-0.5.12"), std::pair("b200", "sglang-0.5.2"),
        std::pair("mi300x", "vllm-0.19")}) {
    auto calls = decode_calls(gpu, engine);
    EXPECT_EQ(calls["latent_copies"], 0) << gpu << " " << engine;
    EXPECT_EQ(calls["absorbed_weights"], 0) << gpu << " " << engine;
  }
  EXPECT_EQ(decode_calls("mi300x", "vllm-0.19")["latent_norms"], 2 * kLatentLayers);
}

// AITER times experts alone: their tokens are sorted and quantised before.
TEST(AiterExperts, AreSortedForAndQuantised) {
  auto aiter = decode_calls("mi300x", "vllm-0.19");
  auto cuda = decode_calls("h200", "sglang-0.5.12");
  constexpr std::int64_t kRoutedLayers = 58;
  EXPECT_EQ(aiter["expert_sorting"], kRoutedLayers);
  EXPECT_EQ(cuda["expert_sorting"], 0);
}

}  // namespace
}  // namespace roofcast
