#include "planner/mix/fleet_program.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace roofcast::test {
namespace {

using testing::ElementsAre;

// Short prompts at 8 requests/s, long ones at 2 requests/s. A small card at $1 carries 4 short or
// 0.25 long requests/s, a large one at $4.50 carries 10 short or 4 long:
//   small alone: 8/4 + 2/0.25 = 10 cards, $10; large alone: 8/10 + 2/4 = 1.3, so 2, $9;
//   short on small, long on large: 8/4 = 2 and 2/4 = 0.5, so 1: $2 + $4.50 = $6.50, the least;
//   short on large, long on small: 8/10, so 1, and 2/0.25 = 8: $12.50.
FleetProgram short_and_long() {
  return {.options = {{.unit_objective = 1, .max_units = 64, .busy = {8. / 4, 2. / 0.25}},
                      {.unit_objective = 4.5, .max_units = 64, .busy = {8. / 10, 2. / 4}}},
          .bands = 2};
}

TEST(FleetProgram, FindsThePlantedMix) {
  const auto mix = solve(short_and_long());
  ASSERT_TRUE(mix);
  EXPECT_THAT(mix->option_of, ElementsAre(0, 1));
  EXPECT_THAT(mix->units, ElementsAre(2, 1));
  EXPECT_DOUBLE_EQ(mix->objective, 6.5);
}

TEST(FleetProgram, FindsTheBestSinglePoolWhereOneIsAllowed) {
  FleetProgram program = short_and_long();
  program.max_pools = 1;
  const auto single = solve(program);
  ASSERT_TRUE(single);
  EXPECT_THAT(single->units, ElementsAre(0, 2));
  EXPECT_DOUBLE_EQ(single->objective, 9);
}

TEST(FleetProgram, StaysWithinItsLimits) {
  // One small card is left, which cannot carry the short prompts: the other mix, whose 8 small
  // cards are too many, and the small pool fail too, so that only the large cards remain.
  FleetProgram program = short_and_long();
  program.options[0].max_units = 1;
  ASSERT_TRUE(solve(program));
  EXPECT_THAT(solve(program)->units, ElementsAre(0, 2));
  program.min_pools = 2;
  EXPECT_FALSE(solve(program));
  // $6 per hour are less than any of them needs.
  program = short_and_long();
  program.options[0].uses = {1};
  program.options[1].uses = {4.5};
  program.limits = {6};
  EXPECT_FALSE(solve(program));
  program.limits = {6.5};
  EXPECT_TRUE(solve(program));
}

TEST(FleetProgram, FindsNothingThatIsNotBelowWhatIsKnown) {
  // The planted mix costs $6.50.
  FleetProgram program = short_and_long();
  program.below = 6.5;
  EXPECT_FALSE(solve(program));
  program.below = 6.6;
  ASSERT_TRUE(solve(program));
  EXPECT_THAT(solve(program)->units, ElementsAre(2, 1));
}

TEST(FleetProgram, NeedsMoreAtAHigherLoad) {
  // At 1.5 times the load the short prompts keep 3 small cards busy, the long ones 0.75 large ones.
  FleetProgram program = short_and_long();
  program.load = 1.5;
  EXPECT_THAT(solve(program)->units, ElementsAre(3, 1));
}

/// Forty bands that any of eight alike options serves, in any order: years of assignments, as none
/// is worse than another.
FleetProgram without_end() {
  constexpr std::size_t kBands = 40;
  FleetProgram program{.bands = kBands, .max_pools = 8};
  for (int i = 0; i < 8; ++i) {
    program.options.push_back({.unit_objective = 1,
                               .max_units = 64,
                               .busy = std::vector<std::optional<double>>(kBands, 0.51)});
  }
  return program;
}

TEST(FleetProgram, IsLeftWhenItIsTold) {
  int asked = 0;
  EXPECT_FALSE(solve(without_end(), [&] { return ++asked == 3; }));
  EXPECT_EQ(asked, 3);
  // What is not stopped is as without the question.
  EXPECT_EQ(solve(short_and_long(), [] { return false; }), solve(short_and_long()));
}

TEST(FleetProgram, GivesAPoolNeighbouringBandsAlone) {
  // The first option is cheap for the outer bands, the second for the middle one: 1 + 1 of the
  // first and 1 of the second, $3. As neighbours: the second serves the last two, 1 + (1 + 3) = $5,
  // or the first two, (4 + 1) + 1 = $6; the first serves two, at least 1 + 9; one alone serves
  // all, 4 + 1 + 3 = $8 or 1 + 9 + 1 = $11.
  FleetProgram program{.options = {{.unit_objective = 1, .max_units = 64, .busy = {1.0, 9.0, 1.0}},
                                   {.unit_objective = 1, .max_units = 64, .busy = {4.0, 1.0, 3.0}}},
                       .bands = 3};
  EXPECT_DOUBLE_EQ(solve(program)->objective, 3);
  program.contiguous = true;
  EXPECT_DOUBLE_EQ(solve(program)->objective, 5);
  EXPECT_THAT(solve(program)->option_of, ElementsAre(0, 1, 1));
}

bool is_contiguous(const std::vector<std::size_t>& option_of) {
  for (std::size_t i = 0; i < option_of.size(); ++i) {
    for (std::size_t j = i + 2; j < option_of.size(); ++j) {
      if (option_of[i] == option_of[j] && option_of[j - 1] != option_of[j]) return false;
    }
  }
  return true;
}

/// Every assignment of bands to options.
double least_by_trying_all(const FleetProgram& program) {
  double least = std::numeric_limits<double>::infinity();
  const std::size_t options = program.options.size();
  const auto assignments = static_cast<std::size_t>(std::pow(options, program.bands));
  for (std::size_t code = 0; code < assignments; ++code) {
    std::vector<std::size_t> option_of;
    for (std::size_t rest = code, i = 0; i < program.bands; ++i, rest /= options) {
      option_of.push_back(rest % options);
    }
    if (program.contiguous && !is_contiguous(option_of)) continue;
    std::vector<double> busy(options);
    bool possible = true;
    for (std::size_t band = 0; band < program.bands; ++band) {
      const auto& one = program.options[option_of[band]].busy[band];
      possible = possible && one.has_value();
      busy[option_of[band]] += program.load * one.value_or(0);
    }
    std::int64_t pools = 0;
    double objective = 0;
    std::vector<double> used(program.limits.size());
    for (std::size_t i = 0; i < options; ++i) {
      const double units = std::ceil(busy[i] - 1e-9);
      if (units > 0) ++pools;
      possible = possible && units <= static_cast<double>(program.options[i].max_units);
      objective += units * program.options[i].unit_objective;
      for (std::size_t limit = 0; limit < used.size(); ++limit) {
        used[limit] += units * program.options[i].uses[limit];
      }
    }
    for (std::size_t limit = 0; limit < used.size(); ++limit) {
      possible = possible && used[limit] <= program.limits[limit];
    }
    if (possible && pools >= program.min_pools && pools <= program.max_pools) {
      least = std::min(least, objective);
    }
  }
  return least;
}

TEST(FleetProgram, FindsWhatTryingEverythingFinds) {
  std::mt19937_64 random(7);
  const auto between = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  int limited = 0;  // programs whose limits make the answer dearer, or rule out any
  for (int i = 0; i < 40; ++i) {
    FleetProgram program{.bands = 4, .contiguous = i % 2 == 0, .min_pools = 1 + i % 3 / 2};
    program.max_pools = 3;
    program.load = between(0.6, 1.5);
    if (i % 4 < 2) program.limits = {between(8, 60), between(3, 12)};
    for (int option = 0; option < 4; ++option) {
      FleetOption one{.unit_objective = between(0.5, 12), .max_units = 12};
      for (std::size_t band = 0; band < program.bands; ++band) {
        one.busy.push_back(between(0, 1) < 0.2 ? std::nullopt : std::optional(between(0.05, 4)));
      }
      for (std::size_t limit = 0; limit < program.limits.size(); ++limit) {
        one.uses.push_back(limit == 0 ? between(1, 10) : between(0, 1) < 0.5 ? 0 : 1);
      }
      program.options.push_back(one);
    }
    const auto found = solve(program);
    const double least = least_by_trying_all(program);
    EXPECT_EQ(found.has_value(), std::isfinite(least)) << i;
    if (found) {
      EXPECT_NEAR(found->objective, least, 1e-6) << i;
    }
    FleetProgram free = program;
    free.limits.clear();
    if (least_by_trying_all(free) < least) ++limited;
  }
  EXPECT_GT(limited, 3);
}

}  // namespace
}  // namespace roofcast::test
