#include "model/step/step_estimate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "model/architecture/requantise.hpp"
#include "model/engines/host_terms.hpp"
#include "model/io/gpu_reader.hpp"
#include "model/step/deployment_operators.hpp"
#include "tests/model/step/step_time_cases.hpp"
#include "tests/support/shapes.hpp"

namespace roofcast {
namespace {

using test::bare_engine;
using test::deployment_of;
using test::round_gpu;

Gpu built_in(const char* name) { return load_gpu(name).gpu; }

StepBatch mixed_batch(const Transformer& model) {
  StepBatch batch = decode_batch(model, 12, 700);
  batch.prefills = {{.new_tokens = 300, .context_tokens = 0, .emits_token = true},
                    {.new_tokens = 200, .context_tokens = 900, .emits_token = false}};
  return batch;
}

double operator_seconds(const StepEstimate& step, const std::string& name) {
  for (const OperatorEstimate& op : step.operators) {
    if (op.work.name == name) return op.time.value;
  }
  return -1;
}

TEST(StepEstimate, SecondsAreTheTotalOfTheExplanationToTheBit) {
  for (const Transformer& model :
       {test::llama_3_1_8b(), test::mixtral_8x7b(), test::gemma_3_27b(), test::nemotron_3_nano()}) {
    const Deployment deployment = deployment_of(model, built_in("h100"));
    const RooflineStepTime step_time(deployment);
    for (const StepBatch& batch :
         {decode_batch(model, 1, 0), decode_batch(model, 37, 5000), prefill_batch(1, 2048),
          mixed_batch(model), prefill_batch(40, 2000)}) {
      const Seconds first = step_time.seconds(batch);
      EXPECT_EQ(first.value, step_time.explain(batch).total.value);
      EXPECT_EQ(first.value, step_time.seconds(batch).value);  // from the table
      EXPECT_EQ(first.value, RooflineStepTime(deployment).explain(batch).total.value);
    }
  }
}

TEST(StepEstimate, OperatorsSumToTheDevice) {
  const Deployment deployment = deployment_of(test::llama_3_1_8b(), built_in("h100"));
  const StepEstimate step = RooflineStepTime(deployment).explain(mixed_batch(deployment.model));
  Seconds sum;
  for (const OperatorEstimate& op : step.operators) sum += op.time;
  EXPECT_NEAR(sum.value, step.device.value, 1e-12 * step.device.value);
  EXPECT_NEAR((step.device + step.host).value, step.total.value, 1e-15);
}

/// Llama-3.1-8B whose steps verify `verified` drafts, with a head that proposes `proposed`.
StepEstimate drafted(std::int64_t verified, std::int64_t proposed) {
  Deployment deployment = deployment_of(test::llama_3_1_8b(), round_gpu());
  Speculation& speculation = deployment.engine.speculation;
  speculation.method = DraftMethod::eagle;
  speculation.draft_tokens = proposed;
  speculation.timed_head = proposed > 0;
  return RooflineStepTime(deployment)
      .explain(speculative_batch(deployment.model, 4, 1000, verified));
}

// A head's pass reads a layer, the LM head and the product of twice the width: attention 4096 x
// (4096 + 2048 + 4096), FFN 3 x 4096 x 14336, LM head 128256 x 4096, 8192 x 4096: 776,994,816
// weights of 2 bytes at 1 TB/s.
TEST(StepEstimate, AHeadsPassReadsALayerTheLmHeadAndItsProjection) {
  const StepEstimate step = drafted(1, 1);
  double stored = 0;
  double seconds = 0;
  for (const OperatorEstimate& op : step.operators) {
    if (!op.work.name.starts_with("draft.")) continue;
    seconds += op.time.value;
    if (op.work.family == OperatorFamily::gemm) stored += op.work.stored_bytes.value;
  }
  EXPECT_DOUBLE_EQ(stored, 2.0 * 776'994'816);
  EXPECT_GE(seconds, 2.0 * 776'994'816 / 1e12);
  EXPECT_NEAR((step.device - drafted(1, 0).device).value, seconds, 1e-12);
}

// Of k drafts the first pass computes the tokens that were verified, the others one each.
TEST(StepEstimate, EachDraftIsAPassOfTheHead) {
  const auto device = [](std::int64_t verified, std::int64_t proposed) {
    return drafted(verified, proposed).device.value;
  };
  const double later = device(3, 2) - device(3, 1);
  EXPECT_NEAR(device(3, 3) - device(3, 2), later, 1e-12);
  // A step that verifies nothing: its first pass is like a later one.
  EXPECT_NEAR(device(0, 1) - device(0, 0), device(0, 2) - device(0, 1), 1e-12);
  EXPECT_GT(device(3, 1) - device(3, 0), later);  // of four tokens each
}

TEST(StepEstimate, LmHeadOfAnEightBillionModelCostsAMillisecondOnAnRtx4090) {
  // 128,256 x 4,096 bf16 = 1,050,673,152 bytes over 1,008 GB/s = 1.0423 ms. vLLM 0.19 measured
  // 1.097 ms at one sequence (LLMServingSim 5daddb2, RTX4090, per_sequence.csv).
  const Deployment deployment = deployment_of(test::llama_3_1_8b(), built_in("rtx-4090"));
  const StepEstimate step =
      RooflineStepTime(deployment).explain(decode_batch(deployment.model, 1, 100));
  const double seconds = operator_seconds(step, "lm_head");
  EXPECT_GE(seconds, 1.0423e-3);
  EXPECT_LE(seconds, 1.15e-3);
}

TEST(StepEstimate, PrefillIsNeverFasterThanTheFlopsAllow) {
  // 2 * 6.979e9 * p plus causal attention, LM head left out, at 989 TFLOP/s: 30.0 ms for 2,048
  // tokens of Llama-3.1-8B on an H100, 111.7 ms for 7,000.
  const RooflineStepTime step_time(deployment_of(test::llama_3_1_8b(), built_in("h100")));
  EXPECT_GE(step_time.seconds(prefill_batch(1, 2048)).value, 30.0e-3);
  EXPECT_GE(step_time.seconds(prefill_batch(1, 7000)).value, 111.7e-3);
}

/// All kernels of the step under `engine`.
StepEstimate step_under(const Engine& engine, std::int64_t sequences) {
  Deployment deployment = deployment_of(test::llama_3_1_8b(), round_gpu());
  deployment.engine = engine;
  return RooflineStepTime(deployment).explain(decode_batch(deployment.model, sequences, 100));
}

TEST(StepEstimate, AsynchronousSchedulingHidesTheShorterOfHostAndDevice) {
  Engine engine = bare_engine();
  engine.host.step_base = Seconds{1.0};
  engine.host.per_sequence = Seconds{0.01};
  engine.host.output_base = Seconds{0.5};
  engine.host.output_per_sequence = Seconds{0.02};
  engine.host.graph_launch = Seconds{0.001};
  engine.async_scheduling = true;
  // Host: 1.0 + 0.5 + 4 * 0.03 = 1.62 s, far over the device's tens of milliseconds.
  EXPECT_DOUBLE_EQ(step_under(engine, 4).total.value, 1.62);

  engine.async_scheduling = false;
  const StepEstimate serial = step_under(engine, 4);
  EXPECT_DOUBLE_EQ(serial.total.value, serial.device.value + 0.001 + 1.62);

  engine.host = bare_engine().host;
  engine.host.graph_launch = Seconds{0.001};
  engine.async_scheduling = true;
  const StepEstimate hidden = step_under(engine, 4);
  EXPECT_DOUBLE_EQ(hidden.total.value, hidden.device.value + 0.001);
}

// What a decode step of SGLang takes longer without the overlap schedule: one sequence makes 364.3
// instead of 498.5 tokens/s (sgl-project/sglang pull 38131), 16 make 3,053.86 instead of 3,458.31
// (pull 5608).
TEST(StepEstimate, SglangsHostWorkIsWhatItsOverlapHides) {
  const auto slower = [](std::int64_t sequences) {
    Deployment d = deployment_of(test::llama_3_1_8b(), built_in("h100"));
    d.engine = resolve_engine("sglang", {}, d.model, d.gpu, d.parallel);
    const StepBatch batch = decode_batch(d.model, sequences, 1000);
    const Seconds overlapped = RooflineStepTime(d).seconds(batch);
    d.engine.async_scheduling = false;
    return (RooflineStepTime(d).seconds(batch) - overlapped).value;
  };
  EXPECT_NEAR(slower(1), 1 / 364.3 - 1 / 498.5, 0.1e-3);
  EXPECT_NEAR(slower(16), 16 / 3053.86 - 16 / 3458.31, 0.1e-3);
}

TEST(StepEstimate, EagerKernelsWaitForTheirLaunch) {
  Engine engine = bare_engine();
  const StepEstimate captured = step_under(engine, 1);
  engine.cuda_graphs = false;
  const StepEstimate eager = step_under(engine, 1);
  EXPECT_GE(eager.device, captured.device);
  // A small model on a fast GPU: 12 layers of kernels that each take less than their launch.
  Gpu fast = round_gpu();
  fast.memory_bandwidth = BytesPerSecond{1e15};
  fast.floors = {.gemm = Seconds{1e-6},
                 .attention = Seconds{1e-6},
                 .memory_bound = Seconds{1e-6},
                 .all_reduce = Seconds{1e-6}};
  Deployment deployment = deployment_of(test::gpt2_small(), fast);
  deployment.engine.cuda_graphs = false;
  const StepEstimate small =
      RooflineStepTime(deployment).explain(decode_batch(deployment.model, 1, 10));
  std::int64_t calls = 0;
  for (const OperatorEstimate& op : small.operators) calls += op.work.calls;
  EXPECT_NEAR(small.device.value, 5e-6 * static_cast<double>(calls), 1e-12);
}

// A second for each kernel is more than any takes: what is launched one by one shows.
TEST(StepEstimate, GraphsOfDecodesOnlySpareNoPromptItsLaunches) {
  Deployment deployment = deployment_of(test::gpt2_small(), round_gpu());
  Engine& engine = deployment.engine;
  engine.host.kernel_launch = Seconds{1.0};
  const StepBatch prompt = prefill_batch(1, 8);
  const StepBatch decodes = decode_batch(deployment.model, 3, 10);
  EXPECT_LT(RooflineStepTime(deployment).explain(prompt).device.value, 1.0);
  engine.eager_prefill = true;
  EXPECT_GT(RooflineStepTime(deployment).explain(prompt).device.value, 1.0);
  EXPECT_LT(RooflineStepTime(deployment).explain(decodes).device.value, 1.0);
  engine.graph_batch_sizes.clear();
  EXPECT_GT(RooflineStepTime(deployment).explain(decodes).device.value, 1.0);
  engine.exact_graphs = true;
  EXPECT_LT(RooflineStepTime(deployment).explain(decodes).device.value, 1.0);
}

TEST(StepEstimate, ABatchWithoutAGraphOfItsSizeIsLaunchedKernelByKernel) {
  // TensorRT-LLM without padding: 3 sequences have no graph of 3, though one of 4.
  Deployment deployment = deployment_of(test::gpt2_small(), round_gpu());
  Engine& engine = deployment.engine;
  engine.host.kernel_launch = Seconds{1.0};
  engine.graph_batch_sizes = {1, 2, 4};
  const auto device = [&](std::int64_t sequences) {
    return RooflineStepTime(deployment)
        .explain(decode_batch(deployment.model, sequences, 10))
        .device.value;
  };
  EXPECT_LT(device(3), 1.0);
  engine.graph_padding = false;
  EXPECT_LT(device(4), 1.0);
  EXPECT_GT(device(3), 1.0);
  EXPECT_GT(device(5), 1.0);
}

// An operator takes PyTorch a second here, and a captured or compiled one no time.
TEST(StepEstimate, PromptsThatNothingCapturesWaitForPyTorch) {
  Deployment deployment = deployment_of(test::gpt2_small(), round_gpu());
  Engine& engine = deployment.engine;
  engine.host.prompt_launch = Seconds{1.0};
  engine.host.kernel_launch = Seconds{};
  engine.graph_batch_sizes = {1, 2, 4};
  engine.eager_prefill = true;
  const StepBatch prompt = prefill_batch(1, 10);
  const StepBatch decodes = decode_batch(deployment.model, 2, 10);
  const auto device = [&](SchedulerKind scheduler, const char* version, const StepBatch& batch) {
    engine.scheduler = scheduler;
    engine.version = version;
    return RooflineStepTime(deployment).explain(batch).device.value;
  };
  EXPECT_GT(device(SchedulerKind::sglang, "sglang-0.5.9", prompt), 1.0);
  EXPECT_LT(device(SchedulerKind::sglang, "sglang-0.5.9", decodes), 1.0);
  EXPECT_LT(device(SchedulerKind::sglang, "sglang-0.5.10", prompt), 1.0);
  EXPECT_LT(device(SchedulerKind::sglang, "sglang", prompt), 1.0);
  EXPECT_GT(device(SchedulerKind::tensorrt_llm, "trtllm-1.0", prompt), 1.0);
  EXPECT_LT(device(SchedulerKind::tensorrt_llm, "trtllm-1.0", decodes), 1.0);
  deployment.gpu.vendor = "AMD";  // where SGLang captures no prompts
  EXPECT_GT(device(SchedulerKind::sglang, "sglang-0.5.10", prompt), 1.0);
}

// One prompt and four decodes: 2 + 1 + 5 * (0.5 + 0.25) s of preparing come before the launches in
// the same thread, while the GPU runs the step before.
TEST(StepEstimate, TensorrtPreparesAStepBeforeItLaunchesItsPrompt) {
  Deployment deployment = deployment_of(test::gpt2_small(), round_gpu());
  Engine& engine = deployment.engine;
  engine.scheduler = SchedulerKind::tensorrt_llm;
  engine.version = "trtllm-1.0";
  engine.eager_prefill = true;
  engine.async_scheduling = true;
  engine.host = bare_engine().host;
  engine.host.prompt_launch = Seconds{1.0};
  StepBatch batch = decode_batch(deployment.model, 4, 10);
  batch.prefills = {{.new_tokens = 10, .context_tokens = 0, .emits_token = true}};
  const auto step = [&] { return RooflineStepTime(deployment).explain(batch); };
  const double launches = step().device.value;
  EXPECT_GT(launches, 100);
  engine.host.step_base = Seconds{2.0};
  engine.host.output_base = Seconds{1.0};
  engine.host.per_sequence = Seconds{0.5};
  engine.host.output_per_sequence = Seconds{0.25};
  EXPECT_DOUBLE_EQ(step().total.value, launches + 6.75);
  engine.async_scheduling = false;  // once, not twice
  EXPECT_DOUBLE_EQ(step().total.value, launches + 6.75);
  engine.sampling = SamplingKind::penalty;  // 22 ns for each of 4 * 11 tokens
  EXPECT_NEAR(step().total.value, launches + 6.75, 1e-5);
  engine.async_scheduling = true;
  EXPECT_NEAR(step().total.value, launches + 6.75, 1e-5);
  engine.sampling = SamplingKind::plain;
  engine.scheduler = SchedulerKind::sglang;
  engine.version = "sglang-0.5.9";
  EXPECT_DOUBLE_EQ(step().total.value, launches);
}

// Each stage launches its own kernels, but a step is prepared once.
TEST(StepEstimate, TensorrtPreparesAStepOnceForAllStages) {
  Deployment deployment = deployment_of(test::gpt2_small(), round_gpu(), {.pipeline = 3});
  Engine& engine = deployment.engine;
  engine.scheduler = SchedulerKind::tensorrt_llm;
  engine.version = "trtllm-1.0";
  engine.eager_prefill = true;
  engine.async_scheduling = true;
  engine.host.prompt_launch = Seconds{1.0};
  const StepBatch batch = prefill_batch(1, 10);
  const double launches = RooflineStepTime(deployment).seconds(batch).value;
  EXPECT_GT(launches, 100);
  engine.host.per_sequence = Seconds{2.0};
  EXPECT_DOUBLE_EQ(RooflineStepTime(deployment).seconds(batch).value, launches + 2);
}

/// TensorRT-LLM with steps of these sizes in tokens captured in pieces; a launch takes a second.
Deployment captured_in_pieces(const Transformer& model, std::vector<std::int64_t> sizes) {
  Deployment deployment = deployment_of(model, round_gpu());
  Engine& engine = deployment.engine;
  engine.scheduler = SchedulerKind::tensorrt_llm;
  engine.version = "trtllm-1.2";
  engine.eager_prefill = true;
  engine.host = bare_engine().host;
  engine.host.prompt_launch = Seconds{1.0};
  engine.prompt_graph_sizes = std::move(sizes);
  return deployment;
}

// GPT-2's twelve layers: PyTorch launches the cache write and the attention of each, for decodes
// once more, and replays the 13 pieces around them; a second each.
TEST(StepEstimate, TensorrtCapturesPromptsBetweenTheirAttention) {
  const Deployment deployment = captured_in_pieces(test::gpt2_small(), {8, 16});
  const auto device = [&](const StepBatch& batch) {
    return RooflineStepTime(deployment).explain(batch).device.value;
  };
  EXPECT_DOUBLE_EQ(device(prefill_batch(1, 10)), 12 * 2 + 13);
  EXPECT_DOUBLE_EQ(device(prefill_batch(1, 16)), 12 * 2 + 13);
  EXPECT_GT(device(prefill_batch(1, 17)), 100);
  StepBatch mixed = decode_batch(deployment.model, 4, 10);
  mixed.prefills = {{.new_tokens = 10, .context_tokens = 0, .emits_token = true}};
  EXPECT_DOUBLE_EQ(device(mixed), 12 * 3 + 13);
}

// A latent layer's attention is one operator with its projections of latents: of 61 layers the
// three projections, two norms, rotation, cache write and attention.
TEST(StepEstimate, TensorrtLaunchesLatentAttentionWhole) {
  const Deployment deployment = captured_in_pieces(test::deepseek_v3(), {16});
  const StepEstimate step = RooflineStepTime(deployment).explain(prefill_batch(1, 10));
  EXPECT_DOUBLE_EQ(step.device.value, 61 * 8 + 62);
}

// Without padding a decode that has no graph of its size runs as prompts do.
TEST(StepEstimate, TensorrtRunsDecodesWithoutAGraphOperatorByOperator) {
  Deployment deployment = deployment_of(test::gpt2_small(), round_gpu());
  Engine& engine = deployment.engine;
  engine.scheduler = SchedulerKind::tensorrt_llm;
  engine.version = "trtllm-1.0";
  engine.graph_batch_sizes = {1, 2, 4};
  engine.graph_padding = false;
  engine.host.kernel_launch = Seconds{};
  engine.host.eager_launch = Seconds{1.0};
  const auto device = [&](std::int64_t sequences) {
    return RooflineStepTime(deployment)
        .explain(decode_batch(deployment.model, sequences, 10))
        .device.value;
  };
  EXPECT_LT(device(3), 1.0);  // compiled engines
  engine.eager_prefill = true;
  EXPECT_GT(device(3), 100.0);
  EXPECT_LT(device(4), 1.0);
}

// What an engine does depends on its version, not on what a profile of its host terms is called.
TEST(StepEstimate, AProfileOfAnotherNameRunsTheSameKernels) {
  for (const char* preset : {"trtllm-1.2", "sglang-0.5.9", "vllm-0.19"}) {
    for (const char* format : {"fp8", "nvfp4"}) {
      Deployment d = deployment_of(test::deepseek_v3(), built_in("b200"));
      requantise(d.model, format);
      d.parallel = {.data = 8, .expert_parallel = true};
      d.engine = resolve_engine(preset, {.kv_cache_dtype = DType::fp8}, d.model, d.gpu, d.parallel);
      const StepBatch batches[] = {decode_batch(d.model, 8, 1000), prefill_batch(1, 1000)};
      const RooflineStepTime own(d);
      Deployment named = d;
      named.engine = with_profile(d.engine, {.name = "ours", .preset = preset}, {});
      const RooflineStepTime profiled(named);
      for (const StepBatch& batch : batches) {
        EXPECT_DOUBLE_EQ(profiled.seconds(batch).value, own.seconds(batch).value)
            << preset << " " << format;
      }
    }
  }
}

// Four sequences of four tokens each: SGLang's graph of four holds them, and vLLM's of four tokens
// does not.
TEST(StepEstimate, GraphsOfSequencesHoldTheirDrafts) {
  Deployment deployment = deployment_of(test::gpt2_small(), round_gpu());
  Engine& engine = deployment.engine;
  engine.host.kernel_launch = Seconds{1.0};
  engine.graph_batch_sizes = {1, 2, 4};
  const auto device = [&](SchedulerKind scheduler) {
    engine.scheduler = scheduler;
    const StepBatch batch = speculative_batch(deployment.model, 4, 10, 3);
    return RooflineStepTime(deployment).explain(batch).device.value;
  };
  EXPECT_LT(device(SchedulerKind::sglang), 1.0);
  EXPECT_LT(device(SchedulerKind::tensorrt_llm), 1.0);
  EXPECT_GT(device(SchedulerKind::vllm_v1), 1.0);
}

// vLLM on an H100, one sequence of Llama-3.1-8B: 10 operators in each of 32 layers, embedding, last
// norm, LM head and five of sampling: 328, at 25 us each 8.2 ms, where the weights alone take 4.8.
TEST(StepEstimate, EagerModeWaitsForPyTorch) {
  const Transformer model = test::llama_3_1_8b();
  const auto step = [&](const EngineOverrides& knobs) {
    Deployment deployment{.model = model, .gpu = built_in("h100")};
    deployment.engine = resolve_engine("vllm", knobs, model, deployment.gpu, {});
    return RooflineStepTime(deployment).explain(decode_batch(model, 1, 128)).device.value;
  };
  EXPECT_LT(step({}), 6.5e-3);
  EXPECT_NEAR(step({.enforce_eager = true}), 328 * 25e-6, 1e-9);
}

TEST(StepEstimate, MoreTokensNeverTakeLessTime) {
  // Efficiencies that jump: from 0.1 to 0.9 over one doubling, and back.
  Gpu gpu = round_gpu();
  gpu.l2_cache = Bytes{30e6};
  const Curve jumpy{
      .points = {{1, 0.1}, {2, 0.9}, {48, 0.2}, {64, 0.95}, {300, 0.3}, {333, 0.9}, {1500, 1.0}},
      .source = ""};
  gpu.efficiencies.gemm["bf16"] = jumpy;
  gpu.efficiencies.moe["bf16"] = jumpy;
  gpu.efficiencies.prefill_attention = jumpy;
  for (const Transformer& model : {test::llama_3_2_1b(), test::qwen3_30b_a3b()}) {
    const RooflineStepTime step_time(deployment_of(model, gpu));
    Seconds last;
    for (std::int64_t tokens = 1; tokens <= 2500; ++tokens) {
      const Seconds now = step_time.seconds(prefill_batch(1, tokens));
      ASSERT_GE(now.value, last.value * (1 - 1e-12)) << model.name << " at " << tokens;
      last = now;
    }
  }
}

TEST(StepEstimate, MoreSequencesOrContextNeverTakeLessTime) {
  for (const char* name : {"h100", "a100", "rtx-4090", "l4"}) {
    const Transformer model = test::llama_3_1_8b();
    const RooflineStepTime step_time(deployment_of(model, built_in(name)));
    Seconds last;
    for (std::int64_t sequences = 1; sequences <= 600; ++sequences) {
      const Seconds now = step_time.seconds(decode_batch(model, sequences, 1000));
      ASSERT_GE(now, last) << name << " at " << sequences << " sequences";
      last = now;
    }
    last = {};
    for (std::int64_t context = 0; context < 100000; context += 97) {
      const Seconds now = step_time.seconds(decode_batch(model, 8, context));
      ASSERT_GE(now, last) << name << " at " << context << " tokens";
      last = now;
    }
  }
}

TEST(StepEstimate, MoreBandwidthIsNeverSlower) {
  for (const Transformer& model : {test::llama_3_1_8b(), test::deepseek_v3()}) {
    for (const StepBatch& batch :
         {decode_batch(model, 1, 500), decode_batch(model, 200, 3000), prefill_batch(2, 3000)}) {
      Seconds last{1e9};
      for (int i = 0; i < 18; ++i) {
        const double bandwidth = 0.2e12 * std::pow(1.3, i);  // up to 17e12
        Gpu gpu = round_gpu();
        gpu.memory_bandwidth = BytesPerSecond{bandwidth};
        const Seconds now = RooflineStepTime(deployment_of(model, gpu)).seconds(batch);
        EXPECT_LE(now, last) << model.name << " at " << bandwidth;
        last = now;
      }
    }
  }
}

TEST(StepEstimate, TensorParallelismShortensALargeStep) {
  const Transformer model = test::llama_3_1_70b();
  const StepBatch batch = decode_batch(model, 32, 2000);
  Seconds last{1e9};
  for (const int tensor : {1, 2, 4, 8}) {
    const RooflineStepTime step_time(deployment_of(model, built_in("h100"), {.tensor = tensor}));
    EXPECT_LT(step_time.seconds(batch), last) << tensor;
    last = step_time.seconds(batch);
  }
}

TEST(StepEstimate, UncertaintyAddsWithinAFamilyAndCombinesAcrossThem) {
  const Deployment deployment = deployment_of(test::llama_3_1_8b(), built_in("h100"));
  const StepEstimate step =
      RooflineStepTime(deployment).explain(decode_batch(deployment.model, 64, 2000));
  std::vector<double> families(kOperatorFamilies, 0.0);
  double linear = 0;
  for (const OperatorEstimate& op : step.operators) {
    const double deviation = op.time.value * op.relative_uncertainty;
    families[static_cast<std::size_t>(op.work.family)] += deviation;
    linear += deviation;
  }
  const double largest = *std::max_element(families.begin(), families.end());
  const double total = step.relative_uncertainty * step.total.value;
  EXPECT_GE(total, largest * (1 - 1e-9));
  EXPECT_LT(total, linear);
}

// 80 layers on 4 stages: 20 each, so the middle stages are equal, and the last, which has the LM
// head, takes longest.
TEST(StepEstimate, AStepIsDividedAmongTheStagesThatItPasses) {
  const Deployment d = deployment_of(test::llama_3_1_70b(), round_gpu(), {.pipeline = 4});
  const RooflineStepTime times(d);
  EXPECT_EQ(times.stages(), 4);
  for (const StepBatch& batch : {decode_batch(d.model, 16, 500), prefill_batch(2, 300)}) {
    StagedTime time;
    times.divide(batch, time);
    ASSERT_EQ(time.stages.size(), 4U);
    Seconds sum = time.before;
    for (const Seconds stage : time.stages) sum += stage;
    EXPECT_NEAR(sum.value, times.seconds(batch).value, 1e-12);
    EXPECT_GE(time.before.value, 0.0);
    EXPECT_EQ(time.stages[1], time.stages[2]);
    EXPECT_GT(time.stages[3], time.stages[2]);
    EXPECT_NEAR(time.stages[0] / time.stages[1], 1.0, 0.05);  // the embedding beside 20 layers
  }
}

// Every stage's host prepares all 16 sequences: 1 ms, 16 times 0.1 ms and 48 times 0.05 ms for the
// others, and launches the graph in 0.2 ms. Idle stages take the first of these and their kernels.
TEST(StepEstimate, StagesMayHaveHostsOfTheirOwn) {
  Deployment d = deployment_of(test::llama_3_1_70b(), round_gpu(), {.pipeline = 4});
  d.engine.host = {.step_base = Seconds{1e-3},
                   .per_sequence = Seconds{1e-4},
                   .output_base = {},
                   .output_per_sequence = {},
                   .graph_launch = Seconds{2e-4},
                   .per_other_request = Seconds{5e-5}};
  StepBatch batch = decode_batch(d.model, 16, 500);
  batch.other_requests = 48;
  StagedTime shared;
  RooflineStepTime(d).divide(batch, shared);
  EXPECT_TRUE(shared.hosts.empty());
  for (const StageHosts hosts : {StageHosts::ahead, StageHosts::waiting}) {
    d.engine.stage_hosts = hosts;
    const RooflineStepTime times(d);
    StagedTime time;
    times.divide(batch, time);
    ASSERT_EQ(time.hosts.size(), 4U);
    EXPECT_EQ(time.hosts_wait, hosts == StageHosts::waiting);
    EXPECT_EQ(time.before, Seconds{});
    EXPECT_EQ(time.stages, shared.stages);
    Seconds kernels;
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_DOUBLE_EQ(time.hosts[i].prepares.value, 5.2e-3);
      EXPECT_EQ(time.hosts[i].launches, Seconds{});  // in a graph
      kernels += time.stages[i];
    }
    EXPECT_NEAR(times.seconds(batch).value, kernels.value + 5.2e-3, 1e-12);
    EXPECT_NEAR(times.explain(batch).host.value, 5.2e-3, 1e-12);
  }
}

// Without graphs each stage's host launches its own kernels, at the same time as the others'.
TEST(StepEstimate, HostsOfStagesLaunchAtTheSameTime) {
  Deployment d = deployment_of(test::llama_3_1_70b(), round_gpu(), {.pipeline = 4});
  d.engine.eager = true;
  d.engine.cuda_graphs = false;
  d.engine.stage_hosts = StageHosts::ahead;
  d.engine.host.eager_launch = Seconds{1.0};
  const RooflineStepTime times(d);
  const StepBatch batch = decode_batch(d.model, 1, 100);
  StagedTime time;
  times.divide(batch, time);
  // Stages 2 and 3 have the same layers; all four have 20, so the others a few launches more.
  EXPECT_EQ(time.hosts[1].launches, time.hosts[2].launches);
  EXPECT_GT(time.hosts[1].launches, Seconds{100.0});
  const Seconds longest = std::max(time.hosts[0].launches, time.hosts[3].launches);
  EXPECT_GE(times.seconds(batch), longest);
  EXPECT_LT(times.seconds(batch), longest * 1.1);
}

TEST(StagedTime, AnIdlePipelineTakesItsPathAndABusyOneItsLongestPeriod) {
  StagedTime time{.before = Seconds{1}, .stages = {Seconds{2}, Seconds{3}}};
  EXPECT_EQ(time.path(), Seconds{6});
  EXPECT_EQ(time.period(1), Seconds{3});
  // The second host is ready at 4 + 1 = 5: stage 1 ends at 4 + 2 = 6, stage 2 at 9.
  time = {.stages = {Seconds{2}, Seconds{3}},
          .hosts = {{.prepares = Seconds{4}, .launches = Seconds{1}},
                    {.prepares = Seconds{4}, .launches = Seconds{1}}}};
  EXPECT_EQ(time.path(), Seconds{9});
  EXPECT_EQ(time.period(0), Seconds{5});  // its host
  EXPECT_EQ(time.period(1), Seconds{5});
  time.hosts_wait = true;
  EXPECT_EQ(time.period(0), Seconds{6});  // 4 to prepare, then 2
  EXPECT_EQ(time.period(1), Seconds{5});  // the last one's does not wait
  time.scale(2);
  EXPECT_EQ(time.path(), Seconds{18});
  EXPECT_EQ(time.period(0), Seconds{12});
}

// The operators of all stages are those of the whole model.
TEST(StepEstimate, StagesTogetherDoTheWorkOfTheModel) {
  const Deployment d =
      deployment_of(test::llama_3_1_70b(), round_gpu(), {.tensor = 2, .pipeline = 3});
  const auto calls_of = [](const StepOperators& operators) {
    std::int64_t calls = 0;
    for (const auto& op : operators.per_token) calls += op.work.calls;
    for (const auto& op : operators.per_row) calls += op.work.calls;
    for (const auto& op : operators.attention) calls += op.decode.calls;
    return calls;
  };
  std::int64_t calls = 0;
  for (int stage = 0; stage < 3; ++stage) calls += calls_of(stage_operators(d, stage));
  EXPECT_EQ(calls, calls_of(step_operators(d)));
}

TEST(StepEstimate, AnEmptyStepTakesNoDeviceTime) {
  const Deployment deployment = deployment_of(test::llama_3_1_8b(), round_gpu());
  EXPECT_EQ(RooflineStepTime(deployment).explain(decode_batch(deployment.model, 0, 10)).device,
            Seconds{});
}

}  // namespace
}  // namespace roofcast
