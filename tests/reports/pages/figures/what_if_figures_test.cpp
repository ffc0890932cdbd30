#include "reports/pages/figures/what_if_figures.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace roofcast {
namespace {

VariantAnswer variant(const std::string& rate, double ttft, bool grows) {
  VariantAnswer answer{.runs = 1};
  if (!rate.empty()) answer.settings = {{.key = "request_rate", .value = rate}};
  MetricAnswer metric;
  metric.name = "ttft_s";
  metric.statistic = "p95";
  metric.value = ttft;
  metric.grows = grows;
  answer.metrics.push_back(std::move(metric));
  return answer;
}

TEST(WhatIfFigures, DrawNothingThatGrowsAsLongAsTheLoadLasts) {
  const WhatIfAnswer answer{.variants = {variant("", 0.5, false), variant("10", 0.6, false),
                                         variant("20", 0.9, false), variant("40", 70, true)}};
  const std::vector<Figure> figures = what_if_figures(answer);
  ASSERT_EQ(figures.size(), 1U);
  ASSERT_EQ(figures[0].series.size(), 1U);
  ASSERT_EQ(figures[0].series[0].points.size(), 2U);
  EXPECT_EQ(figures[0].series[0].points[1].x, 20);
  EXPECT_EQ(figures[0].series[0].points[1].y, 0.9);
}

}  // namespace
}  // namespace roofcast
