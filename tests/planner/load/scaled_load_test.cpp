#include "planner/load/scaled_load.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "simulator/workload/workload.hpp"

namespace roofcast {
namespace {

std::string scaled(const std::string& lengths, double factor) {
  return to_text(scaled_lengths(parse_length_distribution(lengths), factor));
}

TEST(ScaledLoad, LengthsKeepTheirShape) {
  EXPECT_EQ(scaled("1000", 1.5), "1500");
  EXPECT_EQ(scaled("3", 0.5), "2");  // whole tokens, halves away from zero
  EXPECT_EQ(scaled("1", 0.1), "1");
  EXPECT_EQ(scaled("uniform:100:900", 2), "uniform:200:1800");
  EXPECT_EQ(scaled("normal:500:60", 2), "normal:1000:120");
  EXPECT_EQ(scaled("normal:500:60:10:900", 2), "normal:1000:120:20:1800");
  EXPECT_EQ(scaled("lognormal:800:0.9", 2), "lognormal:1600:0.9");
  EXPECT_THROW(scaled("empirical:lengths.csv", 2), Error);
}

TEST(ScaledLoad, EveryKindOfRateIsScaled) {
  SyntheticWorkload load;
  load.request_rate = 3;
  scale_rates(load, 2);
  EXPECT_EQ(load.request_rate, 6);
  load.pattern = RampUp{.start = 1, .end = 4};
  scale_rates(load, 2);
  EXPECT_EQ(std::get<RampUp>(load.pattern).start, 2);
  EXPECT_EQ(std::get<RampUp>(load.pattern).end, 8);
  load.pattern = StagedLoad{{{.rate = 5, .duration = Seconds{60}}}};
  scale_rates(load, 2);
  EXPECT_EQ(std::get<StagedLoad>(load.pattern).stages[0].rate, 10);
  EXPECT_EQ(std::get<StagedLoad>(load.pattern).stages[0].duration.value, 60);
  load.pattern = RateCycle{{{.rate = 5}, {.rate = 0}}};
  scale_rates(load, 2);
  EXPECT_EQ(std::get<RateCycle>(load.pattern).phases[0].rate, 10);
  load.pattern = DiurnalRate{.low = 1, .high = 2};
  scale_rates(load, 2);
  EXPECT_EQ(std::get<DiurnalRate>(load.pattern).high, 4);
}

TEST(ScaledLoad, TwiceTheRateIsTheSameRequestsInHalfTheTime) {
  // Common random numbers: a gap at the rate r is one unit gap over r. Gaps are rounded to whole
  // nanoseconds, half of one off and doubled here, so i + 1 gaps differ by 1.5 (i + 1) at most; the
  // rescaling of the last arrival shares out as much again, and rounds once more.
  SyntheticWorkload load;
  load.num_prompts = 200;
  load.request_rate = 5;
  load.input = parse_length_distribution("lognormal:800:0.9");
  SyntheticWorkload faster = load;
  scale_rates(faster, 2);
  const Workload slow = generate(load, 7);
  const Workload fast = generate(faster, 7);
  ASSERT_EQ(slow.requests.size(), fast.requests.size());
  for (std::size_t i = 0; i < slow.requests.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(slow.requests[i].arrival),
                2.0 * static_cast<double>(fast.requests[i].arrival),
                3.0 * static_cast<double>(i + 1) + 2.0);
    EXPECT_EQ(slow.requests[i].input_tokens, fast.requests[i].input_tokens);
  }
}

}  // namespace
}  // namespace roofcast
