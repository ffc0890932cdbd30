#include "reports/scatter_plot.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "reports/svg_text.hpp"

namespace roofcast {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

ScatterPlot plot_of(std::vector<PlotPoint> points) {
  return {.title = "A figure",
          .panels = {{.title = "a panel",
                      .x_title = "measured (s)",
                      .y_title = "predicted (s)",
                      .series = {{.name = "a kind", .points = std::move(points)}}}}};
}

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(ScatterPlot, TicksArePowersOfTenAndMoreWhereThoseAreFew) {
  EXPECT_THAT(log_ticks(0.9, 1100), ElementsAre(1, 10, 100, 1000));
  EXPECT_THAT(log_ticks(0.9, 11), ElementsAre(1, 2, 5, 10));
  EXPECT_THAT(log_ticks(2.5, 4.5), ElementsAre(3, 4));
  EXPECT_LE(log_ticks(1e-12, 1e12).size(), 8U);
}

TEST(ScatterPlot, APointOnTheDiagonalLiesOnTheSquaresDiagonal) {
  // One point of 1 and 1: the range is 1/1.25 to 1.25, the point its middle. The square begins at
  // (74, 40 + 34) and is 260 wide.
  EXPECT_THAT(scatter_svg(plot_of({{1, 1, "here"}})),
              HasSubstr("<circle cx=\"204.00\" cy=\"204.00\""));
}

TEST(ScatterPlot, AxesAreLogarithmic) {
  // 1 and 16 by 4: from 1/1.25 to 20 there are log(25) to share, and log(4 / 0.8) = log(5) is half
  // of it, so x of 4 lies in the middle.
  EXPECT_THAT(scatter_svg(plot_of({{4, 1, ""}, {4, 16, ""}})), HasSubstr("<circle cx=\"204.00\""));
}

TEST(ScatterPlot, WhatHasNoLogarithmIsLeftOut) {
  const std::string text = scatter_svg(plot_of({{0, 1, ""}, {1, -1, ""}, {NAN, 1, ""}}));
  EXPECT_THAT(text, HasSubstr("nothing above zero"));
  EXPECT_THAT(text, Not(HasSubstr("nan")));
  EXPECT_EQ(count(text, "<circle"), 1);  // the legend's
}

TEST(ScatterPlot, KindsDifferInShapeAndAreNamedOnce) {
  ScatterPlot plot = plot_of({{1, 1, ""}});
  plot.panels[0].series.push_back({.name = "another", .points = {{1, 1.1, ""}}});
  plot.panels.push_back(plot.panels[0]);
  const std::string text = scatter_svg(plot);
  EXPECT_EQ(count(text, ">a kind<"), 1);
  EXPECT_EQ(count(text, "<circle"), 3);  // one a panel and the legend
  EXPECT_EQ(count(text, "class=\"mark\""), 6);
}

TEST(ScatterPlot, NamesCannotBreakTheDocument) {
  ScatterPlot plot = plot_of({{1, 1, "<script>\"&\xFF"}});
  plot.title = "</svg>";
  const std::string text = scatter_svg(plot);
  EXPECT_THAT(text, Not(HasSubstr("<script>")));
  EXPECT_EQ(count(text, "</svg>"), 1);
  EXPECT_THAT(text, HasSubstr("&lt;script&gt;&quot;&amp;\xEF\xBF\xBD"));
}

TEST(ScatterPlot, AnEmptyFigureIsOne) { EXPECT_THAT(scatter_svg({}), HasSubstr("</svg>")); }

TEST(SvgText, ControlCharactersAreBlanksAndNoCharactersAreReplaced) {
  EXPECT_EQ(svg_escaped(std::string("a\0b\nc", 5)), "a b c");
  EXPECT_EQ(svg_escaped("\xEF\xBF\xBF \xC3\xA4"), "? \xC3\xA4");
}

}  // namespace
}  // namespace roofcast
