#include "reports/csv.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "reports/document.hpp"

namespace roofcast {
namespace {

std::string csv(const Table& table) {
  std::ostringstream out;
  write_csv(table, out);
  return out.str();
}

/// "number|unit|remark", or "none".
std::string read(const std::string& cell) {
  const auto figure = plain_figure(cell);
  return figure ? figure->number + "|" + figure->unit + "|" + figure->remark : "none";
}

TEST(PlainFigure, HasTheBaseUnitAndThePrintedDigits) {
  EXPECT_EQ(read("41.5 ms"), "0.0415|s|");
  EXPECT_EQ(read("560.8 us"), "0.0005608|s|");
  EXPECT_EQ(read("1.12 s"), "1.12|s|");
  EXPECT_EQ(read("3 min 05 s"), "185|s|");      // 3 x 60 + 5
  EXPECT_EQ(read("1 h 02 min"), "3720|s|");     // 3,600 + 2 x 60
  EXPECT_EQ(read("7 d 00 h"), "604800|s|");     // 7 x 86,400
  EXPECT_EQ(read("12.50 MiB"), "13107200|B|");  // 12.5 x 2^20
  EXPECT_EQ(read("1,234 B"), "1234|B|");
  EXPECT_EQ(read("8.03 B"), "8030000000||");  // parameters: 8.03e9
  EXPECT_EQ(read("124.44 M"), "124440000||");
  EXPECT_EQ(read("1.57 T"), "1570000000000||");
  EXPECT_EQ(read("139.00 G"), "139000000000||");
  EXPECT_EQ(read("989.4 TFLOP/s"), "989400000000000|FLOP/s|");
  EXPECT_EQ(read("4.80 TB/s"), "4800000000000|B/s|");
  EXPECT_EQ(read("12.5 %"), "12.5|%|");
  EXPECT_EQ(read("$0.24"), "0.24|$|");
  EXPECT_EQ(read("-1,234,567.8"), "-1234567.8||");
  EXPECT_EQ(read("+30.1 %"), "30.1|%|");
  EXPECT_EQ(read("±8 %"), "8|%|");
}

TEST(PlainFigure, KeepsWhatElseTheCellSays) {
  EXPECT_EQ(read("over 99.9 %"), "99.9|%|over");
  EXPECT_EQ(read("3.15x (few)"), "3.15|x|few");
  EXPECT_EQ(read("326 sequences"), "326||sequences");
  EXPECT_EQ(read("450.0 GB/s per direction"), "450000000000|B/s|per direction");
}

TEST(PlainFigure, IsNotReadFromNamesAndDates) {
  for (const char* cell : {"70B", "8x7b", "2026-01-02", "1,23", "1,2345", "1,234.5.6", ",123",
                           "never", "", "-", "over", "1.2.3", "16k"}) {
    EXPECT_EQ(read(cell), "none") << cell;
  }
}

TEST(Csv, HasNumbersWithTheUnitInTheTitle) {
  EXPECT_EQ(csv({.title = "",
                 .columns = {{"GPU", false}, {"TTFT p95"}, {"Load"}, {"$/h"}},
                 .rows = {{"h100", "41.5 ms", "12.5 %", "4.50"}, {"l40s", "1.12 s", "-", "0.99"}}}),
            "GPU,TTFT p95 (s),Load (%),$/h\nh100,0.0415,12.5,4.50\nl40s,1.12,,0.99\n");
}

TEST(Csv, PutsRemarksInAColumnOfTheirOwn) {
  EXPECT_EQ(
      csv({.title = "",
           .columns = {{"P"}, {"Breaks at"}},
           .rows = {{"over 99.9 %", "3.15x (few)"}, {"no answer", "1.20x"}}}),
      "P (%),P remark,Breaks at (x),Breaks at remark\n99.9,over,3.15,few\n,no answer,1.20,\n");
}

TEST(Csv, NamesTheUnitOfEachRowWhereRowsDiffer) {
  EXPECT_EQ(csv({.title = "",
                 .columns = {{"Metric", false}, {"Run 3"}},
                 .rows = {{"TTFT", "41.5 ms"}, {"memory", "2.00 GiB"}, {"steps", "3,419"}}}),
            "Metric,Run 3,Run 3 unit\nTTFT,0.0415,s\nmemory,2147483648,B\nsteps,3419,\n");
}

TEST(Csv, SplitsRangesIntoTheirEnds) {
  EXPECT_EQ(csv({.title = "",
                 .columns = {{"95 % interval"}},
                 .rows = {{"-8.5 ms to +1.1 s"}, {"0 s to 0 s"}}}),
            "\"95 % interval, low (s)\",\"95 % interval, high (s)\"\n-0.0085,1.1\n0,0\n");
}

TEST(Csv, GivesListsTitles) {
  EXPECT_EQ(csv({.title = "",
                 .columns = {{"", false}, {""}, {"", false}},
                 .rows = {{"prefill", "715.2 ms", "±8 %"}, {"tokens/s", "2,901.2", ""}}}),
            "Name,Value,Unit,Note\nprefill,0.7152,s,±8 %\ntokens/s,2901.2,,\n");
}

TEST(Csv, NamesAColumnWithoutATitleByTheOneBefore) {
  EXPECT_EQ(
      csv({.title = "", .columns = {{"Prefill"}, {"", false}}, .rows = {{"715.2 ms", "±8 %"}}}),
      "Prefill (s),Prefill note\n0.7152,±8 %\n");
}

TEST(Csv, LeavesTextAsItIs) {
  EXPECT_EQ(csv({.title = "",
                 .columns = {{"Name", false}, {"When"}},
                 .rows = {{"8 x", "never"}, {"12.5 %", "-"}}}),
            "Name,When\n8 x,never\n12.5 %,-\n");
}

}  // namespace
}  // namespace roofcast
