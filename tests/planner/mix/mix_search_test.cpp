// Mixes of real cards: what the search does with classes and lengths that are no band of their own.
#include "planner/mix/mix_search.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <memory>

namespace roofcast::test {
namespace {

using testing::HasSubstr;

constexpr double kAnyObjective = std::numeric_limits<double>::infinity();

/// Only chat has a limit that the cheap card cannot meet.
PlanTask task_of(const std::string& input) {
  SyntheticWorkload load;
  load.num_prompts = 400;
  load.request_rate = 30;
  load.input = parse_length_distribution(input);
  load.output = parse_length_distribution("150");
  PlanTask task;
  task.base.deployment.model = "llama-3.1-8b";
  task.base.workload = load;
  task.base.slo.classes = {
      {.name = "chat", .share = 0.5, .targets = {parse_percentile_target("p95:tpot:12ms")}},
      {.name = "batch", .share = 0.5, .targets = {parse_percentile_target("p95:tpot:200ms")}},
      {.name = "rest", .share = 0, .targets = {}}};
  task.space = {.gpus = {"h100", "l40s"},
                .dimensions = completed({parse_dimension("tp=1")}, false),
                .base = {.engine = kDefaultEngine},
                .max_units = 8};
  return task;
}

/// The catalogue of a task with some of its requests changed.
template <class Change>
PlanCatalogue catalogue_of(PlanTask& task, const Change& change) {
  PlanCatalogue catalogue = load_catalogue(task.base, task.space);
  for (std::size_t i = 0; i < catalogue.workload.requests.size(); ++i) {
    change(i, catalogue.workload.requests[i]);
  }
  catalogue.growing =
      std::make_shared<const GrowingLoad>(catalogue.base, catalogue.workload, false);
  return catalogue;
}

TEST(MixSearch, NamesTheClassThatIsTooRareForAPool) {
  PlanTask task = task_of("500");
  const PlanCatalogue catalogue = catalogue_of(
      task, [](std::size_t i, Request& request) { request.slo_class = i < 12 ? 1 : 0; });
  const MixFindings mix = find_mix(catalogue, task, kAnyObjective, 1, {});
  EXPECT_TRUE(mix.pools.empty());
  EXPECT_THAT(mix.why, HasSubstr("class batch has 12 requests, of at least 50"));
}

TEST(MixSearch, PutsARareClassInAnotherOnesPool) {
  PlanTask task = task_of("500");
  const PlanCatalogue catalogue = catalogue_of(task, [](std::size_t i, Request& request) {
    request.slo_class = i % 40 == 0 ? 2 : static_cast<std::int32_t>(i % 2);
  });
  const MixFindings mix = find_mix(catalogue, task, kAnyObjective, 1, {});
  ASSERT_EQ(mix.pools.size(), 2u) << mix.why;
  for (const MixPool& pool : mix.pools) {
    const bool of_chat = std::ranges::count(pool.route.classes, "chat") > 0;
    EXPECT_EQ(pool.shape.gpu, of_chat ? "nvidia-h100-sxm" : "nvidia-l40s");
    EXPECT_EQ(pool.route.classes.size(), of_chat ? 1u : 2u);
  }
}

TEST(MixSearch, FindsAnAnswerWhereAClassArrivesAtOneTime) {
  // The last 100 are a nightly run, all sent at once: no load of their own can be offered faster.
  PlanTask task = task_of("500");
  const PlanCatalogue catalogue = catalogue_of(task, [](std::size_t i, Request& request) {
    request.slo_class = i < 300 ? 0 : 1;
    if (i >= 300) request.arrival = 9 * kSecond;
  });
  const MixFindings mix = find_mix(catalogue, task, kAnyObjective, 1, {});
  EXPECT_THAT(mix.why, HasSubstr("class batch has no rate"));
}

TEST(MixSearch, KeepsWhatItHasFoundWhenInterrupted) {
  PlanTask task = task_of("lognormal:500:0.5");
  const PlanCatalogue catalogue = catalogue_of(
      task, [](std::size_t i, Request& request) { request.slo_class = i % 2 == 0 ? 0 : 1; });
  std::int64_t calls = 0;
  const MixFindings whole = find_mix(catalogue, task, kAnyObjective, 1, [&](auto, auto) {
    ++calls;
    return true;
  });
  ASSERT_FALSE(whole.pools.empty());
  ASSERT_FALSE(whole.stopped);
  // At its last step it has a mix by class; at its first none.
  for (const std::int64_t last : {std::int64_t{0}, calls - 1}) {
    std::int64_t left = last;
    const MixFindings mix =
        find_mix(catalogue, task, kAnyObjective, 1, [&](auto, auto) { return left-- > 0; });
    EXPECT_TRUE(mix.stopped);
    EXPECT_EQ(mix.pools.empty(), last == 0);
    if (mix.pools.empty()) continue;
    EXPECT_EQ(mix.figures.requests, 400);
    EXPECT_TRUE(mix.finalist.cost.dollars_per_hour);
    EXPECT_GT(mix.pools.front().ttft_p95_s, 0);
    EXPECT_FALSE(mix.pools.front().route.classes.empty());
  }
}

}  // namespace
}  // namespace roofcast::test
