// LoRA adapters in vLLM's schedules, worked out by hand, step by step (schedule.hpp).
#include <gmock/gmock.h>

#include "tests/simulator/engine/schedule.hpp"

namespace roofcast::test {
namespace {

using testing::ElementsAre;

/// Requests with these adapters, all at time 0.
Workload with_adapters(const std::vector<Lengths>& lengths,
                       const std::vector<std::int32_t>& adapters) {
  Workload workload = batch_of(lengths);
  for (std::size_t i = 0; i < adapters.size(); ++i) workload.requests[i].adapter = adapters[i];
  return workload;
}

TEST(Lora, AnAdapterTooManyIsSetAsideAndOthersPass) {
  // One adapter at once. B's (1) waits for A's (0); C has A's and D none: they start. When A and C
  // have ended, B starts.
  Schedule schedule(plain_engine(), 100, 16,
                    with_adapters({{4, 2}, {4, 1}, {4, 3}, {4, 1}}, {0, 1, 0, -1}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A4 C4 D4", "A1 C1", "C1", "B4"));
}

TEST(Lora, MaxLorasCountsDistinctAdapters) {
  Engine engine = plain_engine();
  engine.lora.max_loras = 2;
  Schedule schedule(engine, 100, 16, with_adapters({{4, 2}, {4, 2}, {4, 1}, {4, 1}}, {0, 1, 2, 1}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A4 B4 D4", "A1 B1", "C4"));
}

TEST(Lora, ThoseSetAsideKeepTheirOrder) {
  // B and C have adapter 1, D 2. When A has ended, B and C start, and D after them.
  Schedule schedule(plain_engine(), 100, 16,
                    with_adapters({{4, 2}, {4, 1}, {4, 2}, {4, 1}}, {0, 1, 1, 2}));
  EXPECT_THAT(schedule.steps_to_end(), ElementsAre("A4", "A1", "B4 C4", "C1", "D4"));
}

TEST(Lora, AStepWithAdaptersTakesLonger) {
  // Steps of 1 s, 0.5 s more with any adapter and 0.25 s for each distinct one: A and B have two, C
  // none. 1: three prompts, 2 s. 2: B and C, 1.75 s. 3: C alone, 1 s.
  Engine engine = plain_engine();
  engine.lora = {.max_loras = 2, .step = Seconds{0.5}, .adapter = Seconds{0.25}};
  const FakeStepTime step_time(Seconds{1});
  const Workload workload = with_adapters({{4, 1}, {4, 2}, {4, 3}}, {0, 1, -1});
  for (const EngineKind kind : {EngineKind::plain, EngineKind::fast}) {
    const auto result = simulate(roomy_replica(engine, step_time), workload, {.engine_kind = kind});
    EXPECT_EQ(result.requests[0].finished, 2 * kSecond);
    EXPECT_EQ(result.requests[1].finished, 15 * kSecond / 4);
    EXPECT_EQ(result.requests[2].finished, 19 * kSecond / 4);
  }
}

}  // namespace
}  // namespace roofcast::test
