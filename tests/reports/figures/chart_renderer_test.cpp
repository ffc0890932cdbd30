#include "reports/figures/chart_renderer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "reports/figures/png.hpp"

namespace roofcast {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class ChartRendererTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_charts()) GTEST_SKIP() << "built without charts";
  }
};

/// Two points 100 ms apart and a whisker; the title contains an HTML tag.
Json small_chart() {
  return Json::parse(R"({
    "xAxis": {"type": "value", "name": "TTFT (ms) <b>"},
    "yAxis": {"type": "value", "name": "share of requests"},
    "series": [
      {"type": "line", "name": "TTFT", "data": [[0, 0], [100, 1]]},
      {"type": "custom", "renderItem": "whisker", "data": [[50, 0.2, 0.8]]}]})");
}

TEST_F(ChartRendererTest, DrawsAnSvgWithItsAxisTitlesEscaped) {
  const std::string svg = ChartRenderer().svg(small_chart(), {.width = 400, .height = 300}, "a");
  EXPECT_THAT(svg, StartsWith("<svg width=\"400\" height=\"300\""));
  EXPECT_THAT(svg, HasSubstr("TTFT (ms) &lt;b&gt;"));
  EXPECT_THAT(svg, HasSubstr("share of requests"));
  EXPECT_THAT(svg, HasSubstr("stroke=\"#0072b2\""));  // the line
}

TEST_F(ChartRendererTest, DrawsTheSameBytesAgainWhateverWasDrawnBefore) {
  ChartRenderer renderer;
  const std::string first = renderer.svg(small_chart(), {}, "a");
  EXPECT_EQ(renderer.svg(small_chart(), {}, "a"), first);
  EXPECT_EQ(ChartRenderer().svg(small_chart(), {}, "a"), first);
}

TEST_F(ChartRendererTest, KeepsTheIdsOfTwoChartsApart) {
  const std::string svg = ChartRenderer().svg(small_chart(), {}, "latency");
  EXPECT_THAT(svg, HasSubstr("latency-"));
  EXPECT_THAT(svg, Not(HasSubstr("zr0-")));
}

TEST_F(ChartRendererTest, SaysWhatTheLibraryRefusesAndDrawsOn) {
  ChartRenderer renderer;
  const Json bad =
      Json::parse(R"({"series": [{"type": "line", "xAxisIndex": 7, "data": [[0, 0]]}]})");
  EXPECT_THROW(renderer.svg(bad, {}, "a"), Error);
  EXPECT_THAT(renderer.svg(small_chart(), {}, "a"), StartsWith("<svg"));
}

TEST_F(ChartRendererTest, APngHasTheSizeAskedFor) {
  if (!has_png()) GTEST_SKIP() << "built without librsvg";
  const std::string svg = ChartRenderer().svg(small_chart(), {.width = 300, .height = 200}, "a");
  const std::string png = png_of(svg, 2);
  // The head of a PNG (ISO/IEC 15948, 5.2 and 11.2.2): signature, IHDR, width and height.
  EXPECT_THAT(png, StartsWith("\x89PNG\r\n\x1a\n"));
  EXPECT_EQ(png.substr(16, 8), std::string("\0\0\x02\x58\0\0\x01\x90", 8));  // 600 x 400
}

TEST(Png, RefusesWhatIsNoSvg) { EXPECT_THROW(png_of("no picture", 1), Error); }

}  // namespace
}  // namespace roofcast
