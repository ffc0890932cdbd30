// Known counts of the kernels that PyTorch launches beyond one for each operator.
#include "model/step/eager_launches.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "model/architecture/requantise.hpp"
#include "model/engines/captured_prompts.hpp"
#include "model/io/gpu_reader.hpp"
#include "model/io/model_reader.hpp"
#include "model/step/deployment_operators.hpp"
#include "model/step/step_estimate.hpp"
#include "tests/model/deployments.hpp"
#include "tests/model/step/step_time_cases.hpp"
#include "tests/support/shapes.hpp"

namespace roofcast {
namespace {

using test::deployment_of;
using test::round_gpu;

std::int64_t more_launches(const Deployment& deployment) {
  return step_operators(deployment).more_launches;
}

// Choice 1, sorting 2, products 2, activation 1, sum 1; and two quantised inputs in 8 bits.
TEST(EagerLaunches, ExpertsAreSevenKernelsAndNineInEightBits) {
  Engine engine;
  engine.scheduler = SchedulerKind::sglang;
  EXPECT_EQ(expert_launches(plain_format(DType::bf16), engine), 7);
  EXPECT_EQ(expert_launches(plain_format(DType::fp8), engine), 9);
}

// Only TensorRT-LLM asks its tuner in Python at each call.
TEST(EagerLaunches, TensorrtsExpertsTakeLookupsMore) {
  Engine engine;
  const std::int64_t launched = expert_launches(plain_format(DType::fp8), engine);
  engine.scheduler = SchedulerKind::tensorrt_llm;
  EXPECT_EQ(expert_launches(plain_format(DType::fp8), engine), launched + 7);
  engine.exact_graphs = true;  // compiled engines ask nothing
  EXPECT_EQ(expert_launches(plain_format(DType::fp8), engine), launched);
}

// Operators: qkv, o, gate and up, down, two norms, rope, cache write, attention, activation. All of
// them are one kernel each, and what quantises the inputs of 8-bit products is an operator.
TEST(EagerLaunches, DenseLayersLaunchOneKernelForEachOperator) {
  Deployment d = deployment_of(test::llama_3_1_8b(), round_gpu());
  EXPECT_EQ(more_launches(d), 0);
  d.gpu.dense_peak[DType::fp8] = FlopsPerSecond{200e12};
  requantise(d.model, "fp8");
  EXPECT_EQ(more_launches(d), 0);
}

// Mixtral's 32 layers: the two calls of the experts and top_k stand for 3 of 7.
TEST(EagerLaunches, RoutedExpertsLaunchFourMoreThanTheirCalls) {
  EXPECT_EQ(more_launches(deployment_of(test::mixtral_8x7b(), round_gpu())), 32 * 4);
}

// DeepSeek-V3 in fp8 has 61 latent layers, 2 more each, of which 58 have experts, 9 - 3 more each.
// A shared expert by itself is added to their sum, 1 more. As SGLang's 257th routed expert it
// launches nothing: its two products with their quantised inputs and its activation are 5 fewer.
TEST(EagerLaunches, SharedExpertsLaunchNothingWhereTheyAreRouted) {
  Deployment d = deployment_of(load_model("deepseek-v3"), round_gpu(), {.tensor = 8});
  EXPECT_EQ(more_launches(d), 61 * 2 + 58 * (6 + 1));
  EXPECT_EQ(step_operators(d).prompt_launches, 61 * 2);  // decodes copy nothing
  d.gpu.vendor = "NVIDIA";
  d.gpu.compute_capability = "9.0";
  d.engine.version = "sglang";
  EXPECT_EQ(more_launches(d), 61 * 2 + 58 * (6 - 5));
}

// Qwen3-Next's 36 gated delta nets: 17 kernels of a prompt's scan where one is counted. Each of 48
// layers has routed experts, 4 more than their calls and the choice, and the sum with the shared
// one.
TEST(EagerLaunches, ScansOfPromptsAreManyKernels) {
  const Deployment d = deployment_of(test::qwen3_next_80b(), round_gpu());
  EXPECT_EQ(step_operators(d).prompt_launches, 36 * 16);
  EXPECT_EQ(more_launches(d), 36 * 16 + 48 * (4 + 1));
  const Deployment mamba = deployment_of(test::nemotron_h_56b(), round_gpu());
  EXPECT_EQ(step_operators(mamba).prompt_launches, 54 * 4);
}

// What quantises an input is a kernel whether its time stands by itself or in its product's table.
TEST(EagerLaunches, TablesDoNotChangeHowManyThereAre) {
  const auto launches_of = [](const Deployment& deployment) {
    const StepOperators operators = step_operators(deployment);
    std::int64_t launches = operators.more_launches;
    for (const LinearOperator& op : operators.per_token) launches += op.work.calls;
    return launches;
  };
  Deployment d = deployment_of(test::llama_3_1_8b(), load_gpu("h200").gpu);
  requantise(d.model, "fp8");
  d.engine.version = "sglang-0.5.9";
  EXPECT_EQ(more_launches(d), 32 * 4);  // the inputs of four products of each layer
  const std::int64_t with_tables = launches_of(d);
  d.gpu.tables = nullptr;
  EXPECT_EQ(more_launches(d), 0);
  EXPECT_EQ(launches_of(d), with_tables);
}

/// Mixtral in SGLang, where PyTorch takes a second to launch an operator of a prompt.
Deployment slowly_launched() {
  Deployment d = deployment_of(test::mixtral_8x7b(), round_gpu());
  d.engine.scheduler = SchedulerKind::sglang;
  d.engine.eager_prefill = true;
  d.engine.host.prompt_launch = Seconds{1.0};
  d.engine.host.kernel_launch = Seconds{};
  return d;
}

StepEstimate explain_prompt(const Deployment& deployment) {
  return RooflineStepTime(deployment)
      .explain({.prefills = {{.new_tokens = 10, .context_tokens = 0, .emits_token = true}}});
}

// A prompt takes as many seconds as it has calls, and 128 for the further kernels of its experts.
TEST(EagerLaunches, PromptsThatNothingCapturesWaitForEachLaunch) {
  Deployment d = slowly_launched();
  d.engine.version = "sglang-0.5.9";
  const StepEstimate prompt = explain_prompt(d);
  std::int64_t calls = 0;
  for (const OperatorEstimate& op : prompt.operators) calls += op.work.calls;
  EXPECT_DOUBLE_EQ(prompt.device.value, static_cast<double>(calls + 128));
}

// On a CPU no launch is waited for.
TEST(EagerLaunches, PromptsOnACpuWaitForNoLaunch) {
  Deployment d = slowly_launched();
  d.engine.cuda_graphs = false;
  EXPECT_GT(explain_prompt(d).device.value, 100);
  d.gpu.compute_capability = "avx2";
  EXPECT_LT(explain_prompt(d).device.value, 1);
}

// The rules that SGLang prints when it leaves prompts uncaptured.
TEST(EagerLaunches, SglangCapturesNoPromptsOnAmd) {
  const Engine engine;
  Gpu gpu = test::h100();
  EXPECT_TRUE(captures_prompts(engine, test::llama_3_1_8b(), gpu, {}));
  EXPECT_TRUE(captures_prompts(engine, test::deepseek_v3(), gpu, {.tensor = 8}));
  EXPECT_FALSE(captures_prompts(engine, test::llama_3_1_8b(), gpu, {.pipeline = 2}));
  gpu.compute_capability = "10.0";
  EXPECT_TRUE(captures_prompts(engine, test::llama_3_1_8b(), gpu, {}));
  EXPECT_FALSE(captures_prompts(engine, test::deepseek_v3(), gpu, {.tensor = 8}));
  EXPECT_FALSE(captures_prompts(engine, load_model("deepseek-v4-flash"), gpu, {}));
  Transformer seeing = test::llama_3_1_8b();
  seeing.has_vision = true;
  EXPECT_FALSE(captures_prompts(engine, seeing, gpu, {}));
  seeing.architecture = "Qwen3_5MoeForConditionalGeneration";
  EXPECT_TRUE(captures_prompts(engine, seeing, gpu, {}));
  gpu.vendor = "AMD";
  EXPECT_FALSE(captures_prompts(engine, test::llama_3_1_8b(), gpu, {}));
}

}  // namespace
}  // namespace roofcast
