#include "reports/document.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "base/error.hpp"

namespace roofcast {
namespace {

/// Two sections, one without a table, like those of a memory plan.
Document plan() {
  return {.machine = {{"schema_version", 1}, {"fits", true}, {"weight_bytes", 141107412992}},
          .sections = {{.heading = "Memory per GPU",
                        .lines = {"It fits."},
                        .table = {.title = "Terms",
                                  .columns = {{"Term", false}, {"GiB"}},
                                  .rows = {{"weights", printed::fixed(65.71, 2)},
                                           {"KV cache", printed::fixed(1234.5, 1)}}}},
                       {.heading = "", .lines = {"A note.", "Another."}, .table = {}}}};
}

Document only(Table table) {
  return {.machine = {}, .sections = {{.heading = "", .lines = {}, .table = std::move(table)}}};
}

std::string written(const Document& document, OutputFormat format) {
  std::ostringstream out;
  write(document, format, out);
  return out.str();
}

TEST(DocumentText, AlignsColumnsUnderTheirHeading) {
  EXPECT_EQ(written(plan(), OutputFormat::table),
            "Memory per GPU\n"
            "  It fits.\n"
            "\n"
            "  Terms\n"
            "  Term          GiB\n"
            "  --------  -------\n"
            "  weights     65.71\n"
            "  KV cache  1,234.5\n"
            "\n"
            "  A note.\n"
            "  Another.\n");
}

TEST(DocumentText, AListOfNamesAndValuesHasNoTitles) {
  const Table list{.title = "",
                   .columns = {{"", false}, {""}},
                   .rows = {{"requests", printed::count(600)}, {"steps", printed::count(4312)}}};
  EXPECT_EQ(written(only(list), OutputFormat::table),
            "requests    600\n"
            "steps     4,312\n");
  EXPECT_EQ(written(only(list), OutputFormat::csv), "Name,Value\nrequests,600\nsteps,4312\n");
  EXPECT_EQ(written(only(list), OutputFormat::md),
            "| | |\n| --- | ---: |\n| requests | 600 |\n| steps | 4,312 |\n");
}

TEST(DocumentText, HasNoTrailingSpaces) {
  EXPECT_EQ(written(only({.title = "",
                          .columns = {{"Name", false}, {"Source", false}},
                          .rows = {{"H200", "datasheet"}, {"L4", ""}}}),
                    OutputFormat::table),
            "Name  Source\n"
            "----  ---------\n"
            "H200  datasheet\n"
            "L4\n");
}

TEST(DocumentText, CountsColumnsOfTheTerminalNotBytes) {
  // "é" is two bytes and one column, "模型" six bytes and four columns, "±" two bytes, one column.
  EXPECT_EQ(written(only({.title = "",
                          .columns = {{"Name", false}, {"ms"}},
                          .rows = {{"Qué", "4 ±1"}, {"模型", "12"}, {"plain", "3"}}}),
                    OutputFormat::table),
            "Name     ms\n"
            "-----  ----\n"
            "Qué    4 ±1\n"
            "模型     12\n"
            "plain     3\n");
}

TEST(DocumentText, KeepsTerminalCodesAndLineFeedsOfNamesOut) {
  EXPECT_EQ(written(only({.title = "",
                          .columns = {{"Name", false}},
                          .rows = {{"a\nb"},
                                   {"\x1b[31mred"},
                                   {"\xC2\x9B"
                                    "31mred"}}}),
                    OutputFormat::table),
            "Name\n"
            "--------\n"
            "a b\n"
            " [31mred\n"
            "  31mred\n");  // U+009B is "escape [" in one character
}

TEST(DocumentMarkdown, WritesHeadingsParagraphsAndTables) {
  EXPECT_EQ(written(plan(), OutputFormat::md),
            "## Memory per GPU\n"
            "\n"
            "It fits.\n"
            "\n"
            "**Terms**\n"
            "\n"
            "| Term | GiB |\n"
            "| --- | ---: |\n"
            "| weights | 65.71 |\n"
            "| KV cache | 1,234.5 |\n"
            "\n"
            "A note.\n"
            "\n"
            "Another.\n");
}

TEST(DocumentMarkdown, EscapesWhatWouldBreakATable) {
  EXPECT_EQ(written(only({.title = "",
                          .columns = {{"a|b", false}},
                          .rows = {{"x | y"}, {"<b> 2*3 \\"}, {""}}}),
                    OutputFormat::md),
            "| a\\|b |\n"
            "| --- |\n"
            "| x \\| y |\n"
            "| \\<b> 2\\*3 \\\\ |\n"
            "| |\n");
}

TEST(DocumentCsv, WritesTheTablesOnly) {
  Document document = plan();
  document.sections.push_back({.heading = "",
                               .lines = {},
                               .table = {.title = "", .columns = {{"Batch"}}, .rows = {{"12"}}}});
  EXPECT_EQ(written(document, OutputFormat::csv),
            "Term,GiB\n"
            "weights,65.71\n"
            "KV cache,1234.5\n"
            "\n"
            "Batch\n"
            "12\n");
}

TEST(DocumentCsv, QuotesCommasQuotesAndLineFeeds) {
  EXPECT_EQ(written(only({.title = "",
                          .columns = {{"Name, version", false}, {"Note", false}},
                          .rows = {{"a \"b\"", "two\nlines"}, {"plain", " space "}}}),
                    OutputFormat::csv),
            "\"Name, version\",Note\n"
            "\"a \"\"b\"\"\",\"two\nlines\"\n"
            "plain, space \n");
}

TEST(DocumentCsv, TakesTheSpreadsheetInPlaceOfTheTable) {
  Document document = only({.title = "", .columns = {{"Load"}}, .rows = {{"2 mean, 5 peak"}}});
  document.sections[0].spreadsheet = {
      .title = "", .columns = {{"mean"}, {"peak"}}, .rows = {{"2", "5"}}};
  EXPECT_EQ(written(document, OutputFormat::csv), "mean,peak\n2,5\n");
  EXPECT_EQ(written(document, OutputFormat::table),
            "          Load\n--------------\n2 mean, 5 peak\n");
}

TEST(DocumentJson, IndentsByTwoAndKeepsTheOrderOfKeys) {
  EXPECT_EQ(written(plan(), OutputFormat::json),
            "{\n"
            "  \"schema_version\": 1,\n"
            "  \"fits\": true,\n"
            "  \"weight_bytes\": 141107412992\n"
            "}\n");
}

TEST(DocumentJson, JsonlIsOneLine) {
  EXPECT_EQ(written(plan(), OutputFormat::jsonl),
            "{\"schema_version\":1,\"fits\":true,\"weight_bytes\":141107412992}\n");
}

TEST(DocumentJson, DoublesComeBackAsTheyWere) {
  const double values[] = {0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, -0.0, 31.7e-3, 2e9};
  Document document;
  for (const double value : values) document.machine.push_back(value);
  const Json read = Json::parse(written(document, OutputFormat::json));
  for (std::size_t i = 0; i < std::size(values); ++i) {
    EXPECT_EQ(read[i].get<double>(), values[i]);
    EXPECT_TRUE(read[i].is_number_float()) << read[i];
  }
  EXPECT_EQ(written({.machine = {{"x", 0.1}}, .sections = {}}, OutputFormat::jsonl),
            "{\"x\":0.1}\n");
}

TEST(DocumentJson, NamesThatAreNotUtf8DoNotStopIt) {
  EXPECT_EQ(written({.machine = {{"name", "a\xff"}}, .sections = {}}, OutputFormat::jsonl),
            "{\"name\":\"a\xEF\xBF\xBD\"}\n");
}

#ifndef NDEBUG
TEST(DocumentDeathTest, NotANumberIsABug) {
  const Document document{.machine = {{"deep", {{"x", std::nan("")}}}}, .sections = {}};
  EXPECT_DEATH(written(document, OutputFormat::json), "all_finite");
}

TEST(DocumentDeathTest, ARowOfAnotherLengthIsABug) {
  EXPECT_DEATH(
      written(only({.title = "", .columns = {{"a"}}, .rows = {{"1", "2"}}}), OutputFormat::csv),
      "rows_match_columns");
}
#endif

TEST(DisplayWidth, FollowsUtf8) {
  EXPECT_EQ(display_width(""), 0u);
  EXPECT_EQ(display_width("plain"), 5u);
  EXPECT_EQ(display_width("µs"), 2u);
  EXPECT_EQ(display_width("e\u0301"), 1u);  // e and a combining acute accent
  EXPECT_EQ(display_width("深度"), 4u);
  EXPECT_EQ(display_width("🚀"), 2u);
}

TEST(DisplayWidth, CountsBrokenBytesOneByOne) {
  EXPECT_EQ(display_width("\xff\xfe"), 2u);
  EXPECT_EQ(display_width("a\xe6\xa8"), 3u);  // cut off in the middle of a character
}

TEST(OutputFormats, AreNamed) {
  EXPECT_EQ(parse_output_format("table"), OutputFormat::table);
  EXPECT_EQ(parse_output_format("json"), OutputFormat::json);
  EXPECT_EQ(parse_output_format("jsonl"), OutputFormat::jsonl);
  EXPECT_EQ(parse_output_format("csv"), OutputFormat::csv);
  EXPECT_EQ(parse_output_format("md"), OutputFormat::md);
  try {
    parse_output_format("xml");
    FAIL() << "no error";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "`output`: 'xml' is not table, json, jsonl, csv or md");
  }
}

}  // namespace
}  // namespace roofcast
