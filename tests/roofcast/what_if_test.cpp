#include "roofcast/what_if.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "roofcast/simulate.hpp"
#include "roofcast/store_rows.hpp"
#include "tests/roofcast/read_back.hpp"

namespace roofcast::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// 20 requests at 4 a second.
WhatIfQuestion chat_with(const char* knob) {
  WhatIfQuestion question;
  question.baseline = {.deployment = {.model = "llama-3.1-8b", .gpu = "h100"}, .seed = 1};
  question.baseline.workload =
      SyntheticWorkload{.num_prompts = 20,
                        .request_rate = 4,
                        .input = parse_length_distribution("lognormal:200:1"),
                        .output = fixed_length(20)};
  question.baseline.slo.targets = {parse_percentile_target("p95:ttft:1s")};
  question.settings = grid_of({parse_knob(knob, "vary")});
  question.seeds = 3;
  question.threads = 1;
  return question;
}

WhatIfAnswer what_if_read_back(const WhatIfAnswer& answer) {
  return test::read_back(answer, what_if_answer_from_json, what_if_answer_schema());
}

TEST(WhatIfAnswer, ReadsBackAsItWasWritten) {
  WhatIfQuestion question = chat_with("gpu=l40s,h200");
  question.explain = true;
  const WhatIfAnswer answer = what_if(question).value();
  ASSERT_EQ(answer.variants.size(), 3U);
  const WhatIfAnswer read = what_if_read_back(answer);
  EXPECT_EQ(read.seeds, 3);
  EXPECT_EQ(read.baseline.deployment.gpu, "h100");
  EXPECT_EQ(name_of(read.variants[0]), "baseline");
  EXPECT_EQ(name_of(read.variants[2]), "gpu=h200");
  EXPECT_EQ(read.variants[1].settings, (Settings{{"gpu", "l40s"}}));
  ASSERT_TRUE(read.variants[1].limits);
  const MetricAnswer& ttft = read.variants[1].metrics.front();
  EXPECT_EQ(title_of(ttft), "TTFT p95");
  // An L40S, with a quarter of an H100's bandwidth and peak, is slower with each of the three
  // seeds.
  EXPECT_GT(ttft.difference.value(), 0);
  EXPECT_EQ(ttft.significant, true);
}

TEST(WhatIfAnswer, KeepsAVariantThatCannotRunWithItsReason) {
  // 32 heads in three parts.
  const WhatIfAnswer answer = what_if(chat_with("tp=2,3")).value();
  const WhatIfAnswer read = what_if_read_back(answer);
  EXPECT_THAT(read.variants[1].reason, IsEmpty());
  EXPECT_THAT(read.variants[2].reason, Not(IsEmpty()));
  EXPECT_FALSE(read.variants[2].metrics.front().value);
  EXPECT_EQ(read.variants[2].runs, 0);
  EXPECT_EQ(what_if_runs(answer, "roofcast whatif").size(), 2U);
}

TEST(WhatIfAnswer, AGpuThatDoesNotExistIsNoVariant) {
  EXPECT_THROW(what_if(chat_with("gpu=h100x,l40s")), UsageError);
}

// The same requests on the same engine, so the same steps.
TEST(WhatIfAnswer, HasTheUtilisationOfTheSimulation) {
  WhatIfQuestion question = chat_with("gpu=l40s");
  question.seeds = 1;
  const WhatIfAnswer answer = what_if_read_back(what_if(question).value());
  const SimulationAnswer once = simulate({.scenario = question.baseline});
  ASSERT_EQ(answer.variants.front().utilisation.size(), 1U);
  EXPECT_DOUBLE_EQ(answer.variants.front().utilisation[0].mfu, once.utilisation.at(0).mfu);
  EXPECT_DOUBLE_EQ(answer.variants.front().utilisation[0].mbu, once.utilisation.at(0).mbu);
  // An L40S has 3.9 times less bandwidth and 2.7 times less peak: steps take longer, and so does
  // less of each lie idle.
  ASSERT_EQ(answer.variants[1].utilisation.size(), 1U);
  EXPECT_GT(answer.variants[1].utilisation[0].mfu, once.utilisation.at(0).mfu);
}

TEST(WhatIfAnswer, IsTheSameWhateverTheThreads) {
  WhatIfQuestion question = chat_with("request_rate=2,8");
  const std::string alone = to_json(what_if(question).value()).dump();
  question.threads = 3;
  EXPECT_EQ(to_json(what_if(question).value()).dump(), alone);
}

TEST(WhatIfAnswer, IsNothingWhenItWasCancelled) {
  EXPECT_FALSE(
      what_if(chat_with("gpu=l40s,h200"), [](std::int64_t, std::int64_t) { return false; }));
}

TEST(WhatIfAnswer, IsWhatItsRunsInTheStoreSay) {
  const WhatIfAnswer answer = what_if(chat_with("gpu=l40s,h200")).value();
  const WhatIfAnswer stored = what_if_of(to_json(answer), what_if_runs(answer, "roofcast whatif"));
  EXPECT_EQ(stored.seeds, 3);
  EXPECT_EQ(stored.baseline.seed, 1U);
  ASSERT_EQ(stored.variants.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const VariantAnswer& made = answer.variants[i];
    const VariantAnswer& read = stored.variants[i];
    EXPECT_EQ(read.settings, made.settings);
    EXPECT_EQ(read.runs, made.runs);
    EXPECT_EQ(read.labels.gpu, made.labels.gpu);
    EXPECT_EQ(read.all_figures.size(), made.all_figures.size());
    EXPECT_EQ(title_of(read.metrics.front()), title_of(made.metrics.front()));
    EXPECT_EQ(read.metrics.front().value, made.metrics.front().value);
    if (i == 0) continue;  // the baseline differs from nothing
    EXPECT_EQ(read.metrics.front().difference, made.metrics.front().difference);
    EXPECT_EQ(read.metrics.front().low, made.metrics.front().low);
    EXPECT_EQ(read.metrics.front().significant, made.metrics.front().significant);
  }
}

TEST(WhatIfAnswer, OfTheStoreSkipsVariantsWithoutRuns) {
  const WhatIfAnswer answer = what_if(chat_with("tp=3,2")).value();
  std::vector<roofcast::Run> runs = what_if_runs(answer, "roofcast whatif");
  const WhatIfAnswer stored = what_if_of(to_json(answer), runs);
  EXPECT_THAT(stored.variants[1].labels.gpu, IsEmpty());
  EXPECT_EQ(stored.variants[2].labels.gpu, "nvidia-h100-sxm");
  runs.pop_back();
  EXPECT_THROW(what_if_of(to_json(answer), runs), Error);
}

TEST(WhatIfAnswer, LeavesARunOfEachVariantInTheStore) {
  const WhatIfAnswer answer = what_if(chat_with("gpu=l40s")).value();
  const std::vector<roofcast::Run> runs = what_if_runs(answer, "roofcast whatif");
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_THAT(runs[0].row.summary, HasSubstr("baseline: TTFT p95"));
  EXPECT_THAT(runs[1].row.summary, HasSubstr("gpu=l40s: TTFT p95"));
  EXPECT_EQ(runs[1].row.gpu, "nvidia-l40s");
  const MetricAnswer& ttft = answer.variants[1].metrics.front();
  const auto stored =
      std::find_if(runs[1].metrics.begin(), runs[1].metrics.end(), [](const MetricRow& row) {
        return row.name == "ttft_s" && row.statistic == "p95_difference";
      });
  ASSERT_NE(stored, runs[1].metrics.end());
  EXPECT_EQ(stored->value, ttft.difference);
}

TEST(WhatIfQuestion, PrefillAndDecodeReplacePoolsThatDoBoth) {
  Scenario together{.deployment = {.model = "llama-3.1-8b", .gpu = "h100"}};
  together.cluster = ClusterScenario{.pools = {PoolScenario{.replicas = 4}}};
  const auto variants =
      variants_of(together, {{{"prefill_replicas", "2"}, {"decode_replicas", "2"}}});
  ASSERT_EQ(variants.size(), 2U);
  const std::vector<PoolScenario>& pools = variants[1].scenario.cluster->pools;
  ASSERT_EQ(pools.size(), 2U);
  EXPECT_EQ(pools[0].role, PoolRole::prefill);
  EXPECT_EQ(pools[1].role, PoolRole::decode);
  EXPECT_EQ(pools[0].replicas + pools[1].replicas, 4);
  // And back.
  const auto again = variants_of(variants[1].scenario, {{{"replicas", "4"}}});
  ASSERT_EQ(again[1].scenario.cluster->pools.size(), 1U);
  EXPECT_EQ(again[1].scenario.cluster->pools[0].role, PoolRole::both);
  EXPECT_EQ(again[1].scenario.cluster->pools[0].replicas, 4);
}

}  // namespace
}  // namespace roofcast::test
