#include "roofcast/simulate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "simulator/io/scenario_workload.hpp"
#include "simulator/results/figures.hpp"

namespace roofcast::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

/// 40 requests in about four seconds, which one H100 serves as they come.
Scenario chat_at_ten() {
  Scenario scenario{.deployment = {.model = "llama-3.1-8b", .gpu = "h100"}, .seed = 1};
  scenario.workload = SyntheticWorkload{.num_prompts = 40,
                                        .request_rate = 10,
                                        .input = fixed_length(300),
                                        .output = fixed_length(20)};
  scenario.slo.targets = {parse_percentile_target("p95:ttft:500ms"),
                          parse_percentile_target("p99:itl:1us")};
  scenario.slo.goodput = {parse_goodput_limit("tpot:50")};
  return scenario;
}

Scenario prefill_apart() {
  Scenario scenario = chat_at_ten();
  scenario.cluster = ClusterScenario{
      .pools = {{.name = "prefill", .role = PoolRole::prefill, .replicas = 2},
                {.name = "decode", .role = PoolRole::decode, .own = {.gpu = "h200"}}}};
  return scenario;
}

void expect_to_read_back(const SimulationAnswer& answer) {
  const std::string written = to_json(answer).dump(2);
  const SimulationAnswer read = simulation_answer_from_json(Json::parse(written));
  EXPECT_EQ(to_json(read).dump(2), written);
  EXPECT_EQ(is_yes(read), is_yes(answer));
  EXPECT_EQ(read.stopped, answer.stopped);
  EXPECT_EQ(read.load.unfinished, answer.load.unfinished);
}

/// The SLO of a result as the store keeps it: 1 or 0.
std::optional<double> stored_slo(const SimulationResult& result) {
  for (const StoredFigure& figure : stored_figures(result)) {
    if (std::string_view(figure.name) == "slo_met") return figure.value;
  }
  return std::nullopt;
}

TEST(Simulate, WhatIsUndecidedIsNotMetInTheStoreEither) {
  SimulationQuestion question{.scenario = chat_at_ten(), .free_length = true, .max_requests = 60};
  question.scenario.slo.targets.resize(1);  // TTFT, met by far: but 60 requests prove nothing
  const SimulationOutcome outcome = simulate_in_steps(question);
  ASSERT_TRUE(outcome.answer.slo.undecided);
  EXPECT_EQ(outcome.answer.slo.met, false);
  EXPECT_EQ(stored_slo(outcome.run.result), 0);
  // A load whose requests are given is judged by them.
  question.free_length = false;
  const SimulationOutcome given = simulate_in_steps(question);
  EXPECT_EQ(given.answer.slo.met, true);
  EXPECT_EQ(stored_slo(given.run.result), 1);
}

TEST(Simulate, IntervalsAndProbabilityAreTheQuestions) {
  SimulationQuestion question{.scenario = chat_at_ten()};
  EXPECT_FALSE(simulate(question).intervals);
  question.intervals = Intervals::of_small_loads;
  const SimulationAnswer answer = simulate(question);
  ASSERT_TRUE(answer.intervals);
  EXPECT_TRUE(answer.intervals->chance);
  // A gap of one microsecond is out of reach: the SLO is missed however the inputs err.
  ASSERT_TRUE(answer.slo.probability);
  EXPECT_LT(*answer.slo.probability, 0.001);
  expect_to_read_back(answer);
}

TEST(Simulate, ANumberOfRequestsThatNobodyAskedForHasItsProbability) {
  // The limit is the percentile of the same load, so that no number of requests settles the
  // verdict.
  SimulationQuestion question{.scenario = chat_at_ten(), .free_length = true};
  question.max_requests = 32'000;
  question.intervals = Intervals::of_small_loads;
  auto& load = std::get<SyntheticWorkload>(question.scenario.workload);
  load.output = fixed_length(8);
  load.num_prompts = 2 * kSmallLoad;
  question.scenario.slo.targets = {parse_percentile_target("p95:ttft:1h")};
  SimulationQuestion given = question;
  given.free_length = false;
  const SimulationAnswer by_given = simulate(given);
  EXPECT_FALSE(by_given.intervals);
  EXPECT_FALSE(by_given.slo.probability);
  question.scenario.slo.targets[0].limit = Seconds{by_given.load.ttft.p95};
  const SimulationAnswer chosen = simulate(question);
  ASSERT_GT(chosen.workload.requests, kSmallLoad);
  EXPECT_TRUE(chosen.intervals);
  EXPECT_TRUE(chosen.slo.probability);
}

TEST(Simulate, SaysOfTwoPoolsOnceWhereTheirWattsAreFrom) {
  const SimulationAnswer answer = simulate({.scenario = prefill_apart()});
  const auto of_watts = [](const std::string& note) { return note.starts_with("watts:"); };
  EXPECT_EQ(std::ranges::count_if(answer.notes, of_watts), 1);
}

TEST(Simulate, AGivenLoadHasNoOtherDraws) {
  SimulationQuestion question{.scenario = chat_at_ten(), .intervals = Intervals::always};
  question.recorded = load_workload(question.scenario);
  ASSERT_TRUE(simulate(question).intervals);
  EXPECT_FALSE(simulate(question).intervals->chance);
}

TEST(Simulate, ASaturatedLoadHasNoIntervals) {
  SimulationQuestion question{.scenario = chat_at_ten(), .intervals = Intervals::always};
  auto& load = std::get<SyntheticWorkload>(question.scenario.workload);
  load.request_rate = 10'000;
  load.num_prompts = 1000;
  const SimulationAnswer answer = simulate(question);
  ASSERT_TRUE(answer.saturation.saturated);
  EXPECT_FALSE(answer.intervals);
  EXPECT_THAT(answer.notes, Contains(HasSubstr("no intervals")));
}

/// Long prompts with short answers, on one L40S.
Scenario prompts_on_an_l40s(double request_rate) {
  Scenario scenario = chat_at_ten();
  scenario.deployment.gpu = "l40s";
  scenario.workload = SyntheticWorkload{.num_prompts = 600,
                                        .request_rate = request_rate,
                                        .input = fixed_length(1200),
                                        .output = fixed_length(20)};
  scenario.slo.targets = {parse_percentile_target("p95:ttft:2s")};
  return scenario;
}

TEST(SimulationAnswer, ExplainedEndsWithWhatHelpsAndItsCost) {
  // Twice what one L40S serves: nearly all of TTFT is waiting, and a second one takes it away.
  Scenario scenario = prompts_on_an_l40s(14);
  const SimulationAnswer answer = simulate({.scenario = scenario, .explain = true});
  expect_to_read_back(answer);
  EXPECT_GT(answer.saturation.queueing_share, 0.9);
  ASSERT_TRUE(answer.limits);
  EXPECT_EQ(answer.limits->binding, LimitKind::queueing);
  ASSERT_TRUE(answer.limits->advice);
  const AdviceAnswer& advice = *answer.limits->advice;
  const auto replica = std::ranges::find(advice.changes, "--replicas 2", &AdvisedChange::flags);
  ASSERT_NE(replica, advice.changes.end());
  EXPECT_NEAR(*replica->dollars_per_hour, 2 * *advice.dollars_per_hour, 1e-9);
  EXPECT_GT(replica->relative_gain.value(), 0.5);
  EXPECT_TRUE(std::ranges::is_sorted(advice.changes, std::ranges::greater{},
                                     &AdvisedChange::relative_gain));
  // As what-if would have it: the same requests on two.
  scenario.cluster = ClusterScenario{.pools = {{.replicas = 2}}};
  const SimulationAnswer two = simulate({.scenario = scenario});
  EXPECT_DOUBLE_EQ(two.slo.targets.front().achieved, replica->latency_s.value());
}

// Without chunks TensorRT-LLM refuses prompts beyond its tokens a step, 8,192: half as many tokens
// would serve the rest sooner, which is no help.
TEST(SimulationAnswer, ExplainedDoesNotRefuseToServeFaster) {
  Scenario scenario = prompts_on_an_l40s(1);
  scenario.deployment.engine = "trtllm-1.2";
  std::get<SyntheticWorkload>(scenario.workload).input =
      parse_length_distribution("uniform:6000:9000");
  const SimulationAnswer answer = simulate({.scenario = scenario, .explain = true});
  EXPECT_GT(answer.load.rejected, 0);
  ASSERT_TRUE(answer.limits && answer.limits->advice);
  const std::vector<AdvisedChange>& changes = answer.limits->advice->changes;
  const auto has = [&](const char* flags) {
    return std::ranges::count(changes, flags, &AdvisedChange::flags) > 0;
  };
  EXPECT_FALSE(has("--max-num-batched-tokens 4096"));
  EXPECT_TRUE(has("--max-num-batched-tokens 16384"));
  EXPECT_TRUE(has("--enable-chunked-prefill true"));
  EXPECT_TRUE(has("--cuda-graph-padding true"));
}

// DeepSeek-R1's checkpoint is in 8 bits.
TEST(SimulationAnswer, ExplainedOffersNo8BitsToACheckpointThatHasThem) {
  Scenario scenario{.deployment = {.model = "deepseek-r1", .gpu = "h200"}};
  scenario.deployment.parallel.tensor = 8;
  scenario.workload = SyntheticWorkload{
      .num_prompts = 20, .request_rate = 1, .input = fixed_length(500), .output = fixed_length(20)};
  const SimulationAnswer answer = simulate({.scenario = scenario, .explain = true});
  ASSERT_TRUE(answer.limits && answer.limits->advice);
  EXPECT_EQ(
      std::ranges::count(answer.limits->advice->changes, "8-bit weights", &AdvisedChange::change),
      0);
}

TEST(SimulationAnswer, ExplainedFindsTheReplicasThatItTakes) {
  // Far beyond what one L40S serves: no single change is enough.
  Scenario scenario = prompts_on_an_l40s(40);
  const SimulationAnswer answer = simulate({.scenario = scenario, .explain = true});
  ASSERT_TRUE(answer.limits && answer.limits->advice);
  const AdviceAnswer& advice = *answer.limits->advice;
  EXPECT_NE(advice.slo, SloOutcome::met);
  const auto enough =
      std::ranges::find(advice.changes, "as many replicas as it takes", &AdvisedChange::change);
  ASSERT_NE(enough, advice.changes.end());
  EXPECT_EQ(enough->slo, SloOutcome::met);
  EXPECT_EQ(std::ranges::count(advice.changes, SloOutcome::met, &AdvisedChange::slo), 1);
  // That many are certainly enough, and one fewer are not.
  const auto replicas =
      static_cast<std::int32_t>(std::stoi(enough->flags.substr(std::string("--replicas ").size())));
  const auto meets = [&](std::int32_t count) {
    scenario.cluster = ClusterScenario{.pools = {{.replicas = count}}};
    const SimulatedSlo slo = simulate({.scenario = scenario}).slo;
    return slo.met.value() && !slo.undecided;
  };
  EXPECT_TRUE(meets(replicas));
  EXPECT_FALSE(meets(replicas - 1));
}

TEST(SimulationAnswer, ReadsBackAsItWasWritten) {
  const SimulationAnswer answer = simulate({.scenario = chat_at_ten(), .explain = true});
  EXPECT_EQ(answer.load.completed, 40);
  ASSERT_TRUE(answer.limits);
  expect_to_read_back(answer);
}

TEST(SimulationAnswer, OfPoolsThatDifferReadsBackAsItWasWritten) {
  const SimulationAnswer answer = simulate({.scenario = prefill_apart()});
  EXPECT_FALSE(answer.inputs.deployment);
  EXPECT_EQ(answer.replicas.size(), 3U);
  expect_to_read_back(answer);
}

// Shared parts that are evicted before they are used again are not hits, but still shared: what is
// read back says so as the answer itself does.
TEST(SimulationAnswer, OfSharedPrefixesWithoutAHitReadsBackAsSuch) {
  Scenario scenario = chat_at_ten();
  EXPECT_FALSE(simulate({.scenario = scenario}).workload.shares_prefixes.value());
  auto& workload = std::get<SyntheticWorkload>(scenario.workload);
  workload.num_prompts = 1;
  workload.shared_prefix = SharedPrefix{.groups = 1, .system_prompt = fixed_length(100)};
  const SimulationAnswer answer = simulate({.scenario = scenario});
  EXPECT_EQ(answer.engine.prefix_hits, 0);  // no request came before the only one
  EXPECT_GT(answer.engine.prefix_queries, 0);
  EXPECT_TRUE(answer.workload.shares_prefixes.value());
  const SimulationAnswer read = simulation_answer_from_json(to_json(answer));
  EXPECT_TRUE(read.workload.shares_prefixes.value());
}

TEST(SimulationAnswer, OfWhatDoesNotFitSaysWhyAndNothingElse) {
  Scenario scenario = chat_at_ten();
  scenario.deployment.model = "llama-3.1-405b";
  const SimulationAnswer answer = simulate({.scenario = scenario});
  EXPECT_FALSE(answer.fits);
  EXPECT_FALSE(is_yes(answer));
  EXPECT_THAT(answer.reason.value(), HasSubstr("does not fit"));
  std::vector<std::string> keys;
  const Json json = to_json(answer);
  for (const auto& item : json.items()) keys.push_back(item.key());
  EXPECT_THAT(keys, testing::ElementsAre("schema_version", "tool_version", "command", "inputs",
                                         "fits", "reason"));
  expect_to_read_back(answer);
}

// Utilisation against the step's own bounds: a prompt of 8,000 tokens does 8,000 x 2 FLOPs a weight
// and reads it once, far beyond the 295 FLOP/byte of an H100's ridge; a decode step of one sequence
// does 1 FLOP/byte.
TEST(SimulationAnswer, SaysWhatPromptsAndDecodesUse) {
  const auto used = [](std::int64_t input, std::int64_t output) {
    Scenario scenario{.deployment = {.model = "llama-3.1-8b", .gpu = "h100"}};
    scenario.workload = SyntheticWorkload{
        .num_prompts = 1, .input = fixed_length(input), .output = fixed_length(output)};
    const SimulationAnswer answer = simulate({.scenario = scenario});
    EXPECT_EQ(answer.utilisation.size(), 1U);
    return answer.utilisation.at(0);
  };
  const PoolUtilisation prompt = used(8000, 1);
  EXPECT_GT(prompt.mfu, 0.3);
  EXPECT_LT(prompt.mfu, 1);
  EXPECT_GT(prompt.mfu, 20 * prompt.mbu);  // 8000 / 295 = 27, attention on top
  const PoolUtilisation decode = used(1, 500);
  EXPECT_GT(decode.mbu, 0.3);
  EXPECT_LT(decode.mbu, 1);
  EXPECT_GT(decode.mbu, 200 * decode.mfu);  // 295, except in the first step
}

TEST(SimulationAnswer, OfARunThatWasStoppedIsNoYes) {
  const SimulationAnswer answer = simulate(
      {.scenario = chat_at_ten()}, [](std::int64_t done, std::int64_t) { return done < 10; });
  EXPECT_TRUE(answer.stopped);
  EXPECT_FALSE(is_yes(answer));
  EXPECT_FALSE(answer.slo.met);
  EXPECT_GT(answer.load.unfinished, 0);
  expect_to_read_back(answer);
}

TEST(SimulationAnswer, SaysThatLimitsAreLeftOutWhenTheyWereInterrupted) {
  // The run goes through; the simulations with wider limits, of which there are fewer, do not.
  const SimulationAnswer answer =
      simulate({.scenario = chat_at_ten(), .explain = true},
               [](std::int64_t, std::int64_t total) { return total == 40; });
  EXPECT_FALSE(answer.stopped);
  EXPECT_FALSE(answer.limits);
  EXPECT_THAT(answer.notes.back(), HasSubstr("the limits of the run are left out"));
}

TEST(SimulationAnswer, IsAYesWhenThePromiseIsKept) {
  Scenario scenario = chat_at_ten();
  EXPECT_FALSE(is_yes(simulate({.scenario = scenario})));  // no gap is a microsecond
  scenario.slo.targets.pop_back();
  EXPECT_TRUE(is_yes(simulate({.scenario = scenario})));
}

/// Keys of `json` that `schema` does not describe, by their paths.
void add_unknown_keys(const Json& json, const Json& schema, const std::string& path,
                      std::vector<std::string>& unknown) {
  if (json.is_array() && schema.contains("items")) {
    for (const Json& one : json) add_unknown_keys(one, schema["items"], path + "[]", unknown);
  }
  if (!json.is_object() || !schema.contains("properties")) return;
  for (const auto& item : json.items()) {
    const std::string inner = path + "." + item.key();
    if (!schema["properties"].contains(item.key())) {
      unknown.push_back(inner);
      continue;
    }
    add_unknown_keys(item.value(), schema["properties"][item.key()], inner, unknown);
  }
  for (const Json& key : schema["required"]) {
    if (!json.contains(key.get<std::string>()))
      unknown.push_back("missing " + path + "." + key.get<std::string>());
  }
}

TEST(SimulationAnswer, HasASchemaOfAllItsKeys) {
  const Json schema = simulation_answer_schema();
  std::vector<std::string> unknown;
  for (const SimulationQuestion& question :
       {SimulationQuestion{.scenario = chat_at_ten(), .explain = true},
        SimulationQuestion{.scenario = prefill_apart()}}) {
    add_unknown_keys(to_json(simulate(question)), schema, "", unknown);
  }
  EXPECT_THAT(unknown, IsEmpty());
  EXPECT_EQ(schema["properties"]["ttft_s"]["properties"]["p95"]["description"], "seconds");
}

TEST(SimulationAnswer, IsNotReadFromAnotherQuestionsAnswer) {
  Json json = to_json(simulate({.scenario = chat_at_ten()}));
  json["command"] = "capacity";
  EXPECT_THROW(simulation_answer_from_json(json), Error);
  EXPECT_THROW(simulation_answer_from_json(Json::array()), Error);
}

}  // namespace
}  // namespace roofcast::test
