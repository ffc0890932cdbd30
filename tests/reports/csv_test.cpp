#include "reports/csv.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "reports/cells.hpp"
#include "reports/document.hpp"

namespace roofcast {
namespace {

Printed ms(double milliseconds) { return printed::time(Seconds{milliseconds / 1e3}); }

std::string csv(const Table& table) {
  std::ostringstream out;
  write_csv(table, out);
  return out.str();
}

/// "text|number|unit|remark".
std::string read(const Printed& cell) {
  return cell.text + "|" + cell.number + "|" + cell.unit + "|" + cell.remark;
}

TEST(Cell, HasTheBaseUnitAndThePrintedDigits) {
  EXPECT_EQ(read(printed::time(Seconds{0.04149})), "41.5 ms|0.0415|s|");
  EXPECT_EQ(read(printed::time(Seconds{0.00099996})), "1.0 ms|0.001|s|");
  EXPECT_EQ(read(printed::time(Seconds{1.12})), "1.12 s|1.12|s|");
  EXPECT_EQ(read(printed::time(Seconds{185})), "3 min 05 s|185|s|");      // 3 x 60 + 5
  EXPECT_EQ(read(printed::time(Seconds{3725})), "1 h 02 min|3720|s|");    // 3,600 + 2 x 60
  EXPECT_EQ(read(printed::time(Seconds{604800})), "7 d 00 h|604800|s|");  // 7 x 86,400
  EXPECT_EQ(read(printed::time(Seconds{-0.03})), "-30.0 ms|-0.03|s|");
  EXPECT_EQ(read(printed::bytes(Bytes{13107200})), "12.50 MiB|13107200|B|");  // 12.5 x 2^20
  EXPECT_EQ(read(printed::bytes(Bytes{1234})), "1,234 B|1234|B|");
  EXPECT_EQ(read(printed::parameters(8'030'261'248)), "8.03 B|8030000000||");
  EXPECT_EQ(read(printed::parameters(124'439'808)), "124.44 M|124440000||");
  EXPECT_EQ(read(printed::rate(FlopsPerSecond{989.4e12})), "989.4 TFLOP/s|989400000000000|FLOP/s|");
  EXPECT_EQ(read(printed::rate(BytesPerSecond{4.8e12})), "4.80 TB/s|4800000000000|B/s|");
  EXPECT_EQ(read(printed::percent(0.125)), "12.5 %|12.5|%|");
  EXPECT_EQ(read(printed::fixed(-1234567.84, 1)), "-1,234,567.8|-1234567.8||");
  EXPECT_EQ(read(in_giga(2.457e9, 2, "Hz")), "2.46 GHz|2460000000|Hz|");
  EXPECT_EQ(read(in(700, 0, "W")), "700 W|700|W|");
  EXPECT_EQ(read(signed_by("$", printed::fixed(0.24, 2))), "$0.24|0.24|$|");
  EXPECT_EQ(read(signed_percent(0.301)), "+30.1 %|30.1|%|");
  EXPECT_EQ(read(signed_percent(-0.033)), "-3.3 %|-3.3|%|");
}

TEST(Cell, KeepsWhatElseItSays) {
  EXPECT_EQ(read(printed::probability(0.9999)), "over 99.9 %|99.9|%|over");
  EXPECT_EQ(read(followed(in(3.151, 2, "x"), " (few)")), "3.15x (few)|3.15|x|few");
  EXPECT_EQ(read(followed(printed::count(326), " sequences")), "326 sequences|326||sequences");
  EXPECT_EQ(read(followed(printed::rate(BytesPerSecond{450e9}), " per direction")),
            "450.0 GB/s per direction|450000000000|B/s|per direction");
}

TEST(Csv, HasNumbersWithTheUnitInTheTitle) {
  EXPECT_EQ(csv({.title = "",
                 .columns = {{"GPU", false}, {"TTFT p95"}, {"Load"}, {"$/h"}},
                 .rows = {{"h100", ms(41.5), printed::percent(0.125), printed::fixed(4.5, 2)},
                          {"l40s", ms(1120), "-", printed::fixed(0.99, 2)}}}),
            "GPU,TTFT p95 (s),Load (%),$/h\nh100,0.0415,12.5,4.50\nl40s,1.12,,0.99\n");
}

TEST(Csv, PutsRemarksInAColumnOfTheirOwn) {
  EXPECT_EQ(
      csv({.title = "",
           .columns = {{"P"}, {"Breaks at"}},
           .rows = {{printed::probability(1), followed(in(3.15, 2, "x"), " (few)")},
                    {"no answer", in(1.2, 2, "x")}}}),
      "P (%),P remark,Breaks at (x),Breaks at remark\n99.9,over,3.15,few\n,no answer,1.20,\n");
}

TEST(Csv, NamesTheUnitOfEachRowWhereRowsDiffer) {
  EXPECT_EQ(csv({.title = "",
                 .columns = {{"Metric", false}, {"Run 3"}},
                 .rows = {{"TTFT", ms(41.5)},
                          {"memory", printed::gib(Bytes{2 * kGiB})},
                          {"steps", printed::count(3419)}}}),
            "Metric,Run 3,Run 3 unit\nTTFT,0.0415,s\nmemory,2147483648,B\nsteps,3419,\n");
}

TEST(Csv, SplitsRangesIntoTheirEnds) {
  EXPECT_EQ(csv({.title = "",
                 .columns = {{"95 % interval"}},
                 .rows = {{range(ms(-8.5), ms(1100))}, {range(ms(0), ms(0))}}}),
            "\"95 % interval, low (s)\",\"95 % interval, high (s)\"\n-0.0085,1.10\n0,0\n");
}

TEST(Csv, GivesListsTitles) {
  EXPECT_EQ(
      csv({.title = "",
           .columns = {{"", false}, {""}, {"", false}},
           .rows = {{"prefill", ms(715.2), "±8 %"}, {"tokens/s", printed::fixed(2901.2, 1), ""}}}),
      "Name,Value,Unit,Note\nprefill,0.7152,s,±8 %\ntokens/s,2901.2,,\n");
}

TEST(Csv, NamesAColumnWithoutATitleByTheOneBefore) {
  EXPECT_EQ(
      csv({.title = "", .columns = {{"Prefill"}, {"", false}}, .rows = {{ms(715.2), "±8 %"}}}),
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
