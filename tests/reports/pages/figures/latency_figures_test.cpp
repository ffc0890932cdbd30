#include "reports/pages/figures/latency_figures.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/pages/figures/figure_units.hpp"

namespace roofcast {
namespace {

using testing::DoubleEq;
using testing::EndsWith;
using testing::Optional;

/// Latencies of 10, 20 and 40 ms beside limits in milliseconds.
Figure figure_of(const std::vector<double>& limits_ms) {
  std::vector<LatencyLimit> limits;
  for (const double limit : limits_ms) limits.push_back({.name = "SLO", .limit_s = limit / 1e3});
  return *latency_figure({.key = "ttft", .name = "TTFT", .words = "Time to first token"},
                         {{.name = "", .values_s = {0.01, 0.02, 0.04}}}, limits);
}

TEST(LatencyFigure, AFarLimitStandsAtTheEdgeOfTheData) {
  // 500 ms is 12.5 times the longest: the axis ends a fifth beyond 40 ms, rounded up from 48.
  const Figure figure = figure_of({500});
  EXPECT_THAT(figure.x.high, Optional(DoubleEq(50)));
  ASSERT_EQ(figure.marked.size(), 1U);
  EXPECT_DOUBLE_EQ(figure.marked[0].value, 50);
  EXPECT_THAT(figure.marked[0].name, EndsWith("(beyond the axis)"));
}

// A fifth beyond 41 ms is 49.2 ms, which a chart would round below the mark.
TEST(LatencyFigure, TheEdgeIsARoundNumber) {
  const Figure figure =
      *latency_figure({.key = "ttft", .name = "TTFT", .words = "Time to first token"},
                      {{.name = "", .values_s = {0.01, 0.041}}}, {{.name = "SLO", .limit_s = 0.5}});
  EXPECT_THAT(figure.x.high, Optional(DoubleEq(50)));
  EXPECT_DOUBLE_EQ(figure.marked.at(0).value, 50);
}

TEST(FigureUnits, ALimitHasTheDigitsThatSomebodyChose) {
  EXPECT_EQ(limit_words(Seconds{0.5}), "500 ms");
  EXPECT_EQ(limit_words(Seconds{0.0125}), "12.5 ms");
  EXPECT_EQ(limit_words(Seconds{1}), "1 s");
  EXPECT_EQ(limit_words(Seconds{1.5}), "1.5 s");
  EXPECT_EQ(limit_words(Seconds{150}), "2 min 30 s");
}

TEST(LatencyFigure, ANearLimitStandsInItsPlace) {
  const Figure figure = figure_of({60});
  EXPECT_FALSE(figure.x.high);
  EXPECT_DOUBLE_EQ(figure.marked.at(0).value, 60);
  // Beside a far one the axis goes as far as the near one.
  const Figure both = figure_of({60, 500});
  EXPECT_THAT(both.x.high, Optional(DoubleEq(60)));
  EXPECT_DOUBLE_EQ(both.marked.at(0).value, 60);
  EXPECT_THAT(both.marked.at(0).name, testing::Not(EndsWith("axis)")));
  EXPECT_THAT(both.marked.at(1).name, EndsWith("(beyond the axis)"));
}

}  // namespace
}  // namespace roofcast
