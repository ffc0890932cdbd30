#include "reports/pages/html_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <regex>
#include <sstream>

#include "base/error.hpp"
#include "reports/figures/chart_renderer.hpp"
#include "reports/pages/html_text.hpp"
#include "reports/pages/report_document.hpp"

namespace roofcast {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kHostile = "</script><script>alert(1)</script>";

Figure line_figure(const std::string& key, int points) {
  Figure figure{.key = key,
                .title = "TTFT of " + key,
                .caption = "How long it took.",
                .x = {.title = "load (requests/s)"},
                .y = {.title = "TTFT (ms)"},
                .series = {{.name = "p95"}}};
  for (int i = 0; i < points; ++i) {
    figure.series[0].points.push_back({.x = double(i), .y = double(i % 7)});
  }
  return figure;
}

Report small_report() {
  return {.title = "A run",
          .answer = "The SLO is met.",
          .verdict = true,
          .facts = {{"Model", "m"}},
          .sections = {{.heading = "Latency",
                        .lines = {"A line."},
                        .figures = {line_figure("first", 3)},
                        .commands = {"roofcast simulate --model m"}}},
          .footer = "Made by a test."};
}

TEST(HtmlPage, HoldsTheAnswerTheFigureItsNumbersAndTheInput) {
  const std::string page = html_page(small_report());
  for (const char* part : {"<h1>A run</h1>", "The SLO is met.", "<h2 id=\"heading-0\">Latency</h2>",
                           "A line.", "TTFT of first", "<details", "How long it took.",
                           "roofcast simulate --model m", "Made by a test."}) {
    EXPECT_THAT(page, HasSubstr(part));
  }
  if (!has_charts()) return;
  EXPECT_THAT(page, HasSubstr("<svg"));
  EXPECT_THAT(page, HasSubstr(">load (requests/s)</text>"));
}

TEST(HtmlPage, EscapesWhateverTextComesFromOutside) {
  Report report = small_report();
  report.title = report.answer = report.footer = kHostile;
  report.facts = {{kHostile, kHostile}};
  ReportSection& section = report.sections[0];
  section.heading = kHostile;
  section.lines = section.commands = {kHostile};
  section.tables = {{.title = kHostile, .columns = {{kHostile}}, .rows = {{kHostile}}}};
  Figure& figure = section.figures[0];
  figure.title = figure.caption = figure.x.title = figure.series[0].name = kHostile;
  figure.series[0].points[0].label = kHostile;
  EXPECT_THAT(html_page(report), Not(HasSubstr("<script>alert")));
}

TEST(HtmlPage, LoadsNothingFromAnywhere) {
  // Names of XML's vocabularies are not addresses that a browser requests.
  const std::string page = std::regex_replace(html_page(small_report()),
                                              std::regex("http://www\\.w3\\.org/[^\"' ]*"), "");
  const std::string head = page.substr(0, page.find("</head>"));
  EXPECT_THAT(head, HasSubstr("default-src 'none'"));
  EXPECT_THAT(head, Not(HasSubstr("http:")));
  EXPECT_THAT(head, Not(HasSubstr("https:")));
  EXPECT_THAT(page, Not(HasSubstr(" src=\"")));
  EXPECT_THAT(page, Not(HasSubstr("@import")));
  EXPECT_THAT(page, Not(HasSubstr("url(http")));
}

TEST(HtmlPage, HasNoHandlersInAttributes) {
  const std::string page = html_page(small_report());
  const std::string body = page.substr(0, page.find("<script>"));
  EXPECT_FALSE(std::regex_search(body, std::regex("\\son[a-z]+=")));
}

TEST(HtmlPage, OfManyFullFiguresStaysBelowOneAndAHalfMegabytes) {
  Report report = small_report();
  for (int i = 0; i < 12; ++i) {
    report.sections[0].figures.push_back(line_figure("more_" + std::to_string(i), 400));
  }
  EXPECT_LT(html_page(report).size(), 1'500'000U);
}

TEST(HtmlPage, OfTenThousandPointsStaysBelowOneAndAHalfMegabytes) {
  Report report = small_report();
  for (int i = 0; i < 6; ++i) {
    Figure figure = line_figure("scatter_" + std::to_string(i), 1700);
    figure.series[0].mark = Mark::points;
    for (FigurePoint& point : figure.series[0].points) point.label = "a case with a name: +1.5 %";
    report.sections[0].figures.push_back(std::move(figure));
  }
  const std::string page = html_page(report);
  EXPECT_LT(page.size(), 1'500'000U);
  EXPECT_THAT(page, HasSubstr("The first 100 of 1,700 rows"));
}

TEST(HtmlPage, WithAFigureThatCannotBeDrawnHasItsTable) {
  Report report = small_report();
  report.sections[0].figures[0].series[0].points = {
      {.x = std::numeric_limits<double>::infinity(), .y = 12.5}};
  const std::string page = html_page(report);
  EXPECT_THAT(page, Not(HasSubstr("data-figure=\"")));
  EXPECT_THAT(page, HasSubstr("12.50"));
}

TEST(HtmlPage, CarriesTheNoticesOfTheLibraryThatDraws) {
  if (!has_charts()) GTEST_SKIP() << "built without charts";
  EXPECT_THAT(html_page(small_report()), testing::AllOf(HasSubstr("Apache ECharts"),
                                                        HasSubstr("zrender"), HasSubstr("tslib")));
}

TEST(HtmlPage, IsTheSameBytesTwice) {
  EXPECT_EQ(html_page(small_report()), html_page(small_report()));
}

TEST(HtmlPage, WithoutAVerdictIsNeitherYesNorNo) {
  Report report = small_report();
  report.verdict.reset();
  EXPECT_THAT(html_page(report), HasSubstr("<p class=\"answer\">"));
  report.verdict = false;
  EXPECT_THAT(html_page(report), HasSubstr("<p class=\"answer no\">"));
}

TEST(HtmlPage, FoldsAScenarioButNoCommand) {
  Report report = small_report();
  std::string scenario = "{";
  for (int line = 0; line < 18; ++line) scenario += "\n  \"a\": 1,";
  scenario += "\n}";
  report.sections[0].commands = {"roofcast simulate s.json", scenario};
  const std::string page = html_page(report);
  EXPECT_THAT(page, HasSubstr("<details><summary>The scenario as a file, 20 lines</summary>\n"
                              "<pre tabindex=\"0\"><code>{"));
  EXPECT_THAT(page, HasSubstr("\n<pre tabindex=\"0\"><code>roofcast simulate s.json</code></pre>"));
}

TEST(HtmlText, EscapesAndReplacesWhatIsNoText) {
  EXPECT_EQ(html_escaped("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&#39;");
  EXPECT_EQ(html_escaped("\xff"), "\xEF\xBF\xBD");  // U+FFFD
  EXPECT_EQ(json_in_script(Json{{"k", "</script>"}}), "{\"k\":\"\\u003c/script>\"}");
}

TEST(HtmlText, ShowsWhatStandsBetweenBackquotesAsCode) {
  EXPECT_EQ(html_sentence("`max_tokens`: as <b> says"),
            "<code>max_tokens</code>: as &lt;b&gt; says");
  EXPECT_EQ(html_sentence("one ` alone"), "one ` alone");
  EXPECT_EQ(html_sentence("`a` and `<b>` and `"),
            "<code>a</code> and <code>&lt;b&gt;</code> and `");
  EXPECT_EQ(html_sentence(""), "");
}

TEST(ReportDocument, HasEveryPointForMachinesAndATableForPeople) {
  const Document document = report_document(small_report());
  const Json& figure = document.machine["sections"][0]["figures"][0];
  EXPECT_EQ(figure["y_title"], "TTFT (ms)");
  EXPECT_EQ(figure["series"][0]["points"].size(), 3U);
  EXPECT_EQ(document.machine["verdict"], true);
  bool found = false;
  for (const Section& section : document.sections) found |= section.table.title == "TTFT of first";
  EXPECT_TRUE(found);
}

TEST(ReportText, HasCommandsAsTheyAreTyped) {
  Report report = small_report();
  report.sections[0].commands = {"{\n  \"a_b\": \"*\"\n}", "echo ```"};
  std::ostringstream markdown, terminal;
  write(report, OutputFormat::md, markdown);
  EXPECT_THAT(markdown.str(), HasSubstr("\n```\n{\n  \"a_b\": \"*\"\n}\n```\n"));
  EXPECT_THAT(markdown.str(), HasSubstr("\n````\necho ```\n````\n"));
  write(report, OutputFormat::table, terminal);
  EXPECT_THAT(terminal.str(), HasSubstr("\n  {\n    \"a_b\": \"*\"\n  }\n"));
}

}  // namespace
}  // namespace roofcast
