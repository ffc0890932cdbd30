#include "roofcast/capacity.hpp"

#include <nlohmann/json.hpp>

#include "base/dates.hpp"
#include "base/error.hpp"
#include "roofcast/simulate.hpp"
#include "roofcast/store_rows.hpp"
#include "tests/roofcast/read_back.hpp"
#include "tests/support/trials.hpp"

namespace roofcast::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// 100 requests at 3 a second, which one H100 serves as they come.
Scenario chat_to_size() {
  Scenario scenario{.deployment = {.model = "llama-3.1-8b", .gpu = "h100"}, .seed = 1};
  scenario.workload = SyntheticWorkload{.num_prompts = 100,
                                        .request_rate = 3,
                                        .input = fixed_length(1500),
                                        .output = fixed_length(20)};
  scenario.slo.targets = {parse_percentile_target("p95:ttft:500ms")};
  return scenario;
}

CapacityAnswer capacity_read_back(const CapacityAnswer& answer) {
  return test::read_back(answer, capacity_answer_from_json, capacity_answer_schema());
}

TEST(Capacity, ReadsBackAsItWasWritten) {
  CapacityQuestion question{.scenario = chat_to_size(), .explain = true};
  question.growth = GrowthQuestion{.growth = {.rate = 0.1}, .from = parse_date("2026-11-22")};
  const CapacityAnswer answer = capacity(question);
  const CapacityAnswer read = capacity_read_back(answer);
  ASSERT_TRUE(read.asked);
  EXPECT_EQ(read.load, LoadKind::rate);
  EXPECT_EQ(read.asked->load, 3);
  EXPECT_EQ(read.capacity, answer.capacity);
  EXPECT_EQ(read.headroom, *answer.capacity / 3);
  EXPECT_EQ(read.growth->date, answer.growth->date);
  ASSERT_FALSE(read.limits.limits.empty());
  EXPECT_TRUE(read.limits.limits.front().relaxed_capacity);
  EXPECT_EQ(read.limits.load, answer.limits.load);
  EXPECT_EQ(read.inputs.scenario.slo.targets.front().limit.value, 0.5);
}

// The same requests on the same engine, so the same steps.
TEST(Capacity, HasTheUtilisationOfTheSimulation) {
  const CapacityAnswer answer = capacity_read_back(capacity({.scenario = chat_to_size()}));
  const SimulationAnswer once = simulate({.scenario = chat_to_size()});
  ASSERT_EQ(answer.asked->utilisation.size(), 1U);
  EXPECT_DOUBLE_EQ(answer.asked->utilisation[0].mfu, once.utilisation.at(0).mfu);
  EXPECT_DOUBLE_EQ(answer.asked->utilisation[0].mbu, once.utilisation.at(0).mbu);
  // Prompts of 1,500 tokens, many at once beyond capacity: far above the ridge of 295 FLOP/byte.
  ASSERT_EQ(answer.limits.utilisation.size(), 1U);
  EXPECT_GT(answer.limits.utilisation[0].mfu, once.utilisation[0].mfu);
  EXPECT_GT(answer.limits.utilisation[0].mfu, answer.limits.utilisation[0].mbu);
}

TEST(Capacity, OfAClosedLoopIsANumberInFlight) {
  Scenario scenario = chat_to_size();
  std::get<SyntheticWorkload>(scenario.workload).request_rate = kAllAtOnce;
  scenario.max_concurrency = 4;
  const CapacityAnswer answer = capacity({.scenario = scenario});
  const CapacityAnswer read = capacity_read_back(answer);
  EXPECT_EQ(read.load, LoadKind::concurrency);
  EXPECT_EQ(read.asked->load, 4);
  for (const CapacityPoint& point : read.curve) EXPECT_EQ(point.kind, LoadKind::concurrency);
  EXPECT_EQ(read.limits.kind, LoadKind::concurrency);
}

TEST(Capacity, WithoutAReplicaIsAskedPoolByPool) {
  Scenario scenario = chat_to_size();
  scenario.cluster = ClusterScenario{.pools = {{.name = "two", .replicas = 2}}};
  const CapacityAnswer answer = capacity({.scenario = scenario, .lose_one = true});
  const CapacityAnswer read = capacity_read_back(answer);
  ASSERT_EQ(read.lost.size(), 1U);
  EXPECT_EQ(read.lost[0].pool, "two");
  EXPECT_EQ(read.lost[0].replicas_left, 1);
  ASSERT_TRUE(read.lost[0].capacity);
  EXPECT_LT(*read.lost[0].capacity, *read.capacity);
}

TEST(Capacity, OfWhatDoesNotFitSaysWhyAndNothingElse) {
  Scenario scenario = chat_to_size();
  scenario.deployment.model = "llama-3.1-405b";
  const CapacityAnswer answer = capacity({.scenario = scenario});
  EXPECT_FALSE(answer.fits);
  EXPECT_FALSE(answer.holds);
  EXPECT_THAT(capacity_read_back(answer).reason, HasSubstr("does not fit"));
  std::vector<std::string> keys;
  const Json json = to_json(answer);
  for (const auto& item : json.items()) keys.push_back(item.key());
  EXPECT_THAT(keys,
              ElementsAre("schema_version", "tool_version", "command", "inputs", "fits", "reason"));
}

TEST(Capacity, RefusesTheAnswerToAnotherQuestion) {
  Json json = to_json(capacity({.scenario = chat_to_size()}));
  json["command"] = "memory";
  EXPECT_THROW(capacity_answer_from_json(json), Error);
  json.erase("capacity");
  EXPECT_THROW(capacity_answer_from_json(json), Error);
}

TEST(Capacity, IsCancelledByItsProgress) {
  EXPECT_THROW(capacity({.scenario = chat_to_size()},
                        [](std::int64_t done, std::int64_t) { return done < 5; }),
               Error);
}

TEST(Capacity, LeavesItsFiguresInTheStore) {
  const CapacityAnswer answer = capacity({.scenario = chat_to_size()});
  const roofcast::Run run = capacity_row(answer, "roofcast capacity");
  EXPECT_EQ(run.row.kind, "capacity");
  EXPECT_EQ(run.row.gpu, "nvidia-h100-sxm");
  EXPECT_THAT(run.row.summary, HasSubstr("capacity "));
  ASSERT_FALSE(run.metrics.empty());
  EXPECT_EQ(run.metrics.front().name, "capacity_rate_per_s");
  EXPECT_EQ(run.metrics.front().value, answer.capacity);
  const auto per_hour =
      std::ranges::find(run.metrics, "cost_usd_per_h", &roofcast::MetricRow::name);
  ASSERT_NE(per_hour, run.metrics.end());
  EXPECT_EQ(per_hour->value, answer.cost.dollars_per_hour);
}

/// Sessions of three turns on a small engine.
Scenario sessions_at(double sessions_per_s) {
  Scenario scenario{.deployment = {.model = "llama-3.2-1b", .gpu = "rtx-4090"}, .seed = 2};
  scenario.deployment.overrides.max_model_len = 8192;
  SyntheticWorkload load{
      .request_rate = sessions_per_s, .input = fixed_length(400), .output = fixed_length(30)};
  load.sessions = Sessions{.turns = fixed_length(3)};
  scenario.workload = load;
  scenario.slo.targets = {parse_percentile_target("p95:ttft:200ms")};
  return scenario;
}

// The capacity of sessions once depended on the number of prompts (44, 30, 27 and 26 for 500 to
// 8,000), and capacity, plan and simulate printed three rates for one load.
TEST(Capacity, OfSessionsIsOneNumberWhateverTheirNumberAndTheQuestion) {
  if (kSanitised) GTEST_SKIP() << "some 100,000 requests";
  const CapacityAnswer answer = capacity({.scenario = sessions_at(5), .free_length = true});
  ASSERT_TRUE(answer.capacity);
  EXPECT_EQ(answer.turns_per_session, 3);
  const double sessions = *answer.capacity / 3;
  // With given numbers of sessions, judged as they are, the same within the search's 1 % and
  // chance, if there are enough of them, since the end of a short run near saturation is served
  // faster.
  const auto of_number = [](std::int64_t number) {
    Scenario fixed = sessions_at(5);
    std::get<SyntheticWorkload>(fixed.workload).num_prompts = number;
    return capacity({.scenario = fixed}).capacity.value();
  };
  const double of_many = of_number(4'000);
  EXPECT_NEAR(of_number(2'000), of_many, 0.05 * of_many);
  // A load that stays undecided is not carried: never more than those.
  EXPECT_LE(*answer.capacity, 1.02 * of_many);
  // At that load simulate says the same rate: three times the sessions, of which it draws 2,000 or
  // more, whose number in a time has an error of 1 / sqrt(2,000), three times over.
  const SimulationAnswer at =
      simulate({.scenario = sessions_at(0.9 * sessions), .free_length = true});
  EXPECT_EQ(at.slo.met, true);
  EXPECT_NEAR(at.load.offered_rate_per_s, 0.9 * *answer.capacity, 0.07 * *answer.capacity);
  EXPECT_NEAR(at.session_rate_per_s.value() * 3, at.load.offered_rate_per_s, 1e-6);
  const SimulationAnswer beyond =
      simulate({.scenario = sessions_at(1.3 * sessions), .free_length = true});
  EXPECT_EQ(beyond.slo.met, false);
}

}  // namespace
}  // namespace roofcast::test
