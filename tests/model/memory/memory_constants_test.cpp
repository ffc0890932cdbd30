// The constants of vLLM's memory rule (model/engines/vllm.cpp) must equal a fit on the
// start-up logs, to the digits written there.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "model/memory/memory_plan.hpp"
#include "tests/model/deployments.hpp"
#include "tests/model/memory/memory_fit.hpp"
#include "tests/model/memory/start_up_rows.hpp"
#include "tests/support/shapes.hpp"
#include "tests/support/shared_data.hpp"

namespace roofcast {
namespace {

using test::StartUpRow;

MemoryConstants constants_of(const std::string& preset) {
  return resolve_engine(preset, {}, test::llama_3_1_8b(), test::h100(), {}).memory;
}

/// Whether a log is of the preset, or of another preset with the same constants.
bool has_constants_of(const std::string& preset, const Deployment& deployment) {
  const MemoryConstants& own = deployment.engine.memory;
  return deployment.engine.memory_rule == MemoryRule::vllm &&
         own.source == constants_of(preset).source;
}

std::optional<Bytes> from_gib(const std::optional<double>& gib) {
  if (!gib) return std::nullopt;
  return Bytes{*gib * kGiB};
}

std::int64_t stage_layers(const Deployment& deployment) {
  const auto layers = static_cast<std::int64_t>(deployment.model.layers.size());
  return (layers + deployment.parallel.pipeline - 1) / deployment.parallel.pipeline;
}

/// Logs of one preset. Left out of the activation fit: pipelines, because they print only their
/// first rank, which does not sample, and hybrid models, which profile more than this rule covers.
std::vector<StartUpLog> logs_of(const std::string& preset) {
  std::vector<StartUpLog> logs;
  for (const StartUpRow& row : test::read_start_up_rows()) {
    if (!row.left_out.empty() || !has_constants_of(preset, *row.deployment)) continue;
    const Deployment& deployment = *row.deployment;
    StartUpLog log;
    log.shape = activation_shape(deployment.model, deployment.engine, deployment.parallel);
    log.several_gpus = deployment.parallel.tensor > 1;
    log.stage_layers = stage_layers(deployment);
    if (row.pipeline == 1) log.non_torch = from_gib(row.non_torch_gib);
    if (row.pipeline == 1 && !row.hybrid) log.activation = from_gib(row.activation_gib);
    log.graphs = from_gib(row.graphs_gib);
    // requested - (weights + non-torch) - activation = KV to the last digit in logs of this preset:
    // the activation they print includes the graphs' estimate.
    if (deployment.engine.memory.subtracts_graphs && log.activation && log.graphs) {
      *log.activation -= *log.graphs;
    }
    logs.push_back(log);
  }
  return logs;
}

/// Half a unit of the last written digit.
constexpr double kTenth = 0.05;
constexpr double kHundredth = 0.005;
constexpr double kThousandth = 0.0005;
constexpr double kTenThousandth = 0.00005;

double gib(Bytes bytes) { return bytes.value / kGiB; }

TEST(MemoryConstants, SamplerPassIsWhatTheLogsGive) {
  SKIP_WITHOUT_SHARED_DATA("measured/kv_capacity.json");
  for (const std::string preset : {"vllm-0.11", "vllm-0.19", "vllm-0.29"}) {
    const MemoryConstants constants = constants_of(preset);
    const auto fitted = fit_logits_bytes(logs_of(preset), constants);
    ASSERT_TRUE(fitted) << preset;
    std::printf("%s: %.3f bytes per logit\n", preset.c_str(), *fitted);
    EXPECT_NEAR(*fitted, constants.logits_bytes, kTenth) << preset;
  }
}

TEST(MemoryConstants, CompileScratchIsWhatTheLogsGive) {
  SKIP_WITHOUT_SHARED_DATA("measured/kv_capacity.json");
  const MemoryConstants constants = constants_of("vllm-0.19");
  const auto fitted = fit_compile_peak(logs_of("vllm-0.19"), constants);
  ASSERT_TRUE(fitted);
  std::printf("compile peak %.4f GiB\n", gib(*fitted));
  EXPECT_NEAR(gib(*fitted), gib(constants.compile_peak), kThousandth);
}

TEST(MemoryConstants, NonTorchMemoryIsWhatTheLogsGive) {
  SKIP_WITHOUT_SHARED_DATA("measured/kv_capacity.json");
  for (const std::string preset : {"vllm-0.11", "vllm-0.19", "vllm-0.29"}) {
    const auto single = fit_non_torch(logs_of(preset), false);
    ASSERT_TRUE(single) << preset;
    EXPECT_NEAR(gib(*single), gib(constants_of(preset).non_torch_single), kThousandth) << preset;
  }
  // For the other presets the logs hold only one start on several GPUs: theirs are stated.
  const auto several = fit_non_torch(logs_of("vllm-0.19"), true);
  ASSERT_TRUE(several);
  EXPECT_NEAR(gib(*several), gib(constants_of("vllm-0.19").non_torch_multi), kThousandth);
}

TEST(MemoryConstants, GraphsAreWhatTheLogsGive) {
  SKIP_WITHOUT_SHARED_DATA("measured/kv_capacity.json");
  const MemoryConstants middle = constants_of("vllm-0.19");
  const GraphFit fitted = fit_graphs(logs_of("vllm-0.19"));
  EXPECT_NEAR(gib(fitted.base), gib(middle.graphs_base), kHundredth);
  EXPECT_NEAR(gib(fitted.per_layer), gib(middle.graphs_per_layer), kTenThousandth);
  // 0.29: one dense model, hence a part per layer only.
  Bytes graphs;
  std::int64_t layers = 0;
  for (const StartUpLog& log : logs_of("vllm-0.29")) {
    if (!log.graphs || log.shape.expert_workspace.value > 0) continue;
    graphs += *log.graphs;
    layers += log.stage_layers;
  }
  ASSERT_GT(layers, 0);
  EXPECT_NEAR(gib(graphs / static_cast<double>(layers)),
              gib(constants_of("vllm-0.29").graphs_per_layer), kTenThousandth);
}

/// Two starts of the V0 engine, which ran the whole of max_model_len in one forward pass (its
/// prefill was not chunked), and one of V1 whose sampler is small.
TEST(MemoryConstants, ForwardPassIsWhatLongPromptsOfV0Give) {
  SKIP_WITHOUT_SHARED_DATA("measured/kv_capacity.json");
  std::vector<StartUpLog> logs;
  for (const StartUpRow& row : test::read_start_up_rows()) {
    if (row.id != "v0-10" && row.id != "v0-13") continue;
    Engine engine = row.deployment->engine;
    engine.max_num_batched_tokens = engine.max_model_len;
    StartUpLog log;
    log.shape = activation_shape(row.deployment->model, engine, row.deployment->parallel);
    log.activation = from_gib(row.activation_gib);
    logs.push_back(log);
  }
  ASSERT_EQ(logs.size(), 2u);
  const ForwardFit fitted = fit_forward(logs);
  std::printf("forward pass: %.3f x FFN + %.3f x hidden\n", fitted.intermediate, fitted.hidden);
  // The constants are counts of tensors; the logs have three digits.
  EXPECT_NEAR(fitted.intermediate, MemoryConstants{}.forward_intermediate, 0.05);
  EXPECT_NEAR(fitted.hidden, MemoryConstants{}.forward_hidden, 0.2);
}

TEST(MemoryConstants, ResidualIsWhatTheLogsLeave) {
  SKIP_WITHOUT_SHARED_DATA("measured/kv_capacity.json");
  for (const std::string preset : {"vllm-0.11", "vllm-0.19"}) {
    double squares = 0;
    int count = 0;
    for (const StartUpRow& row : test::read_start_up_rows()) {
      if (!row.left_out.empty() || row.hybrid || !row.kv_gib || row.pipeline > 1) continue;
      if (!has_constants_of(preset, *row.deployment)) continue;
      const double error = gib(plan_memory(*row.deployment).kv_budget) - *row.kv_gib;
      squares += error * error;
      ++count;
    }
    ASSERT_GT(count, 5) << preset;
    EXPECT_NEAR(std::sqrt(squares / count), gib(constants_of(preset).residual), kHundredth)
        << preset;
  }
}

}  // namespace
}  // namespace roofcast
