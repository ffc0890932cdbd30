#include "roofcast/plan.hpp"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <span>

#include "base/error.hpp"
#include "base/text.hpp"
#include "planner/scenario/simulation_run.hpp"
#include "roofcast/plan_words.hpp"
#include "roofcast/simulate.hpp"
#include "roofcast/store_rows.hpp"
#include "tests/roofcast/read_back.hpp"
#include "tests/support/temporary_folder.hpp"

namespace roofcast::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// 40 requests at 4 a second, within limits that a GPU of either kind holds.
PlanQuestion chat_to_plan() {
  PlanQuestion question;
  question.scenario.deployment.model = "llama-3.1-8b";
  question.scenario.seed = 1;
  question.scenario.workload = SyntheticWorkload{
      .num_prompts = 40, .request_rate = 4, .input = fixed_length(256), .output = fixed_length(16)};
  question.scenario.slo.targets = {parse_percentile_target("p95:ttft:2s"),
                                   parse_percentile_target("p95:tpot:100ms")};
  question.gpus = {"h100", "l40s"};
  question.search = {parse_dimension("tp=1"), parse_dimension("max_num_seqs=16,64")};
  question.max_replicas = 3;
  question.top = 2;
  return question;
}

PlanAnswer plan_read_back(const PlanAnswer& answer) {
  return test::read_back(answer, plan_answer_from_json, plan_answer_schema());
}

TEST(PlanAnswer, SaysHowItsFiguresAreKnown) {
  PlanQuestion question = chat_to_plan();
  question.gpus = {"h100", "mi300x"};
  question.limits.prices = {{"amd-mi300x", 0.5}};
  const PlanAnswer answer = plan(question);
  ASSERT_FALSE(answer.ranked.empty());
  const StepSources& sources = answer.ranked.front().result.step_sources;
  EXPECT_NEAR(sources.measured + sources.interpolated + sources.extended + sources.fitted +
                  sources.datasheet,
              1, 1e-9);
  EXPECT_GT(answer.ranked.front().result.step_uncertainty, 0);
  EXPECT_EQ(answer.ranked.front().deployment.gpu, "amd-mi300x");
  EXPECT_TRUE(rests_on_datasheet(sources));  // no kernel of it is in the profile or in tables
  EXPECT_THAT(answer.remarks,
              testing::Contains(StartsWith("The first rests on datasheet figures")));
}

TEST(PlanAnswer, TellsSearchedVersionsApart) {
  PlanQuestion question = chat_to_plan();
  question.gpus = {"h100"};
  question.search = {parse_dimension("tp=1"), parse_dimension("engine=sglang,sglang-0.5.7")};
  std::vector<std::string> titles;
  for (const RankedPlan& one : plan(question).ranked) titles.push_back(one.title);
  EXPECT_THAT(titles,
              testing::UnorderedElementsAre("1 replica of 1x NVIDIA H100 SXM, sglang",
                                            "1 replica of 1x NVIDIA H100 SXM, sglang-0.5.7"));
}

TEST(PlanAnswer, NamesTheCheaperFormatAndTheSpreadOfLengths) {
  PlanQuestion question = chat_to_plan();
  question.gpus = {"h100"};
  question.search = {parse_dimension("tp=1")};
  // Half the bytes of each weight: what takes several replicas in bf16 takes fewer.
  question.scenario.workload = SyntheticWorkload{.num_prompts = 200,
                                                 .request_rate = 60,
                                                 .input = fixed_length(1024),
                                                 .output = fixed_length(128)};
  question.scenario.slo.targets = {parse_percentile_target("p95:tpot:11ms")};
  question.max_replicas = 16;
  const PlanAnswer answer = plan(question);
  ASSERT_FALSE(answer.ranked.empty());
  ASSERT_TRUE(answer.cheaper_format);
  EXPECT_EQ(answer.cheaper_format->deployment.quantization, "fp8");
  EXPECT_LT(*answer.cheaper_format->cost.dollars_per_hour,
            *answer.ranked.front().cost.dollars_per_hour);
  EXPECT_THAT(answer.remarks, testing::Contains(StartsWith("Not searched: fp8 weights")));
  // The question with that format finds the same.
  question.scenario.deployment.weight_format = "fp8";
  const PlanAnswer fp8 = plan(question);
  ASSERT_FALSE(fp8.ranked.empty());
  EXPECT_EQ(fp8.ranked.front().title, answer.cheaper_format->title);
  EXPECT_FALSE(fp8.cheaper_format);
  // Lognormal with mean 1,024 and sigma 0.99: median 1,024 / e^0.490 = 627.3; 128 / e^0.370 = 88.4.
  ASSERT_TRUE(answer.spread_lengths);
  EXPECT_EQ(answer.spread_lengths->input, "lognormal:627:0.99");
  EXPECT_EQ(answer.spread_lengths->output, "lognormal:88:0.86");
}

TEST(PlanAnswer, ReadsBackAsItWasWritten) {
  PlanQuestion question = chat_to_plan();
  question.explain = true;
  question.limits.available = {{"nvidia-l40s", 2}};
  const PlanAnswer answer = plan(question);
  ASSERT_FALSE(answer.ranked.empty());
  EXPECT_EQ(answer.every_shape.size(), 4U);  // 2 GPUs x 2 batches
  ASSERT_TRUE(answer.limits);
  const PlanAnswer read = plan_read_back(answer);
  EXPECT_EQ(read.holds, true);
  EXPECT_EQ(read.inputs.scenario.deployment.gpu, "h100,l40s");
  EXPECT_EQ(read.inputs.limits.available.at("nvidia-l40s"), 2);
  EXPECT_EQ(read.ranked.front().title, answer.ranked.front().title);
  EXPECT_EQ(read.ranked.front().result.verdict.margins.size(), 2U);
  EXPECT_EQ(read.shapes, answer.shapes);
}

// The same requests on the same engine, so the same steps.
TEST(PlanAnswer, HasTheUtilisationOfTheSimulation) {
  PlanQuestion question = chat_to_plan();
  question.gpus = {"h100"};
  question.search = {parse_dimension("tp=1")};
  const PlanAnswer answer = plan_read_back(plan(question));
  ASSERT_FALSE(answer.ranked.empty());
  ASSERT_EQ(answer.ranked.front().units, 1);
  Scenario scenario = question.scenario;
  scenario.deployment.gpu = "h100";
  const SimulationAnswer once = simulate({.scenario = scenario});
  ASSERT_EQ(answer.ranked.front().utilisation.size(), 1U);
  EXPECT_DOUBLE_EQ(answer.ranked.front().utilisation[0].mfu, once.utilisation.at(0).mfu);
  EXPECT_DOUBLE_EQ(answer.ranked.front().utilisation[0].mbu, once.utilisation.at(0).mbu);
}

TEST(PlanAnswer, IsToldFromItsJsonAlone) {
  const PlanAnswer answer = plan(chat_to_plan());
  const PlanAnswer read = plan_answer_from_json(to_json(answer));
  EXPECT_EQ(plan_sentences(read), plan_sentences(answer));
  EXPECT_EQ(read.headline, plan_sentences(answer).front());
  EXPECT_THAT(read.headline, StartsWith("Cheapest: "));
  const Json parts = to_json(answer).at("answer_parts");
  ASSERT_EQ(parts.size(), 3U);  // the deployment, its price, its prospects
  EXPECT_EQ(parts[0], "Cheapest: " + answer.ranked.front().title);
  EXPECT_EQ(causes_of(read.ranked.front()), causes_of(answer.ranked.front()));
  EXPECT_EQ(breaks_on_few(read.ranked.front()), breaks_on_few(answer.ranked.front()));
}

TEST(PlanAnswer, NamesWhatIsEnoughAsPredictedBesideWhatIsProbable) {
  // The limit on TPOT is what one L40S achieves as predicted, and a little: with slower steps it is
  // missed, so that a probability of 0.9 needs more.
  PlanQuestion question = chat_to_plan();
  question.gpus = {"l40s"};
  question.search = {parse_dimension("tp=1,2")};
  question.min_probability.reset();
  const PlanAnswer cheapest = plan(question);
  ASSERT_FALSE(cheapest.ranked.empty());
  question.scenario.slo.targets[1].limit =
      Seconds{cheapest.ranked.front().result.tpot_p95_s * 1.01};
  EXPECT_FALSE(plan(question).point_estimate);
  question.min_probability = kPlanProbability;
  const PlanAnswer answer = plan_read_back(plan(question));
  ASSERT_TRUE(answer.point_estimate);
  EXPECT_LT(answer.point_estimate->confidence.probability, kPlanProbability);
  EXPECT_GT(answer.point_estimate->confidence.probability, 0.5);
  ASSERT_FALSE(answer.ranked.empty());
  EXPECT_GE(answer.ranked.front().confidence.probability, kPlanProbability);
  EXPECT_GT(*answer.ranked.front().cost.dollars_per_hour,
            *answer.point_estimate->cost.dollars_per_hour);
}

TEST(PlanAnswer, ProposesAShorterContextWhereTheFullOneKeepsACheaperGpuOut) {
  // Weights of 16.1 GB and K and V of 131,072 tokens, 17.2 GB, are more than the 24 GB of an RTX
  // 4090, whose price is below the L40S's; requests of some thousand tokens fit beside the weights.
  PlanQuestion question = chat_to_plan();
  question.gpus = {"l40s", "rtx-4090"};
  question.search = {parse_dimension("tp=1")};
  const PlanAnswer answer = plan_read_back(plan(question));
  ASSERT_FALSE(answer.ranked.empty());
  EXPECT_THAT(answer.ranked.front().title, HasSubstr("L40S"));
  ASSERT_TRUE(answer.shorter_context);
  EXPECT_THAT(answer.shorter_context->title, HasSubstr("max-model-len auto"));
  EXPECT_LT(*answer.shorter_context->cost.dollars_per_hour,
            *answer.ranked.front().cost.dollars_per_hour);
  EXPECT_THAT(plan_sentences(answer), testing::Contains(HasSubstr("saves $")));
  question.scenario.deployment.overrides.fit_model_len = true;
  const PlanAnswer shorter = plan(question);
  ASSERT_FALSE(shorter.ranked.empty());
  EXPECT_EQ(shorter.ranked.front().title, answer.shorter_context->title);
  EXPECT_FALSE(shorter.shorter_context);
}

// The same RTX 4090 under SGLang, which starts with a cache smaller than the context and refuses
// what is longer: planned as it is simulated. A context that is asked for has to fit.
TEST(PlanAnswer, TakesSglangAsItStarts) {
  PlanQuestion question = chat_to_plan();
  question.scenario.deployment.engine = "sglang";
  question.gpus = {"rtx-4090"};
  question.search = {parse_dimension("tp=1")};
  Scenario simulated = question.scenario;
  simulated.deployment.gpu = "rtx-4090";
  const PlanAnswer answer = plan_read_back(plan(question));
  ASSERT_FALSE(answer.ranked.empty());
  EXPECT_FALSE(answer.shorter_context);
  const SimulationRun run = prepare_simulation(simulated);
  ASSERT_EQ(run.refusal, "");
  ASSERT_TRUE(answer.ranked.front().longest_request);
  EXPECT_EQ(answer.ranked.front().longest_request, shortened_length(run, 0));
  EXPECT_LT(*answer.ranked.front().longest_request, 131'072);
  EXPECT_THAT(plan_sentences(answer), testing::Contains(HasSubstr("accepts requests of up to")));
  question.scenario.deployment.overrides.max_model_len = 131'072;
  simulated.deployment.overrides.max_model_len = 131'072;
  const PlanAnswer asked = plan(question);
  EXPECT_TRUE(asked.ranked.empty());
  EXPECT_EQ(asked.shapes.at(ShapeOutcome::does_not_fit), 1);
  EXPECT_NE(prepare_simulation(simulated).refusal, "");
}

TEST(PlanAnswer, OfWhatNothingHoldsSaysWhatCameClosest) {
  PlanQuestion question = chat_to_plan();
  // 16 GB of weights at the datasheet's 3.35 TB/s take 4.8 ms a step, before any kernel's floor,
  // attention or host work.
  question.scenario.slo.targets = {parse_percentile_target("p95:tpot:5500us")};
  question.gpus = {"h100"};
  question.max_replicas = 1;
  const PlanAnswer answer = plan(question);
  EXPECT_TRUE(answer.ranked.empty());
  const PlanAnswer read = plan_read_back(answer);
  EXPECT_EQ(read.holds, false);
  EXPECT_THAT(read.headline, HasSubstr("No deployment"));
  ASSERT_EQ(read.closest.size(), answer.closest.size());
  for (std::size_t i = 0; i < read.closest.size(); ++i) {
    EXPECT_EQ(miss_of(read.closest[i].result), miss_of(answer.closest[i].result));
  }
}

TEST(PlanAnswer, IsTheSameOnAnyNumberOfThreads) {
  PlanQuestion question = chat_to_plan();
  question.gpus = {"h100", "l40s", "a100"};
  question.min_probability = 0.9;
  const Json alone = to_json(plan(question, {.threads = 1}));
  ASSERT_FALSE(alone.at("ranked").empty());
  for (const int threads : {2, 4}) {
    EXPECT_EQ(to_json(plan(question, {.threads = threads})).dump(), alone.dump()) << threads;
  }
}

TEST(PlanAnswer, OfAPlanThatWasCancelledDecidesNothing) {
  const PlanExecution execution{.threads = 1,
                                .progress = [](PlanStage stage, std::int64_t, std::int64_t) {
                                  return stage != PlanStage::simulations;
                                }};
  const PlanAnswer answer = plan(chat_to_plan(), execution);
  EXPECT_TRUE(answer.stopped);
  EXPECT_FALSE(plan_read_back(answer).holds);
  EXPECT_TRUE(answer.ranked.empty());
}

TEST(PlanAnswer, IsCancelledWithinASimulation) {
  PlanQuestion question = chat_to_plan();
  std::get<SyntheticWorkload>(question.scenario.workload).num_prompts = 300'000;
  question.gpus = {"h100"};
  question.search = {parse_dimension("tp=1")};
  // Asked every 20 ms, so that the simulation, which takes longer, has begun at the third time. One
  // that came to its end would be kept.
  std::size_t kept = 0;
  int looks = 0;
  const PlanExecution execution{
      .threads = 1,
      .kept = {.keep = [&](std::span<const AnsweredQuestion> all) { kept += all.size(); }},
      .progress = [&](PlanStage stage, std::int64_t, std::int64_t) {
        return stage != PlanStage::simulations || ++looks < 3;
      }};
  const PlanAnswer answer = plan(question, execution);
  EXPECT_TRUE(answer.stopped);
  EXPECT_EQ(kept, 0U);
  EXPECT_TRUE(answer.closest.empty());
}

TEST(PlanAnswer, OfAPlanThatWasCancelledClaimsNoProbabilityThatItDoesNotKnow) {
  PlanQuestion question = chat_to_plan();
  question.gpus = {"h100"};
  question.min_probability = 0.9;
  const std::int64_t trials = plan(question, {.threads = 1}).simulations;
  // What was ranked is being simulated again.
  const PlanExecution execution{.threads = 1,
                                .progress = [&](PlanStage stage, std::int64_t done, std::int64_t) {
                                  return stage != PlanStage::simulations || done <= trials;
                                }};
  const PlanAnswer answer = plan(question, execution);
  EXPECT_TRUE(answer.stopped);
  int holding = 0;
  for (const PlanCandidate& one : answer.closest) {
    if (!one.result.verdict.holds) continue;
    ++holding;
    EXPECT_FALSE(one.result.probability);
    EXPECT_EQ(miss_of(one.result), "meets the SLO");
  }
  EXPECT_GT(holding, 0);
}

TEST(PlanAnswer, NeedsAPromiseAndNoPoolsOfItsOwn) {
  PlanQuestion unpromised = chat_to_plan();
  unpromised.scenario.slo = {};
  EXPECT_THROW(plan(unpromised), Error);
  PlanQuestion pools = chat_to_plan();
  pools.scenario.cluster = ClusterScenario{.pools = {{.name = "mine"}}};
  EXPECT_THROW(plan(pools), Error);
}

TEST(PlanAnswer, NeedsALoad) {
  PlanQuestion question = chat_to_plan();
  std::get<SyntheticWorkload>(question.scenario.workload).request_rate =
      std::numeric_limits<double>::infinity();
  EXPECT_NO_THROW(prepare_plan(question));  // 40 requests at once, as asked for
  question.free_length = true;
  EXPECT_THROW(prepare_plan(question), UsageError);
  question.scenario.max_concurrency = 8;
  EXPECT_NO_THROW(prepare_plan(question));
}

// A plan's verdicts must stand: changes to what it ranks are judged over as many requests.
TEST(PlanAnswer, IsMetAsItIsAndWithAReplicaMore) {
  PlanQuestion question = chat_to_plan();
  question.gpus = {"l40s"};
  question.search = {parse_dimension("tp=1")};
  question.free_length = true;
  question.explain = true;
  const PlanAnswer answer = plan(question);
  ASSERT_TRUE(answer.limits && answer.limits->advice);
  EXPECT_EQ(answer.limits->advice->slo, SloOutcome::met);
  const auto& changes = answer.limits->advice->changes;
  const auto more = std::ranges::find(changes, "one replica more", &AdvisedChange::change);
  ASSERT_NE(more, changes.end());
  EXPECT_EQ(more->slo, SloOutcome::met);
}

TEST(PlanAnswer, RoutesAsItIsAskedTo) {
  // Sessions of eight turns whose prefix of 2,000 tokens is computed again wherever it is not
  // cached: by turns on each of the replicas, by prefix on one.
  PlanQuestion question = chat_to_plan();
  question.gpus = {"l40s"};
  question.search = {parse_dimension("tp=1")};
  SyntheticWorkload load{.num_prompts = 60,
                         .request_rate = 1.5,
                         .input = fixed_length(1500),
                         .output = fixed_length(40)};
  load.sessions = Sessions{.turns = fixed_length(8)};
  question.scenario.workload = load;
  question.max_replicas = 8;
  question.scenario.slo.targets = {parse_percentile_target("p95:ttft:1s")};
  question.scenario.cluster = ClusterScenario{.router = {.policy = RouterPolicy::prefix_affinity}};
  const PlanAnswer by_prefix = plan_read_back(plan(question));
  ASSERT_FALSE(by_prefix.ranked.empty());
  EXPECT_EQ(by_prefix.inputs.scenario.cluster->router.policy, RouterPolicy::prefix_affinity);
  question.scenario.cluster.reset();
  const PlanAnswer by_turns = plan(question);
  EXPECT_THAT(plan_sentences(by_turns), testing::Contains(HasSubstr("`router` prefix_affinity")));
  EXPECT_THAT(plan_sentences(by_prefix),
              testing::Not(testing::Contains(HasSubstr("`router` prefix_affinity"))));
  if (by_turns.ranked.empty()) return;
  EXPECT_GE(by_turns.ranked.front().gpus, by_prefix.ranked.front().gpus);
}

/// Short chats and long documents, which a cheap card serves too slowly for its price.
PlanQuestion chat_and_documents() {
  PlanQuestion question;
  question.scenario.deployment.model = "llama-3.1-8b";
  question.scenario.seed = 1;
  question.scenario.workload =
      SyntheticWorkload{.num_prompts = 2000,
                        .request_rate = 40,
                        .input = parse_length_distribution("lognormal:500:1"),
                        .output = fixed_length(150)};
  question.scenario.slo.targets = {parse_percentile_target("p95:ttft:500ms"),
                                   parse_percentile_target("p95:tpot:50ms")};
  question.gpus = {"h100", "l40s"};
  question.search = {parse_dimension("tp=1,2")};
  question.mix = true;
  return question;
}

TEST(PlanAnswer, FindsAMixThatSimulateFindsToHold) {
  PlanQuestion question = chat_and_documents();
  question.scenario.slo.targets.push_back(parse_percentile_target("p99:e2e:1m"));
  PreparedPlan prepared = prepare_plan(question);
  const PlanAnswer answer = plan(prepared);
  const PlanAnswer read = plan_read_back(answer);
  ASSERT_TRUE(read.mixed);
  const MixedPlan& mix = *read.mixed;
  ASSERT_GE(mix.pools.size(), 2u);
  EXPECT_LT(*mix.cost.dollars_per_hour, *answer.ranked.front().cost.dollars_per_hour);
  EXPECT_NEAR(*mix.saved_per_h,
              *answer.ranked.front().cost.dollars_per_hour - *mix.cost.dollars_per_hour, 1e-9);
  EXPECT_GE(mix.confidence.probability, kPlanProbability);
  EXPECT_TRUE(mix.pareto);  // none costs as little
  // A ranked one is only marked if the mix, which costs less, has less margin or carries less.
  for (const RankedPlan& one : read.ranked) {
    const bool beaten = mix.result.verdict.worst_margin >= one.result.verdict.worst_margin &&
                        mix.capacity_rate_per_s >= one.capacity_rate_per_s;
    EXPECT_FALSE(one.pareto && beaten) << one.title;
  }
  double shares = 0;
  std::int64_t next = 0;  // every prompt length has one pool
  for (const MixedPool& pool : mix.pools) {
    EXPECT_EQ(pool.min_input_len, next);
    next = pool.max_input_len.value_or(-1) + 1;
    shares += pool.share;
  }
  EXPECT_EQ(next, 0);
  EXPECT_NEAR(shares, 1, 1e-9);
  // The scenario in the answer is the fleet that was judged.
  const SimulationAnswer simulated =
      simulate(SimulationQuestion{.scenario = mix.scenario, .intervals = Intervals::none});
  EXPECT_EQ(simulated.slo.met, true);
  EXPECT_EQ(simulated.cost.dollars_per_hour, mix.cost.dollars_per_hour);
  EXPECT_THAT(plan_sentences(answer).front(), HasSubstr("a mix behind a router by prompt length"));
  EXPECT_EQ(answer.headline, plan_sentences(answer).front());
  // The slowest hundredth of all requests is no slower than that of the slower pool.
  double slowest = 0;
  for (const MixedPool& pool : mix.pools) {
    ASSERT_EQ(pool.targets.size(), 3u);
    EXPECT_EQ(pool.targets[2].what, "p99 E2E of " + pool.name);
    EXPECT_NEAR(pool.targets[0].achieved_s, pool.ttft_p95_s, 0.02 * pool.ttft_p95_s);
    slowest = std::max(slowest, pool.targets[2].achieved_s);
  }
  EXPECT_GE(slowest, 0.98 * mix.result.verdict.margins[2].achieved_s);
  // The store keeps figures of the mix.
  const PlanEnd end = plan_end(answer, prepared);
  const auto hash = [&](const MixedPool& pool) {
    return prepared.catalogue.gpus.at(pool.deployment.gpu).hash;
  };
  ASSERT_EQ(mix.pools.size(), 2u);
  EXPECT_EQ(end.gpu, mix.pools[0].deployment.gpu + " + " + mix.pools[1].deployment.gpu);
  EXPECT_EQ(end.profile_hash, hash(mix.pools[0]) + " + " + hash(mix.pools[1]));
}

TEST(PlanAnswer, SaysWhichTargetsAPoolMisses) {
  MixedPlan mix;
  mix.pools = {
      {.name = "l40s",
       .targets = {{"p95 TTFT of l40s", 0.5, 0.4, 0.2}, {"p99 E2E of l40s", 10, 12, -0.2}}},
      {.name = "h100-sxm", .targets = {{"p50 ITL of h100-sxm", 0.02, 0.03, -0.5}}}};
  EXPECT_THAT(missed_by_pools(mix), testing::ElementsAre(HasSubstr("p99 E2E of l40s alone is"),
                                                         HasSubstr("p50 ITL of h100-sxm alone")));
}

TEST(PlanAnswer, FindsNoMixOfEqualPrompts) {
  PlanQuestion question = chat_to_plan();
  question.mix = true;
  const PlanAnswer answer = plan_read_back(plan(question));
  EXPECT_FALSE(answer.mixed);
  EXPECT_THAT(answer.no_mix.value_or(""), HasSubstr("equally long"));
  EXPECT_THAT(plan_sentences(answer), testing::Contains(HasSubstr("No mix of pools")));
}

// Two classes of equally long requests; only chat has a limit that the cheap card cannot meet.
TEST(PlanAnswer, MixesPoolsByRequestClass) {
  PlanQuestion question = chat_and_documents();
  auto& load = std::get<SyntheticWorkload>(question.scenario.workload);
  load.input = fixed_length(500);
  load.request_rate = 30;
  question.scenario.slo.targets.clear();
  question.scenario.slo.classes = {
      {.name = "chat", .share = 0.5, .targets = {parse_percentile_target("p95:tpot:12ms")}},
      {.name = "batch", .share = 0.5, .targets = {parse_percentile_target("p95:tpot:200ms")}}};
  const PlanAnswer answer = plan_read_back(plan(question));
  ASSERT_TRUE(answer.mixed);
  EXPECT_FALSE(answer.choice_probability);  // which is of one kind
  ASSERT_EQ(answer.mixed->pools.size(), 2u);
  for (const MixedPool& pool : answer.mixed->pools) {
    ASSERT_TRUE(pool.classes);
    EXPECT_EQ(pool.deployment.gpu,
              pool.classes->front() == "chat" ? "nvidia-h100-sxm" : "nvidia-l40s");
  }
}

TEST(PlanAnswer, RefusesToMixWhatNoRouterCanDivide) {
  PlanQuestion question = chat_and_documents();
  std::get<SyntheticWorkload>(question.scenario.workload).pattern =
      StagedLoad{{{.rate = 10, .duration = Seconds{9}}, {.rate = 20, .duration = Seconds{9}}}};
  EXPECT_THROW(plan(question), UsageError);
  question = chat_and_documents();
  question.scenario.max_concurrency = 8;
  EXPECT_THROW(plan(question), UsageError);
  question = chat_and_documents();
  question.search.push_back(parse_dimension("pools=1:1"));
  EXPECT_THROW(plan(question), UsageError);
}

TEST(PlanAnswer, CountsPrefillAndDecodeReplicasAgainstTheMaximum) {
  // At most four replicas: four together, two of 1:1, one of 2:2, none of 3:2.
  PlanQuestion question = chat_to_plan();
  question.gpus = {"h100"};
  question.search = {parse_dimension("tp=1"), parse_dimension("pools=together,1:1,2:2,3:2")};
  question.max_replicas = 4;
  question.explain = true;
  const PlanAnswer answer = plan(question);
  ASSERT_EQ(answer.every_shape.size(), 4U);
  EXPECT_EQ(answer.every_shape[0].max_units, 4);
  EXPECT_EQ(answer.every_shape[1].max_units, 2);
  EXPECT_EQ(answer.every_shape[2].max_units, 1);
  EXPECT_EQ(answer.every_shape[3].max_units, 0);
}

/// Requests a minute by hour, evenly spaced.
std::string write_hours(const TemporaryFolder& folder, const std::vector<int>& per_minute) {
  std::string text = "arrival_s,input_tokens,output_tokens\n";
  for (std::size_t hour = 0; hour < per_minute.size(); ++hour) {
    for (int i = 0; i < 60 * per_minute[hour]; ++i) {
      const double time = 3600.0 * static_cast<double>(hour) + 60.0 * i / per_minute[hour];
      text += fmt::format("{:.3f},800,60\n", time);
    }
  }
  return folder.write("hours.csv", text);
}

TEST(PlanAnswer, OfALongTraceIsForItsBusiestHour) {
  const TemporaryFolder folder;
  PlanQuestion question = chat_to_plan();
  question.search = {parse_dimension("tp=1")};
  question.max_replicas = 8;
  question.scenario.workload = TraceWorkload{.path = write_hours(folder, {4, 12, 240, 30, 6})};
  question.gpus = {"l40s"};
  question.scenario.slo.targets = {parse_percentile_target("p95:ttft:1s")};
  const PlanAnswer answer = plan_read_back(plan(question));
  ASSERT_TRUE(answer.by_hour);
  const PlanHours& day = *answer.by_hour;
  ASSERT_EQ(day.hours.size(), 5U);
  EXPECT_EQ(day.busiest, 2U);
  EXPECT_EQ(day.hours[2].requests, 14'400);
  ASSERT_FALSE(answer.ranked.empty());
  const RankedPlan& best = answer.ranked.front();
  EXPECT_EQ(best.result.requests, 14'400);
  // All there are: one verdict.
  EXPECT_FALSE(breaks_on_few(best));
  EXPECT_EQ(day.hours[2].units, best.units);
  EXPECT_EQ(day.hours[1].units, best.units);  // an hour ahead
  // The last request comes 10 s before the end of the fifth hour.
  const double span_h = 5 - 10 / 3600.0;
  EXPECT_NEAR(day.fixed_cost.value(), *best.cost.dollars_per_hour * span_h, 1e-6);
  EXPECT_LE(*day.following_cost, *day.fixed_cost);
  EXPECT_NEAR(*day.following_cost / *day.fixed_cost,
              day.mean_units / static_cast<double>(best.units), 1e-6);
  question.whole_trace = true;
  const PlanAnswer whole = plan(question);
  EXPECT_FALSE(whole.by_hour);
  EXPECT_EQ(whole.requests, 60 * (4 + 12 + 240 + 30 + 6));
}

TEST(PlanAnswer, LeavesItsFiguresInTheStore) {
  PreparedPlan prepared = prepare_plan(chat_to_plan());
  const PlanAnswer answer = plan(prepared);
  EXPECT_EQ(plan_row(prepared, "roofcast plan").scenario_json, to_json(answer.inputs).dump());
  const PlanEnd end = plan_end(answer, prepared);
  EXPECT_EQ(end.summary, answer.headline);
  EXPECT_EQ(end.gpu, answer.ranked.front().deployment.gpu);
  EXPECT_EQ(to_json(plan_answer_from_json(Json::parse(end.answer_json))).dump(), end.answer_json);
  EXPECT_EQ(plan_metrics(answer).front().name, "simulations");
}

TEST(PlanAnswer, SaysThatAProbabilityTooLowIsAnUpperBound) {
  PlanAnswer answer;
  answer.inputs.min_probability = 0.9;
  CandidateFigures figures{.verdict = {.holds = true}};
  figures.probability = 0.79;
  answer.closest.push_back({.title = "2 replicas", .result = figures});
  EXPECT_THAT(joined(plan_sentences(answer), "\n"),
              HasSubstr("2 replicas: meets the SLO with probability at most 79.0 %."));
  EXPECT_EQ(miss_of(figures, 0.79), "meets the SLO with probability 79.0 %");
}

TEST(PlanAnswer, SaysHowSureItsChoiceIs) {
  PlanAnswer answer;
  answer.ranked.emplace_back();
  answer.ranked.front().confidence.probability = 0.99;
  answer.inputs.min_probability = 0.9;
  const auto words = [&](double choice) {
    answer.choice_probability = choice;
    return joined(plan_sentences(answer), "\n");
  };
  EXPECT_THAT(words(0.95),
              HasSubstr("Probability 95.0 % that the first meets the SLO and nothing"));
  // 0.99 - 0.1: it meets the SLO, and so does something cheaper.
  EXPECT_THAT(words(0.1),
              testing::AllOf(HasSubstr("would meet the SLO, too, with probability 89.0 %"),
                             HasSubstr("none alone reaches the 90.0 % asked for")));
  // It may well miss the SLO: that is what counts.
  answer.ranked.front().confidence.probability = 0.52;
  EXPECT_THAT(words(0.45), HasSubstr("Probability 45.0 % that the first meets the SLO"));
}

}  // namespace
}  // namespace roofcast::test
