// Every knob of every engine in every question: it changes an answer, or is refused.
#include "model/engines/idle_knobs.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.hpp"
#include "model/engines/knobs.hpp"
#include "model/step/step_estimate.hpp"
#include "model/step/step_work.hpp"
#include "planner/flags/idle_flags.hpp"
#include "planner/scenario/resolve_deployment.hpp"
#include "roofcast/arguments.hpp"
#include "roofcast/estimate.hpp"
#include "roofcast/memory.hpp"
#include "tests/support/trials.hpp"

namespace roofcast::test {
namespace {

/// Values other than defaults, where a knob's examples are not enough: those are defaults of some
/// engine, or too large or small to matter.
const std::map<std::string, std::vector<KnobValue>>& more_values() {
  using I = std::int64_t;
  static const std::map<std::string, std::vector<KnobValue>> values = {
      {"gpu_memory_utilization", {0.8}},
      {"max_model_len", {I{4096}}},
      {"max_num_seqs", {I{8}}},
      {"max_num_batched_tokens", {I{2048}, I{16384}}},
      {"block_size", {I{32}, I{4096}}},
      {"kv_cache_dtype", {"fp16", "int8"}},
      {"enable_chunked_prefill", {false}},
      {"enable_prefix_caching", {true}},
      {"cuda_graph_batch_sizes", {std::vector<I>{1}}},
      {"cuda_graph_max_bs", {I{4}, I{128}}},
      {"cuda_graph_padding", {false}},
      {"async_scheduling", {false}},
      {"sampling", {"top_p", "penalty"}},
      {"all2all_backend", {"deepep_low_latency", "allgather_reducescatter"}},
      {"dbo_prefill_token_threshold", {I{2048}}},
      {"decode_context_parallel_size", {I{2}, I{4}}}};
  return values;
}

std::vector<KnobValue> values_of(const EngineKnob& knob) {
  std::vector<KnobValue> values = knob.examples;
  const auto more = more_values().find(knob.key);
  if (more != more_values().end()) {
    values.insert(values.end(), more->second.begin(), more->second.end());
  }
  return values;
}

/// Overrides that switch on what the knob belongs to, if it belongs to a feature.
std::optional<EngineOverrides> feature_of(const EngineKnob& knob) {
  const std::string_view key = knob.key;
  if (key == "enable_eplb") return EngineOverrides{.expert_power_law = 1.2};
  if (key.starts_with("dbo_"))
    return EngineOverrides{.all2all_backend = All2All::deepep_low_latency, .enable_dbo = true};
  if (key == "enable_dbo") return EngineOverrides{.all2all_backend = All2All::deepep_low_latency};
  if (key.starts_with("hicache_")) return EngineOverrides{.enable_hierarchical_cache = true};
  if (key == "capture_num_tokens") return EngineOverrides{.piecewise_cuda_graph = true};
  if (!key.starts_with("batch_wait")) return std::nullopt;
  return EngineOverrides{.batch_wait_timeout_iters = 20, .batch_wait_max_tokens_ratio = 0.5};
}

Json without_inputs(Json answer) {
  answer.erase("inputs");
  return answer;
}

Json answer_of(KnobUse use, const DeploymentOptions& options) {
  if (use == KnobUse::memory) {
    return without_inputs(to_json(memory({.deployment = options, .context = 900, .batch = 7})));
  }
  return without_inputs(to_json(estimate_batches({.deployment = options,
                                                  .batches = {3, 24, 90},
                                                  .input_tokens = {900},
                                                  .output_tokens = 64})));
}

struct Place {
  std::string name{};
  DeploymentOptions options{};
};

/// A dense model, experts on several ranks, windows and recurrent states, under every kind of
/// engine.
std::vector<Place> places() {
  std::vector<Place> list;
  const auto add = [&](const char* model, ParallelismOptions parallel) {
    for (const char* engine : {"vllm-0.19", "sglang", "trtllm", "roofcast", "static", "naive"}) {
      list.push_back({fmt::format("{} {}", model, engine),
                      {.model = model, .gpu = "h100", .engine = engine, .parallel = parallel}});
    }
  };
  add("llama-3.1-8b", {});
  add("qwen3-30b-a3b", {.tensor = 2, .data = 2, .expert_parallel = true});
  add("gpt-oss-20b", {});
  add("qwen3.5-4b", {});
  return list;
}

/// Nullopt if it is refused. `given`: the knobs that are flags.
std::optional<Json> answered(KnobUse use, const EngineOverrides& given,
                             const DeploymentOptions& options) {
  try {
    refuse_idle_flags(given, options, use);
    return answer_of(use, options);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// The effect of a knob's values in a place.
enum class Effect { acts, none, refused };

/// `plain` is the place's answer without any knob.
Effect effect_of(const EngineKnob& knob, KnobUse use, DeploymentOptions place,
                 const std::optional<Json>& plain) {
  const std::optional<EngineOverrides> feature = feature_of(knob);
  if (feature) place.overrides = *feature;
  const auto base = feature ? answered(use, {}, place) : plain;
  if (!base) return Effect::refused;  // the engine lacks what the knob belongs to
  Effect effect = Effect::refused;
  for (const KnobValue& value : values_of(knob)) {
    DeploymentOptions options = place;
    knob.set(options.overrides, value);
    const auto answer = answered(use, options.overrides, options);
    if (!answer) continue;
    if (answer != base) return Effect::acts;
    effect = Effect::none;
  }
  return effect;
}

TEST(IdleKnobs, EveryKnobActsOrIsRefused) {
  // Under the sanitisers every fifth, which are others in each place.
  int asked = 0;
  int acting = 0;
  int refused = 0;
  for (const KnobUse use : {KnobUse::memory, KnobUse::steps}) {
    for (const Place& place : places()) {
      const auto plain = answered(use, {}, place.options);
      for (const EngineKnob& knob : engine_knobs()) {
        if (knob.group == KnobGroup::features) continue;  // no flags of these questions
        // Decides which lengths are refused, and whether the engine starts at all.
        if (std::string_view(knob.key) == "max_model_len") continue;
        // Acts where prompts exceed a step's tokens, on the largest batch.
        if (use == KnobUse::steps && std::string_view(knob.key) == "max_attention_window") continue;
        // By default on steps with prompts of at most 128 tokens; on more by capture_num_tokens.
        if (use == KnobUse::steps && std::string_view(knob.key) == "piecewise_cuda_graph") continue;
        if (kSanitised && asked++ % 5 != 0) continue;
        const Effect effect = effect_of(knob, use, place.options, plain);
        EXPECT_NE(effect, Effect::none)
            << (use == KnobUse::memory ? "memory, " : "steps, ") << place.name << ": " << knob.key;
        acting += effect == Effect::acts ? 1 : 0;
        refused += effect == Effect::refused ? 1 : 0;
      }
    }
  }
  EXPECT_GT(acting, kSanitised ? 20 : 200);
  EXPECT_GT(refused, kSanitised ? 20 : 200);
}

// Picks of DeepSeek-R1 are uneven by default, as published; with even ones 16 sequences read more
// of its experts, so that the step takes longer. Of gpt-oss none are published: even is the
// default.
TEST(IdleKnobs, EvenPicksActWhereUnevenOnesAreTheDefault) {
  const EngineOverrides even{.expert_power_law = 0};
  const auto refused = [&](DeploymentOptions options) {
    options.overrides = even;
    try {
      refuse_idle_flags(even, options, KnobUse::steps);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const DeploymentOptions deepseek{
      .model = "deepseek-r1", .gpu = "h200", .engine = "sglang", .parallel = {.tensor = 8}};
  EXPECT_EQ(refused(deepseek), "");
  EXPECT_THAT(refused({.model = "gpt-oss-20b", .gpu = "h200", .engine = "sglang"}),
              testing::HasSubstr("experts are picked so by default"));
  DeploymentOptions evenly = deepseek;
  evenly.overrides = even;
  const auto step = [](const DeploymentOptions& options) {
    const Deployment deployment = resolve(options).deployment;
    return RooflineStepTime(deployment).seconds(decode_batch(deployment.model, 16, 1024));
  };
  EXPECT_GT(step(evenly), step(deepseek));
}

// ---- flags of a load

/// The message if the flags change nothing in any of the scenarios; empty if they may act.
std::string refusal(const ScenarioOptions& given, const std::vector<Scenario>& scenarios) {
  try {
    refuse_idle_flags(given, scenarios);
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

Scenario synthetic(const SyntheticWorkload& workload = {.request_rate = 10}) {
  return {.deployment = {.model = "llama-3.1-8b", .gpu = "h100"}, .workload = workload};
}

Scenario replay(const char* rows) {
  const std::string path = fmt::format("{}/idle_flags_{}.jsonl", testing::TempDir(), getpid());
  std::ofstream(path) << rows;
  return {.deployment = {.model = "llama-3.1-8b", .gpu = "h100"},
          .workload = TraceWorkload{.path = path}};
}

constexpr const char* kPlainTrace =
    "{\"timestamp\": 0, \"input_length\": 900, \"output_length\": 8}\n";
constexpr const char* kTraceWithIds =
    "{\"timestamp\": 0, \"input_length\": 900, \"output_length\": 8, \"hash_ids\": [1, 2]}\n";

// vLLM and the small engine reserve nothing for what clients declare; SGLang and TensorRT-LLM do. A
// number cuts longer outputs everywhere.
TEST(IdleFlags, MaxTokensActWhereAnEngineReservesForThem) {
  const auto refused = [](const char* engine, std::int64_t max_tokens = kNoMaxTokens) {
    ScenarioOptions given;
    given.workload.max_tokens = max_tokens;
    return !refusal(
                given,
                {{.deployment = {.model = "llama-3.1-8b", .gpu = "l40s,h100", .engine = engine}}})
                .empty();
  };
  EXPECT_TRUE(refused("vllm"));
  EXPECT_TRUE(refused("roofcast"));
  EXPECT_FALSE(refused("sglang"));
  EXPECT_FALSE(refused("trtllm"));
  EXPECT_FALSE(refused("vllm", 500));
  EXPECT_EQ(refusal({}, {{.deployment = {.model = "llama-3.1-8b", .gpu = "h100"}}}), "");
}

TEST(IdleFlags, ARouterActsWhereThereAreReplicas) {
  const auto refused = [](std::int32_t replicas, std::int32_t decode) {
    Scenario scenario = synthetic();
    scenario.cluster = ClusterScenario{};
    scenario.cluster->pools = {{.name = "a", .role = PoolRole::prefill, .replicas = replicas},
                               {.name = "b", .role = PoolRole::decode, .replicas = decode}};
    ScenarioOptions given;
    given.cluster.router = RouterPolicy::random;
    return !refusal(given, {scenario}).empty();
  };
  EXPECT_TRUE(refused(1, 1));
  EXPECT_FALSE(refused(2, 1));
  EXPECT_FALSE(refused(1, 2));
}

TEST(IdleFlags, PrioritiesComeFromTraces) {
  ScenarioOptions given;
  given.deployment.overrides.scheduling_policy = QueueOrder::priority;
  EXPECT_THAT(refusal(given, {synthetic()}), testing::HasSubstr("only requests of a trace"));
  EXPECT_EQ(refusal(given, {replay(kPlainTrace)}), "");
}

TEST(IdleFlags, ASeedActsWhereSomethingIsDrawn) {
  ScenarioOptions given;
  given.workload.seed = 7;
  const auto refused = [&](const Scenario& scenario) {
    return !refusal(given, {scenario}).empty();
  };
  EXPECT_TRUE(refused(replay(kPlainTrace)));
  EXPECT_TRUE(refused(synthetic({.request_rate = kAllAtOnce})));
  EXPECT_TRUE(refused(synthetic(
      {.request_rate = 10, .burstiness = std::numeric_limits<double>::infinity()})));  // even gaps
  EXPECT_FALSE(refused(synthetic()));
  EXPECT_FALSE(refused(synthetic({.input = parse_length_distribution("uniform:10:20")})));
  EXPECT_FALSE(refused(synthetic({.lora = {.count = 2}})));
  // Which drafts are accepted is drawn in a replay, too.
  Scenario drafts = replay(kPlainTrace);
  drafts.deployment.overrides.num_speculative_tokens = 3;
  drafts.deployment.overrides.acceptance_rate = 0.5;
  EXPECT_FALSE(refused(drafts));
  Scenario routed = replay(kPlainTrace);
  routed.cluster = ClusterScenario{.pools = {{.replicas = 2}}};
  EXPECT_TRUE(refused(routed));  // in turn
  routed.cluster->router.policy = RouterPolicy::power_of_two;
  EXPECT_FALSE(refused(routed));
}

TEST(IdleFlags, ATracesBlockSizeActsOnItsHashIds) {
  ScenarioOptions given;
  given.workload.trace_block_size = 512;
  EXPECT_THAT(refusal(given, {replay(kPlainTrace)}), testing::HasSubstr("has no hash ids"));
  EXPECT_EQ(refusal(given, {replay(kTraceWithIds)}), "");
  Scenario without = replay(kTraceWithIds);
  without.deployment.overrides.enable_prefix_caching = false;
  EXPECT_THAT(refusal(given, {without}), testing::HasSubstr("keeps no prefixes"));
}

TEST(IdleFlags, ALoadAloneRefusesTheSame) {
  WorkloadOptions seed;
  seed.seed = 7;
  WorkloadOptions block;
  block.trace_block_size = 64;
  const auto refused = [](const WorkloadOptions& given, const Scenario& scenario) {
    try {
      refuse_idle_flags(given, scenario.workload);
    } catch (const UsageError&) {
      return true;
    }
    return false;
  };
  EXPECT_TRUE(refused(seed, replay(kPlainTrace)));
  EXPECT_FALSE(refused(seed, synthetic()));
  EXPECT_TRUE(refused(block, replay(kPlainTrace)));
  EXPECT_FALSE(refused(block, replay(kTraceWithIds)));
}

TEST(IdleFlags, AFlagThatActsInOneOfSeveralScenariosIsTaken) {
  ScenarioOptions given;
  given.workload.max_tokens = kNoMaxTokens;
  Scenario sglang = synthetic();
  sglang.deployment.engine = "sglang";
  EXPECT_NE(refusal(given, {synthetic(), synthetic()}), "");
  EXPECT_EQ(refusal(given, {synthetic(), sglang}), "");
}

/// The answer of each question to the same flags.
template <class Arguments>
std::string refusal_of(Arguments arguments, const ScenarioOptions& given) {
  arguments.load.options = given;
  arguments.load.options.deployment.model = "llama-3.1-8b";
  arguments.load.options.deployment.gpu = "h100";
  arguments.load.options.workload.request_rate = 10;
  try {
    (void)question_of(arguments);
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

TEST(IdleFlags, AllQuestionsRefuseTheSame) {
  ScenarioOptions none;
  none.workload.max_tokens = kNoMaxTokens;
  ScenarioOptions priority;
  priority.deployment.overrides.scheduling_policy = QueueOrder::priority;
  ScenarioOptions dense;
  dense.deployment.overrides.enable_eplb = true;
  const WhatIfArguments what_if{.what_if = {.vary = {"max_num_seqs=64"}}};
  for (const ScenarioOptions& given : {none, priority, dense}) {
    const std::string said = refusal_of(SimulationArguments{}, given);
    EXPECT_THAT(said, testing::HasSubstr("would change nothing here"));
    EXPECT_EQ(refusal_of(CapacityArguments{}, given), said);
    EXPECT_EQ(refusal_of(PlanArguments{}, given), said);
    EXPECT_EQ(refusal_of(what_if, given), said);
  }
  // Capacity gives requests a rate, whose gaps are drawn.
  ScenarioOptions seed;
  seed.deployment.model = "llama-3.1-8b";
  seed.deployment.gpu = "h100";
  seed.workload.seed = 7;
  EXPECT_NO_THROW((void)question_of(CapacityArguments{.load = {.options = seed}}));
  EXPECT_THROW((void)question_of(SimulationArguments{.load = {.options = seed}}), UsageError);
  // An engine that is tried may reserve.
  const WhatIfArguments engines{.what_if = {.vary = {"engine=sglang"}}};
  EXPECT_EQ(refusal_of(engines, none), "");
  EXPECT_EQ(refusal_of(PlanArguments{.plan = {.search = {"engine=vllm,sglang"}}}, none), "");
  EXPECT_NE(refusal_of(PlanArguments{.plan = {.search = {"engine=vllm,roofcast"}}}, none), "");
}

}  // namespace
}  // namespace roofcast::test
