#include "reports/figures/chart_option.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "reports/figures/drawn_series.hpp"
#include "reports/figures/figure_table.hpp"
#include "reports/figures/thinned.hpp"

namespace roofcast {
namespace {

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

Figure two_lines() {
  return {.key = "latency",
          .title = "Latency",
          .caption = "How long.",
          .x = {.title = "Load (requests/s)"},
          .y = {.title = "TTFT (ms)"},
          .series = {{.name = "p50", .points = {{.x = 1, .y = 20}, {.x = 2, .y = 30}}},
                     {.name = "p95", .points = {{.x = 1, .y = 40}, {.x = 2, .y = 90}}}},
          .marked = {{.axis = MarkedValue::Across::y, .value = 50, .name = "SLO"}}};
}

TEST(ChartOption, NamesBothAxesWithTheirUnits) {
  const Json option = chart_option(two_lines());
  EXPECT_EQ(option["xAxis"]["name"], "Load (requests/s)");
  EXPECT_EQ(option["yAxis"]["name"], "TTFT (ms)");
}

TEST(ChartOption, TellsSeriesApartWithoutColour) {
  const Json series = chart_option(two_lines())["series"];
  EXPECT_NE(series[0]["lineStyle"]["type"], series[1]["lineStyle"]["type"]);
  EXPECT_NE(series[0]["symbol"], series[1]["symbol"]);
}

TEST(ChartOption, MarksLimitsOnTheirAxis) {
  const Json marked = chart_option(two_lines())["series"].back()["markLine"]["data"];
  ASSERT_EQ(marked.size(), 1U);
  EXPECT_EQ(marked[0]["yAxis"], 50.0);
  EXPECT_EQ(marked[0]["name"], "SLO");
}

TEST(ChartOption, ReachesTheLimitsThatItMarks) {
  // Curves end at 90 ms; the limit lies at 500 ms, and at load 9 beyond 2.
  Figure figure = two_lines();
  figure.marked = {{.axis = MarkedValue::Across::y, .value = 500, .name = "SLO"},
                   {.axis = MarkedValue::Across::x, .value = 9, .name = "most"}};
  const Json option = chart_option(figure);
  const Json& marks = option["series"].back();
  EXPECT_EQ(marks["data"], Json::parse("[[1.0, 500.0], [9.0, 20.0]]"));
  EXPECT_EQ(marks["symbolSize"], 0);
  EXPECT_EQ(option["legend"]["data"], Json::parse(R"(["p50", "p95"])"));  // no entry of its own
}

TEST(ChartOption, ShowsTheLabelsOfPointsOnLines) {
  Figure figure = two_lines();
  EXPECT_EQ(chart_option(figure)["tooltip"]["trigger"], "axis");
  figure.series[0].points[0].label = "1 request/s: SLO missed";
  EXPECT_EQ(chart_option(figure)["tooltip"]["trigger"], "item");
}

TEST(ChartOption, HoldsNoControlCharacters) {
  Figure figure = two_lines();
  figure.series[0].name = "a\x1b[31m";
  EXPECT_EQ(chart_option(figure)["series"][0]["name"], "a\xEF\xBF\xBD[31m");
}

TEST(ChartOption, HoldsFiniteNumbersOnly) {
  Figure figure = two_lines();
  figure.series[0].points.push_back({.x = 3, .y = kNotANumber});
  figure.series[0].points.push_back({.x = std::numeric_limits<double>::infinity(), .y = 1});
  figure.marked.push_back({.value = kNotANumber, .name = "no limit"});
  const std::string text = chart_option(figure).dump();  // numbers that are not finite are null
  EXPECT_EQ(text.find("null"), std::string::npos) << text;
}

TEST(ChartOption, HasNothingBelowZeroOnALogarithmicAxis) {
  Figure figure = two_lines();
  figure.y.scale = AxisScale::logarithmic;
  figure.series[0].points[0].y = 0;
  const Json option = chart_option(figure);
  EXPECT_EQ(option["yAxis"]["type"], "log");
  EXPECT_EQ(option["series"][0]["data"].size(), 1U);
}

TEST(ChartOption, RefusesAFigureWithoutPoints) {
  Figure figure = two_lines();
  for (FigureSeries& series : figure.series) series.points = {{.x = 1, .y = kNotANumber}};
  EXPECT_THROW(chart_option(figure), Error);
  figure.series.clear();
  EXPECT_THROW(chart_option(figure), Error);
}

TEST(ChartOption, LeavesOutASeriesWithoutPoints) {
  Figure figure = two_lines();
  figure.series[0].points.clear();
  figure.marked.clear();
  EXPECT_EQ(chart_option(figure)["series"].size(), 1U);
}

TEST(ChartOption, RefusesAnAxisWithoutATitle) {
  Figure figure = two_lines();
  figure.y.title.clear();
  EXPECT_THROW(chart_option(figure), Error);
}

TEST(ChartOption, RefusesAPointBetweenCategories) {
  Figure figure = two_lines();
  figure.x = {.title = "GPU", .scale = AxisScale::category, .names = {"L4", "H100"}};
  figure.series.resize(1);
  figure.series[0].points = {{.x = 0, .y = 1}, {.x = 1, .y = 2}};
  EXPECT_EQ(chart_option(figure)["xAxis"]["data"].size(), 2U);
  figure.series[0].points[1].x = 2;
  EXPECT_THROW(chart_option(figure), Error);
  figure.series[0].points[1].x = 0.5;
  EXPECT_THROW(chart_option(figure), Error);
}

TEST(ChartOption, GivesADiagonalOneRangeOnBothAxes) {
  Figure figure = two_lines();
  figure.diagonal = true;
  figure.x.scale = figure.y.scale = AxisScale::logarithmic;
  // Values from 1 to 90: the powers of ten around them.
  const Json option = chart_option(figure);
  for (const char* axis : {"xAxis", "yAxis"}) {
    EXPECT_EQ(option[axis]["min"], 1.0);
    EXPECT_EQ(option[axis]["max"], 100.0);
  }
}

TEST(ChartOption, DrawsWhatAPointMayBe) {
  Figure figure = two_lines();
  figure.series[1].points[0].low = 35;
  figure.series[1].points[0].high = 55;
  figure.marked.clear();
  const Json series = chart_option(figure)["series"];
  ASSERT_EQ(series.size(), 3U);
  EXPECT_EQ(series[2]["renderItem"], "whisker");
  EXPECT_EQ(series[2]["name"], "p95");  // one colour with its series
  EXPECT_EQ(series[2]["data"], Json::parse("[[1.0, 35.0, 55.0]]"));
}

TEST(ChartOption, LaysBarsOnTheirSide) {
  Figure figure = two_lines();
  figure.x = {.title = "GPU", .scale = AxisScale::category, .names = {"L4", "H100"}};
  for (FigureSeries& series : figure.series) {
    series.mark = Mark::stacked_bars;
    series.points = {{.x = 0, .y = 5}};
  }
  figure.horizontal = true;
  const Json option = chart_option(figure);
  EXPECT_EQ(option["yAxis"]["type"], "category");
  EXPECT_EQ(option["xAxis"]["name"], "TTFT (ms)");
  EXPECT_EQ(option["series"][0]["data"][0], Json::parse("[5.0, 0.0]"));
  EXPECT_EQ(option["series"][0]["stack"], option["series"][1]["stack"]);
  EXPECT_TRUE(option["aria"]["decal"]["show"]);  // patterns in addition to colours
}

TEST(FigureId, IsSafeInPathsAndAttributes) {
  EXPECT_EQ(figure_id({.key = "latency_ttft"}), "latency-ttft");
  EXPECT_EQ(figure_id({.key = "../a\"b<c"}), "---a-b-c");
}

std::vector<std::string> texts(const std::vector<Cell>& row) { return {row.begin(), row.end()}; }

TEST(FigureTable, HasAColumnASeriesWhereTheyShareTheirX) {
  const Table table = figure_table(two_lines());
  ASSERT_EQ(table.columns.size(), 3U);
  EXPECT_EQ(table.columns[1].title, "p50: TTFT (ms)");
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(texts(table.rows[0]), (std::vector<std::string>{"1", "20", "40"}));
  EXPECT_EQ(texts(table.rows[1]), (std::vector<std::string>{"2", "30", "90"}));
}

TEST(FigureTable, HasARowAPointWhereTheyDoNot) {
  Figure figure = two_lines();
  figure.series[0].points.pop_back();
  figure.series[1].points[0].label = "case A";
  const Table table = figure_table(figure);
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_EQ(texts(table.rows[1]), (std::vector<std::string>{"p95", "case A", "1", "40"}));
}

TEST(FigureTable, SaysWhatAPointMayBe) {
  Figure figure = two_lines();
  figure.series.resize(1);
  figure.series[0].points = {{.x = 1, .y = 20, .low = 10, .high = 1234}};
  EXPECT_EQ(figure_table(figure).rows[0][1].text, "20 (10 to 1,234)");
}

TEST(FigureNumber, HasFourDigitsOrIsWhole) {
  EXPECT_EQ(figure_number(12345.6), "12,346");
  EXPECT_EQ(figure_number(0.0234567), "0.02346");
  EXPECT_EQ(figure_number(-3.14159), "-3.142");
  EXPECT_EQ(figure_number(20), "20");
  EXPECT_EQ(figure_number(0), "0");
}

TEST(Thinned, KeepsTheEndsAndEveryPeak) {
  std::vector<FigurePoint> points;
  for (int i = 0; i < 10'000; ++i) points.push_back({.x = double(i), .y = 0});
  points[4321].y = 7;
  points[8765].y = -7;
  const std::vector<FigurePoint> few = thinned(points, 100);
  EXPECT_LE(few.size(), 100U);
  EXPECT_EQ(few.front().x, 0);
  EXPECT_EQ(few.back().x, 9999);
  const auto has = [&](double y) {
    return std::any_of(few.begin(), few.end(), [y](const FigurePoint& p) { return p.y == y; });
  };
  EXPECT_TRUE(has(7));
  EXPECT_TRUE(has(-7));
  EXPECT_TRUE(std::is_sorted(few.begin(), few.end(),
                             [](const FigurePoint& a, const FigurePoint& b) { return a.x < b.x; }));
}

TEST(Thinned, LeavesFewPointsAsTheyAre) {
  EXPECT_EQ(thinned({{.x = 1, .y = 2}, {.x = 2, .y = 3}}, 100).size(), 2U);
}

TEST(CanBeDrawn, AsksForAPointThatAnAxisHas) {
  Figure figure = two_lines();
  EXPECT_TRUE(can_be_drawn(figure));
  for (FigureSeries& series : figure.series) {
    for (FigurePoint& point : series.points) point.x = std::numeric_limits<double>::infinity();
  }
  EXPECT_FALSE(can_be_drawn(figure));
  EXPECT_THROW(chart_option(figure), Error);
}

TEST(ThinnedFigure, DrawsEvenlyChosenPointsAndSaysHowMany) {
  Figure figure = two_lines();
  for (FigureSeries& series : figure.series) {
    series.mark = Mark::points;
    series.points.clear();
    for (int i = 0; i < 500; ++i) series.points.push_back({.x = double(i), .y = double(i)});
  }
  // 1,000 points, of which 400 may be drawn: every third, 167 of 500.
  const Figure drawn = thinned_figure(figure);
  EXPECT_EQ(drawn.series[0].points.size(), 167U);
  EXPECT_EQ(drawn.series[1].points.back().x, 498);
  EXPECT_NE(drawn.caption.find("334 of 1,000 points"), std::string::npos) << drawn.caption;
  EXPECT_EQ(figure_table(drawn).rows.size(), 500U);  // a row an x, of all
}

}  // namespace
}  // namespace roofcast
