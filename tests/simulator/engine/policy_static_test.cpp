// Static batching, worked out by hand. Requests are named A, B, C = 0, 1, 2; "A4" means four tokens
// of A are computed in the step.
#include <gmock/gmock.h>

#include "model/step/staircase.hpp"
#include "model/step/step_estimate.hpp"
#include "simulator/engine/batching_policy.hpp"
#include "tests/model/step/step_time_cases.hpp"
#include "tests/simulator/engine/schedule.hpp"
#include "tests/support/shapes.hpp"

namespace roofcast::test {
namespace {

using testing::ElementsAre;

Engine static_engine(std::int64_t batch) {
  Engine engine = plain_engine();
  engine.scheduler = SchedulerKind::static_batch;
  engine.chunked_prefill = false;
  engine.max_num_seqs = batch;
  return engine;
}

Engine naive_engine() {
  Engine engine = static_engine(1);
  engine.scheduler = SchedulerKind::naive;
  return engine;
}

TEST(StaticBatch, TheNextBatchWaitsForTheLongestOutput) {
  // Batches of 2. B ends in the first step; its place stays empty until A has ended.
  Schedule schedule(static_engine(2), 100, 4, batch_of({{4, 3}, {8, 1}, {4, 2}, {2, 1}}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A4 B8", "A1", "A1", "C4 D2", "C1"));
}

TEST(StaticBatch, WhoArrivesWhileABatchRunsWaitsThoughThereIsAPlace) {
  Workload workload = batch_of({{4, 3}, {4, 1}});
  workload.requests[1].arrival = kSecond / 2;
  EXPECT_THAT(Schedule(static_engine(2), 100, 4, workload).steps_to_end(),
              ElementsAre("A4", "A1", "A1", "B4"));
}

TEST(StaticBatch, ABatchEndsWhereTheCacheOrTheStepIsFull) {
  // Blocks of 4, 5 usable. A: 8 in, 2 out, 3 blocks; B: 4 in, 4 out, 2 blocks; none is left for C.
  // Then 9 tokens a step, which A and B fill.
  EXPECT_THAT(Schedule(static_engine(3), 5, 4, batch_of({{8, 2}, {4, 4}, {2, 1}})).steps_to_end(),
              ElementsAre("A8 B4", "A1 B1", "B1", "B1", "C2"));
  Engine engine = static_engine(3);
  engine.max_num_batched_tokens = 9;
  EXPECT_THAT(Schedule(engine, 100, 4, batch_of({{4, 1}, {5, 1}, {1, 1}})).steps_to_end(),
              ElementsAre("A4 B5", "C1"));
}

TEST(StaticBatch, ContinuousBatchingServesTheWorkedExampleInElevenStepsInsteadOfTwenty) {
  // Two places, outputs of 10, 1, 10 and 1 tokens, steps of a second. Static: A and B take 10 steps
  // for A's sake, C and D 10 for C's. Continuous: B's place goes to C in step 2, which ends in step
  // 11; A's goes to D in step 11.
  const Workload workload = batch_of({{1, 10}, {1, 1}, {1, 10}, {1, 1}});
  const FakeStepTime step_time(Seconds{1});
  const auto makespan = [&](const Engine& engine) {
    return simulate(replica_of(engine, step_time, 1000, 1), workload, {}).makespan.value;
  };
  Engine continuous = plain_engine();
  continuous.max_num_seqs = 2;
  EXPECT_DOUBLE_EQ(makespan(static_engine(2)), 20.0);
  EXPECT_DOUBLE_EQ(makespan(continuous), 11.0);
}

TEST(NaiveLoop, EveryTokenComputesTheWholeSequenceOneRequestAtATime) {
  Schedule schedule(naive_engine(), 1, 4, batch_of({{3, 3}, {5, 1}}));
  EXPECT_EQ(schedule.step(), "A3");
  EXPECT_EQ(schedule.step(), "A4");
  EXPECT_EQ(schedule.chunks()[0].new_tokens, 4);
  EXPECT_EQ(schedule.chunks()[0].context_tokens, 0);
  EXPECT_EQ(schedule.used_blocks(), 0);
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A5", "B5"));
}

TEST(NaiveLoop, ComputesAsManyTokensAsTheStaircaseCounts) {
  // 100 in, 50 out: 50 * 100 + 50 * 49 / 2 = 6,225.
  const FakeStepTime step_time(Seconds{1});
  const SimulationResult result =
      simulate(replica_of(naive_engine(), step_time, 1, 16), batch_of({{100, 50}}), {});
  EXPECT_EQ(result.use.prefill_tokens, 6225);
  EXPECT_EQ(result.use.prefill_tokens, count_staircase(100, 50).naive_kv_computations);
  EXPECT_EQ(result.use.decode_tokens, 0);
}

TEST(NaiveLoop, TakesTheTimeOfTheStaircase) {
  Deployment deployment = deployment_of(llama_3_1_8b(), round_gpu());
  deployment.engine.scheduler = SchedulerKind::naive;
  deployment.engine.chunked_prefill = false;
  deployment.engine.max_num_seqs = 1;
  deployment.engine.max_num_batched_tokens = 1000;
  deployment.engine.host.per_request = deployment.engine.host.per_prompt_token = Seconds{0};
  const StaircaseTimes times = time_staircase(deployment, 500, 200);
  const RooflineStepTime step_time(deployment);
  for (const bool async : {false, true}) {
    Engine engine = deployment.engine;
    engine.async_scheduling = async;  // of the scheduler alone: the step times are the same
    const SimulationResult result =
        simulate(replica_of(engine, step_time, 1, 16), batch_of({{500, 200}}), {});
    // Each of 200 steps is rounded to a nanosecond.
    EXPECT_NEAR(result.makespan.value, times.naive_total.value, 200 * 0.5e-9 + 1e-12);
  }
}

// A kind without a row of kSchedulers would only be found when it runs.
TEST(Schedulers, EveryPresetHasOne) {
  for (const EnginePreset& preset : engine_presets()) {
    EXPECT_NE(make_policy(preset.defaults), nullptr) << preset.name;
  }
}

}  // namespace
}  // namespace roofcast::test
