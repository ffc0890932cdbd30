#include "planner/search/search.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "planner/search/pareto.hpp"

namespace roofcast {
namespace {

/// A world in which item i holds from `needs[i]` units on, with margin `margins[i]`.
struct World {
  std::vector<SearchItem> items{};
  std::vector<std::int64_t> needs{};
  std::vector<double> margins{};

  TrialFunction answers() const {
    return [this](std::span<const Trial> trials) {
      std::vector<TrialAnswer> answers;
      for (const Trial& trial : trials) {
        answers.push_back(
            {.holds = trial.units >= needs[trial.item], .margin = margins[trial.item]});
      }
      return answers;
    };
  }
};

/// Bounds at or below the need, some items that never hold, prices in cents.
World random_world(std::uint32_t seed, int items) {
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t n) { return static_cast<std::int64_t>(random() % n); };
  World world;
  for (int i = 0; i < items; ++i) {
    const std::int64_t needs = 1 + below(20);  // of at most 16
    world.needs.push_back(needs);
    world.margins.push_back(static_cast<double>(below(1000)) / 1000);
    world.items.push_back({.min_units = std::max<std::int64_t>(1, needs - below(4)),
                           .max_units = 16,
                           .unit_objective = static_cast<double>(100 + below(900)) / 100,
                           .group = below(5)});
  }
  return world;
}

/// The best by trying everything: lowest objective, then largest margin, then first.
Found brute_force(const World& world) {
  Found best{.item = world.items.size(), .objective = INFINITY};
  for (std::size_t i = 0; i < world.items.size(); ++i) {
    for (std::int64_t units = 1; units <= world.items[i].max_units; ++units) {
      if (units < world.needs[i]) continue;
      const double objective = static_cast<double>(units) * world.items[i].unit_objective;
      const bool equal = std::abs(objective - best.objective) < 1e-9;
      if (objective > best.objective && !equal) continue;
      if (equal && world.margins[i] <= best.margin) continue;
      best = {.item = i, .units = units, .objective = objective, .margin = world.margins[i]};
    }
  }
  return best;
}

TEST(Search, FindsThePlantedOptimum) {
  // 2 dollars x 5 = 10 is cheaper than 3 x 4 = 12 and than 10.5 x 1, whose bounds are lower.
  const World world{.items = {{.min_units = 2, .max_units = 16, .unit_objective = 3},
                              {.min_units = 1, .max_units = 16, .unit_objective = 2},
                              {.min_units = 1, .max_units = 16, .unit_objective = 10.5}},
                    .needs = {4, 5, 1},
                    .margins = {0.1, 0.1, 0.1}};
  const SearchResult result = find_cheapest(world.items, {}, world.answers());
  ASSERT_EQ(result.best.size(), 1U);
  EXPECT_EQ(result.best[0].item, 1U);
  EXPECT_EQ(result.best[0].units, 5);
  EXPECT_DOUBLE_EQ(result.best[0].objective, 10);
}

TEST(Search, AgreesWithBruteForceOnRandomGrids) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    World world = random_world(seed, 40);
    const Found expected = brute_force(world);
    for (SearchItem& item : world.items) item.group = 0;
    const SearchResult result = find_cheapest(world.items, {}, world.answers());
    ASSERT_EQ(result.best.size(), 1U) << seed;
    EXPECT_EQ(result.best[0].item, expected.item) << seed;
    EXPECT_EQ(result.best[0].units, expected.units) << seed;
  }
}

TEST(Search, KeepsTheBestOfEachGroup) {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    const World world = random_world(seed, 40);
    const SearchResult result = find_cheapest(world.items, {.keep = 5}, world.answers());
    for (const Found& found : result.best) {
      World group;
      for (std::size_t i = 0; i < world.items.size(); ++i) {
        if (world.items[i].group != world.items[found.item].group) continue;
        group.items.push_back(world.items[i]);
        group.needs.push_back(world.needs[i]);
        group.margins.push_back(world.margins[i]);
      }
      EXPECT_DOUBLE_EQ(found.objective, brute_force(group).objective) << seed;
    }
    EXPECT_TRUE(std::is_sorted(
        result.best.begin(), result.best.end(),
        [](const Found& a, const Found& b) { return a.objective < b.objective - 1e-9; }));
  }
}

TEST(Search, TakesAFractionOfTheSimulationsOfBruteForce) {
  // 72 items x 16 units = 1,152 candidates; 5 % of them are 57.
  std::int64_t max = 0;
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    World world = random_world(seed, 72);
    for (SearchItem& item : world.items) item.group = 0;
    max = std::max(max, find_cheapest(world.items, {}, world.answers()).trials);
  }
  EXPECT_LE(max, 57);
}

TEST(Search, WithoutAnAnswerTriesEveryItemAtItsMost) {
  const World world{.items = {{.min_units = 3, .max_units = 64}, {.max_units = 1}},
                    .needs = {100, 100},
                    .margins = {-0.25, -0.5}};
  const SearchResult result = find_cheapest(world.items, {}, world.answers());
  EXPECT_TRUE(result.best.empty());
  EXPECT_EQ(result.items[0].fails_at, 64);
  EXPECT_EQ(result.items[1].fails_at, 1);
  EXPECT_DOUBLE_EQ(result.items[0].margin, -0.25);
}

TEST(Search, LeavesOutWhatItsLimitsRuleOut) {
  const World world{.items = {{.min_units = 5, .max_units = 4}, {.max_units = 2}},
                    .needs = {1, 1},
                    .margins = {0, 0}};
  const SearchResult result = find_cheapest(world.items, {}, world.answers());
  ASSERT_EQ(result.best.size(), 1U);
  EXPECT_EQ(result.best[0].item, 1U);
  EXPECT_EQ(result.items[0].holds_at, std::nullopt);
  EXPECT_EQ(result.items[0].fails_at, 0);
}

TEST(Search, EndsWhenTrialsAreNotAnswered) {
  const World world = random_world(1, 10);
  const auto nothing = [](std::span<const Trial>) { return std::vector<TrialAnswer>{}; };
  EXPECT_TRUE(find_cheapest(world.items, {}, nothing).stopped);
}

TEST(ParetoSet, KeepsWhatNothingBeatsInEverything) {
  // The third is beaten by the first, the fourth equals it.
  const std::vector<std::vector<double>> points = {{1, 5}, {2, 3}, {2, 5}, {1, 5}, {3, 3.5}};
  EXPECT_EQ(pareto_set(points), (std::vector<std::size_t>{0, 1, 3}));
  EXPECT_TRUE(pareto_set({}).empty());
}

// The second costs less, has more margin and carries as much as the first, which stays while the
// second has no price and needs more GPUs; the third carries most.
TEST(ParetoSet, OfDeploymentsIsByPriceWhereAllArePriced) {
  std::vector<ParetoFigures> deployments = {
      {.dollars_per_hour = 9, .gpus = 1, .margin = 0.1, .capacity_rate_per_s = 5},
      {.dollars_per_hour = 8, .gpus = 2, .margin = 0.2, .capacity_rate_per_s = 5},
      {.dollars_per_hour = 20, .gpus = 4, .margin = 0.1, .capacity_rate_per_s = 7}};
  EXPECT_EQ(pareto_deployments(deployments), (std::vector<std::size_t>{1, 2}));
  deployments[1].dollars_per_hour.reset();
  EXPECT_EQ(pareto_deployments(deployments), (std::vector<std::size_t>{0, 1, 2}));
}

}  // namespace
}  // namespace roofcast
