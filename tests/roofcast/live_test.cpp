// The live engine keeps the simulator's schedule.
#include "roofcast/live.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <vector>

#include "base/error.hpp"
#include "roofcast/simulate.hpp"

namespace roofcast::test {
namespace {

Scenario scenario_with(const char* engine = "vllm-0.19") {
  Scenario scenario;
  scenario.deployment.model = "gpt2";
  scenario.deployment.gpu = "h100";
  scenario.deployment.engine = engine;
  return scenario;
}

/// Collects a request's tokens until it has finished.
class Listener {
 public:
  LiveEngine::OnTokens on_tokens() {
    return [this](const LiveTokens& tokens) {
      const std::lock_guard lock(mutex_);
      tokens_.push_back(tokens);
      changed_.notify_all();
    };
  }
  std::vector<LiveTokens> wait_for_end() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !tokens_.empty() && tokens_.back().finished; });
    return tokens_;
  }

 private:
  std::mutex mutex_{};
  std::condition_variable changed_{};
  std::vector<LiveTokens> tokens_{};
};

class LiveSchedule : public testing::TestWithParam<const char*> {};

TEST_P(LiveSchedule, OfOneRequestIsTheSimulatorsToTheNanosecond) {
  constexpr std::int64_t kInput = 300, kOutput = 20;
  const Scenario scenario = scenario_with(GetParam());
  LiveEngine engine(scenario);
  Listener listener;
  engine.submit({.input_tokens = kInput, .output_tokens = kOutput}, listener.on_tokens());
  const std::vector<LiveTokens> heard = listener.wait_for_end();
  ASSERT_EQ(heard.size(), static_cast<std::size_t>(kOutput));
  EXPECT_EQ(heard.back().emitted, kOutput);

  SimulationQuestion question{.scenario = scenario};
  question.scenario.workload = SyntheticWorkload{
      .num_prompts = 1, .input = fixed_length(kInput), .output = fixed_length(kOutput)};
  const SimulationAnswer simulated = simulate(question);
  // Exactly: all times of a schedule are whole nanoseconds since its request was sent.
  EXPECT_DOUBLE_EQ(static_cast<double>(heard.front().first_token) * 1e-9, simulated.load.ttft.mean);
  EXPECT_DOUBLE_EQ(static_cast<double>(heard.back().latest) * 1e-9, simulated.load.e2e.mean);
}

INSTANTIATE_TEST_SUITE_P(Engines, LiveSchedule,
                         testing::Values("vllm-0.19", "sglang", "trtllm-1.3"));

TEST(Live, ManyRequestsAllEndAndLeaveTheEngineEmpty) {
  LiveEngine engine(scenario_with());
  std::vector<std::unique_ptr<Listener>> listeners;
  for (int i = 0; i < 50; ++i) {
    listeners.push_back(std::make_unique<Listener>());
    engine.submit({.input_tokens = 100 + i, .output_tokens = 1 + i % 7},
                  listeners.back()->on_tokens());
  }
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(listeners[static_cast<std::size_t>(i)]->wait_for_end().back().emitted, 1 + i % 7);
  }
  EXPECT_EQ(engine.figures().running, 0);
  EXPECT_EQ(engine.figures().waiting, 0);
}

TEST(Live, PromptsThatShareTheirBeginningFindItInTheCache) {
  LiveEngine engine(scenario_with());
  const LiveRequest request{
      .input_tokens = 200, .output_tokens = 2, .shared_content = 7, .shared_tokens = 160};
  Listener first, second;
  engine.submit(request, first.on_tokens());
  EXPECT_EQ(first.wait_for_end().back().cached_tokens, 0);
  engine.submit(request, second.on_tokens());
  EXPECT_EQ(second.wait_for_end().back().cached_tokens, 160);  // 10 blocks of 16 tokens
}

TEST(Live, ACancelledRequestIsToldNothingAndMakesRoom) {
  LiveEngine engine(scenario_with());
  Listener other;
  const auto id = engine.submit({.input_tokens = 10, .output_tokens = 900},
                                [](const LiveTokens& tokens) { EXPECT_FALSE(tokens.finished); });
  engine.cancel(id);
  engine.submit({.input_tokens = 10, .output_tokens = 20}, other.on_tokens());
  EXPECT_EQ(other.wait_for_end().back().emitted, 20);
  EXPECT_EQ(engine.figures().running, 0);
}

TEST(Live, RefusesWhatItCannotRun) {
  EXPECT_THAT([] { LiveEngine engine({.deployment = {.model = "llama-3.1-405b", .gpu = "l40s"}}); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("does not fit")));
  LiveEngine engine(scenario_with());
  EXPECT_THROW(engine.submit({.input_tokens = 1024, .output_tokens = 1}, {}), Error);  // of 1,024
  Scenario several = scenario_with();
  several.cluster = ClusterScenario{.pools = {PoolScenario{.replicas = 2}}};
  EXPECT_THAT([&] { LiveEngine two(several); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("single replica")));
}

}  // namespace
}  // namespace roofcast::test
