// Bounds must be optimistic: one that rules out a deployment that meets the SLO in simulation would
// make the search wrong.
#include "planner/search/bounds.hpp"

#include <gtest/gtest.h>

#include <random>

#include "model/step/step_work.hpp"
#include "planner/search/plan_catalogue.hpp"

namespace roofcast {
namespace {

Scenario chat_at(double request_rate, std::int64_t prompts) {
  SyntheticWorkload load;
  load.num_prompts = prompts;
  load.request_rate = request_rate;
  load.input = parse_length_distribution("lognormal:400:0.8");
  load.output = parse_length_distribution("lognormal:60:0.7");
  Scenario scenario;
  scenario.deployment.model = "llama-3.1-8b";
  scenario.workload = load;
  scenario.slo.targets = {parse_percentile_target("p95:ttft:10s"),
                          parse_percentile_target("p90:tpot:10s"),
                          parse_percentile_target("p80:e2e:1000s")};
  return scenario;
}

PlanCatalogue catalogue_of(const Scenario& base, const std::string& gpu,
                           const std::string& engine = kDefaultEngine) {
  SearchSpace space{.gpus = {gpu}, .base = {.engine = engine}};
  return load_catalogue(base, space);
}

Shape shape_on(const PlanCatalogue& catalogue, int tensor) {
  return {.gpu = catalogue.gpus.begin()->first,
          .engine = kDefaultEngine,
          .parallel = {.tensor = tensor}};
}

/// Random prompts and decodes, as a scheduler might batch them.
StepBatch random_batch(std::mt19937& random, const Transformer& model) {
  const auto below = [&](std::uint32_t n) { return static_cast<std::int64_t>(random() % n); };
  StepBatch batch = decode_batch(model, below(200), 1 + below(4000));
  for (std::int64_t i = below(4); i > 0; --i) {
    batch.prefills.push_back({.new_tokens = 1 + below(2000), .context_tokens = below(3000)});
  }
  return batch;
}

std::int64_t tokens_of(const StepBatch& batch) {
  std::int64_t tokens = batch.decode_sequences;
  for (const PrefillChunk& chunk : batch.prefills) tokens += chunk.new_tokens;
  return tokens;
}

TEST(StepFloor, NoStepIsBelowIt) {
  for (const char* gpu : {"h100", "l40s"}) {
    const PlanCatalogue catalogue = catalogue_of(chat_at(1, 2), gpu);
    const Deployment deployment = deploy(catalogue, shape_on(catalogue, 2));
    const StepFloor floor(deployment);
    const RooflineStepTime times(deployment);
    std::mt19937 random(7);
    for (int i = 0; i < 300; ++i) {
      const StepBatch batch = random_batch(random, deployment.model);
      const std::int64_t tokens = tokens_of(batch);
      if (tokens == 0) continue;
      const double seconds = times.seconds(batch).value;
      EXPECT_GE(seconds, floor.step(tokens).value);
      EXPECT_GE(seconds, floor.per_token().value * static_cast<double>(tokens));
    }
  }
}

TEST(StepFloor, APromptInChunksIsNotBelowIt) {
  const PlanCatalogue catalogue = catalogue_of(chat_at(1, 2), "h100");
  const Deployment deployment = deploy(catalogue, shape_on(catalogue, 1));
  const StepFloor floor(deployment);
  const RooflineStepTime times(deployment);
  for (const std::int64_t prompt : {1, 17, 300, 2048, 9000}) {
    for (const std::int64_t chunk : {1, 64, 512, 2048, 16384}) {
      double total = 0;
      for (std::int64_t done = 0; done < prompt; done += chunk) {
        const std::int64_t now = std::min(chunk, prompt - done);
        total += times.seconds({.prefills = {{now, done, done + now == prompt}}}).value;
      }
      EXPECT_GE(total, floor.prompt(prompt).value) << prompt << " in chunks of " << chunk;
    }
  }
}

/// An SLO with the run's own latencies as limits.
Slo just_kept(const Slo& slo, const SimulationResult& result) {
  Slo promised = slo;
  for (std::size_t i = 0; i < promised.targets.size(); ++i) {
    promised.targets[i].limit = Seconds{result.slo[i].achieved};
  }
  return promised;
}

TEST(ShapeBound, AllowsWhatASimulationShowsToHold) {
  for (const double rate : {2.0, 20.0, 60.0}) {
    for (const std::int32_t units : {1, 2, 3}) {
      const PlanCatalogue catalogue = catalogue_of(chat_at(rate, 150), "h100");
      const Shape shape = shape_on(catalogue, 1);
      const SimulationResult result =
          simulate_candidate(run_of(catalogue, {.shape = shape, .units = units}));
      const Deployment deployment = deploy(catalogue, shape);
      const PlanLoad load =
          plan_load(catalogue.workload, false, just_kept(catalogue.base.slo, result), {});
      const ShapeBound bound = bound_shape(shape, deployment.engine, StepFloor(deployment), load);
      EXPECT_EQ(bound.verdict, ShapeBound::Verdict::possible) << bound.what;
      EXPECT_LE(bound.min_units, units);
    }
  }
}

TEST(ShapeBound, AllowsDisaggregatedPoolsThatHold) {
  const PlanCatalogue catalogue = catalogue_of(chat_at(30, 150), "h100");
  Shape shape = shape_on(catalogue, 1);
  shape.split = {.prefill = 1, .decode = 1};
  const SimulationResult result =
      simulate_candidate(run_of(catalogue, {.shape = shape, .units = 1}));
  const Deployment deployment = deploy(catalogue, shape);
  const PlanLoad load =
      plan_load(catalogue.workload, false, just_kept(catalogue.base.slo, result), {});
  const ShapeBound bound = bound_shape(shape, deployment.engine, StepFloor(deployment), load);
  EXPECT_EQ(bound.verdict, ShapeBound::Verdict::possible) << bound.what;
  EXPECT_EQ(bound.min_units, 1);
}

/// Cases beyond a dense model on vLLM that bounds must handle.
struct Setting {
  std::string name{};
  std::string model = "llama-3.1-8b";
  std::string engine = kDefaultEngine;
  Parallelism parallel{};
  EngineOverrides overrides{};
  bool shared_prefix = false;
};

std::vector<Setting> settings() {
  EngineOverrides drafts;
  drafts.num_speculative_tokens = 3;
  drafts.acceptance_rate = 0.7;
  EngineOverrides unchunked;
  unchunked.enable_chunked_prefill = false;
  std::vector<Setting> all;
  all.push_back({.name = "speculation", .overrides = drafts});
  all.push_back(
      {.name = "speculation and a shared prefix", .overrides = drafts, .shared_prefix = true});
  all.push_back({.name = "shared prefix", .shared_prefix = true});
  all.push_back({.name = "experts over data-parallel ranks",
                 .model = "qwen3-30b-a3b",
                 .parallel = {.data = 2, .expert_parallel = true}});
  all.push_back({.name = "experts, tensor and pipeline parallel",
                 .model = "qwen3-30b-a3b",
                 .parallel = {.tensor = 2, .pipeline = 2}});
  all.push_back({.name = "prompts in one piece", .overrides = unchunked});
  all.push_back({.name = "sglang", .engine = "sglang", .shared_prefix = true});
  all.push_back({.name = "trtllm", .engine = "trtllm", .shared_prefix = true});
  all.push_back({.name = "static", .engine = "static"});
  return all;
}

/// The bound for a run that just meets its SLO.
ShapeBound bound_of_run(const Setting& setting, double rate, std::int32_t units,
                        std::uint64_t seed) {
  Scenario base = chat_at(rate, 40);
  base.deployment.model = setting.model;
  base.seed = seed;
  auto& load = std::get<SyntheticWorkload>(base.workload);
  if (setting.shared_prefix) {
    load.shared_prefix = SharedPrefix{.groups = 2, .system_prompt = fixed_length(900)};
  }
  const PlanCatalogue catalogue = catalogue_of(base, "h100", setting.engine);
  const Shape shape{.gpu = catalogue.gpus.begin()->first,
                    .engine = setting.engine,
                    .parallel = setting.parallel,
                    .overrides = setting.overrides};
  const SimulationResult result =
      simulate_candidate(run_of(catalogue, {.shape = shape, .units = units}));
  const Deployment deployment = deploy(catalogue, shape);
  const PlanLoad promised =
      plan_load(catalogue.workload, false, just_kept(catalogue.base.slo, result), {});
  return bound_shape(shape, deployment.engine, StepFloor(deployment), promised);
}

TEST(ShapeBound, AllowsWhatHoldsWhateverTheModelTheEngineAndItsFeatures) {
  constexpr std::uint64_t kSeed = 3;
  for (const Setting& setting : settings()) {
    for (const std::int32_t units : {1, 2}) {
      for (const double rate : {3.0, 200.0}) {  // requests alone; all at once, nearly
        const ShapeBound bound = bound_of_run(setting, rate, units, kSeed);
        EXPECT_EQ(bound.verdict, ShapeBound::Verdict::possible) << setting.name << bound.what;
        EXPECT_LE(bound.min_units, units) << setting.name << " at " << rate << "/s";
      }
    }
  }
}

TEST(ShapeBound, RulesOutWhatNoNumberOfReplicasReaches) {
  Scenario scenario = chat_at(1, 100);
  // 16 GB of weights over 3.35 TB/s are 4.8 ms: no token comes faster on one H100.
  scenario.slo.targets = {parse_percentile_target("p95:tpot:4ms")};
  const PlanCatalogue catalogue = catalogue_of(scenario, "h100");
  const Shape shape = shape_on(catalogue, 1);
  const Deployment deployment = deploy(catalogue, shape);
  const PlanLoad load = plan_load(catalogue.workload, false, scenario.slo, {});
  const ShapeBound bound = bound_shape(shape, deployment.engine, StepFloor(deployment), load);
  EXPECT_EQ(bound.verdict, ShapeBound::Verdict::too_slow);
  EXPECT_EQ(bound.what, "p95 TPOT");
  EXPECT_GT(bound.at_least_s, 0.0047);
}

TEST(ShapeBound, ImagesAreNotTokenised) {
  const PlanCatalogue catalogue = catalogue_of(chat_at(1, 2), "h100");
  const Shape shape = shape_on(catalogue, 1);
  const Deployment deployment = deploy(catalogue, shape);
  const StepFloor floor(deployment);
  Workload workload;
  workload.requests.push_back(
      {.input_tokens = 1000, .output_tokens = 1, .images = 2, .image_tokens = 400});
  Slo slo;
  slo.targets = {parse_percentile_target("p95:ttft:1ms")};
  const ShapeBound bound =
      bound_shape(shape, deployment.engine, floor, plan_load(workload, false, slo, {}));
  // All 1,000 tokens are computed, 1,000 - 2 x 400 are tokenised.
  const HostOverhead& host = deployment.engine.host;
  const Seconds least = floor.prompt(1000) + host.per_request + host.per_prompt_token * 200.0;
  ASSERT_EQ(bound.verdict, ShapeBound::Verdict::too_slow);
  EXPECT_DOUBLE_EQ(bound.at_least_s, least.value);
}

TEST(ShapeBound, CountsReplicasFromTheWorkOfThePrompts) {
  SyntheticWorkload load;
  load.num_prompts = 1000;
  load.request_rate = 100;
  load.input = fixed_length(2000);
  load.output = fixed_length(1);
  Scenario scenario;
  scenario.deployment.model = "llama-3.1-8b";
  scenario.workload = load;
  scenario.slo.targets = {parse_percentile_target("p99:ttft:1s")};
  const PlanCatalogue catalogue = catalogue_of(scenario, "h100");
  const Shape shape = shape_on(catalogue, 1);
  const Deployment deployment = deploy(catalogue, shape);
  const StepFloor floor(deployment);
  const PlanLoad promised = plan_load(catalogue.workload, false, scenario.slo, {});
  const ShapeBound bound = bound_shape(shape, deployment.engine, floor, promised);
  // The order statistic below p99 of 1,000 is number 989 (0.99 x 999 = 989.01), so 990 prompts of
  // 2,000 tokens by one second after the last arrival.
  const double busy_s = 990 * 2000 * floor.per_token().value;
  EXPECT_EQ(bound.min_units, std::ceil(busy_s / (promised.span_s + 1)));
  // 16 GFLOP a token at 989 TFLOP/s are 16 us: 32 s of work in the 10 s that arrivals take.
  EXPECT_GE(bound.min_units, 3);
}

TEST(PlanLoad, ClosedLoopsHaveNoDeadline) {
  const PlanCatalogue catalogue = catalogue_of(chat_at(20, 50), "h100");
  EXPECT_TRUE(plan_load(catalogue.workload, false, {}, {}).open);
  EXPECT_FALSE(plan_load(catalogue.workload, true, {}, {}).open);
}

TEST(PlanLoad, AGoodputShareIsAPromiseToSoManyRequests) {
  Workload workload;
  for (int i = 1; i <= 10; ++i) {
    // Three outputs of one token: these keep any limit on the time between tokens.
    workload.requests.push_back({.input_tokens = 10 * i, .output_tokens = i <= 3 ? 1 : 5});
  }
  Slo slo;
  slo.goodput = {parse_goodput_limit("ttft:500"), parse_goodput_limit("tpot:50")};
  const PlanLoad load = plan_load(workload, false, slo, {.min_goodput_share = 0.9});
  ASSERT_EQ(load.promises.size(), 2U);
  EXPECT_EQ(load.promises[0].last_within, 8);  // 9 of 10, counted from 0
  EXPECT_EQ(load.promises[1].last_within, 5);  // 6 of the 7 that have a TPOT
}

}  // namespace
}  // namespace roofcast
