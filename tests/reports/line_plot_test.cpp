#include "reports/line_plot.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace roofcast {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

LinePlot plot_of(std::vector<LinePoint> points) {
  return {.title = "A figure",
          .panels = {{.title = "a panel",
                      .x_title = "request_rate",
                      .y_title = "TTFT (s)",
                      .names = {},
                      .series = {{.name = "", .points = std::move(points)}}}}};
}

TEST(LinePlot, TicksAreRoundNumbers) {
  EXPECT_THAT(linear_ticks(0, 10), ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT(linear_ticks(0, 4), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(linear_ticks(-1, 1), ElementsAre(-1, -0.5, 0, 0.5, 1));
  EXPECT_THAT(linear_ticks(0, 0.002), ElementsAre(DoubleEq(0), DoubleEq(0.0005), DoubleEq(0.001),
                                                  DoubleEq(0.0015), DoubleEq(0.002)));
}

TEST(LinePlot, YBeginsAtZeroAndXSpansTheNumbers) {
  // The frame begins at (74, 40 + 34) and is 340 by 220. x from 0 to 10 has 5 % of room on either
  // side: 0 is 0.5 / 11 of the width from the left, at 74 + 15.45. y up to 2 has 8 % above, so 1 is
  // 1 / 2.16 of the height up, at 294 - 101.85.
  const std::string text = line_svg(plot_of({{.x = 0, .y = 1}, {.x = 10, .y = 2}}));
  EXPECT_THAT(text, HasSubstr("<path class=\"line\" stroke=\"#0072B2\" d=\"M89.45 192.15L"));
  EXPECT_THAT(text, HasSubstr("<circle cx=\"89.45\" cy=\"192.15\""));
}

TEST(LinePlot, NamesStandInTheirPlacesUnjoined) {
  // Two names share the width: the second is at 74 + 340 * 0.75.
  LinePlot plot = plot_of({{.x = 0, .y = 1}, {.x = 1, .y = 2}});
  plot.panels[0].names = {"h100", "a & b"};
  const std::string text = line_svg(plot);
  EXPECT_THAT(text, HasSubstr("<circle cx=\"329.00\""));
  EXPECT_THAT(text, HasSubstr("a &amp; b"));
  EXPECT_THAT(text, Not(HasSubstr("<path class=\"line\"")));
}

TEST(LinePlot, WhiskersReachTheirEndsAndAreInTheFrame) {
  // The upper end 4 is the highest: y from 0 to 4.32 over 220, so it is at 294 - 203.70.
  const std::string text =
      line_svg(plot_of({{.x = 1, .y = 2, .low = 1, .high = 4, .label = "here"}}));
  EXPECT_THAT(text, HasSubstr("V90.30\""));
  EXPECT_THAT(text, HasSubstr("<title>here</title></circle>"));
}

TEST(LinePlot, NothingToShowIsSaid) {
  for (const auto& points : {std::vector<LinePoint>{}, {{.x = 1, .y = NAN}}, {{.x = INFINITY}}}) {
    const std::string text = line_svg(plot_of(points));
    EXPECT_THAT(text, HasSubstr("nothing to show"));
    EXPECT_THAT(text, Not(HasSubstr("nan")));
  }
}

TEST(LinePlot, SeveralLinesHaveALegendOneHasNone) {
  LinePlot plot = plot_of({{.x = 0, .y = 1}});
  EXPECT_THAT(line_svg(plot), Not(HasSubstr("class=\"legend\"")));
  plot.panels[0].series = {{.name = "tp=1", .points = {{.x = 0, .y = 1}}},
                           {.name = "tp=2", .points = {{.x = 0, .y = 2}}}};
  plot.panels.push_back(plot.panels[0]);
  const std::string text = line_svg(plot);
  EXPECT_THAT(text, HasSubstr(">tp=1</text>"));
  EXPECT_THAT(text, HasSubstr(">tp=2</text>"));
}

}  // namespace
}  // namespace roofcast
