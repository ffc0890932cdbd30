// Reports on runs that the test itself stores: figures and text must match the stored values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "model/io/gpu_reader.hpp"
#include "reports/store.hpp"
#include "tests/support/run_command.hpp"

namespace roofcast::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

json report_of(const std::string& what) {
  const CommandResult result = run_command("report " + what + " --store r.db -o json");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return json::parse(result.out);
}

json stored_figure(const json& report, const std::string& key) {
  for (const json& section : report["sections"]) {
    for (const json& figure : section["figures"]) {
      if (figure["key"] == key) return figure;
    }
  }
  return {};
}

std::string lines_of(const json& report) {
  std::string lines;
  for (const json& section : report["sections"]) {
    for (const json& line : section["lines"]) lines += line.get<std::string>() + "\n";
  }
  return lines;
}

RunRow row_of(const std::string& kind, const std::string& summary) {
  return {.id = 0,
          .kind = kind,
          .created_at = "2026-01-02T03:04:05Z",
          .tool_version = "0.0.1",
          .command_line = "roofcast " + kind,
          .model = "invented",
          .gpu = "one.json",
          .engine = "-",
          .scenario_json = "{}",
          .profile_hash = "",
          .seed = 0,
          .summary = summary};
}

class StoredReport : public testing::Test {
 protected:
  TemporaryFolder folder_;
};

// One curve: a product takes 5 us for 1 token and 6 us for 64.
constexpr const char* kProfile = R"({
  "schema_version": 1, "name": "one", "display_name": "Imaginary One", "aliases": [],
  "vendor": "nobody", "architecture": "none", "memory_bytes": 16e9, "memory_visible_bytes": 16e9,
  "memory_bandwidth_bytes_per_s": 1e12, "l2_cache_bytes": 1e6, "multiprocessors": 100,
  "dense_peak_flops_per_s": {"fp32": 5e13, "bf16": 1e14}, "gpus_per_node": 1,
  "measured": {"device": "Imaginary One", "identity": "none", "date": "2026-01-02T03:04:05Z",
    "tool": "a test", "protocol": "invented", "versions": {}, "dropped_samples": 0, "rejected": [],
    "curves": [{"family": "gemm", "format": "bf16", "outputs": 1024, "inputs": 512,
      "kernel": "library 3", "median_error": 0.02, "p90_error": 0.05,
      "terms": {"floor_s": 3e-6, "seconds_per_flop": 1e-14, "seconds_per_byte": 1e-12,
                "seconds_per_wave": 0},
      "points": [[1, 5e-6, 0.01, 64], [64, 6e-6, 0.01, 64]]}]},
  "sources": {}})";

TimedPointRow timed(std::int64_t index, const std::string& family, double x, double median_s) {
  return {.index = index,
          .name = family + " point",
          .family = family,
          .kernel = "library 3",
          .x = x,
          .median_s = median_s,
          .p10_s = median_s * 0.9,
          .p90_s = median_s * 1.2};
}

/// A calibration of two products, a copy of 2 MB and the sentinel product.
void store_calibration(const std::string& profile_hash) {
  Store store("r.db", Store::Mode::write);
  RunRow row = row_of("calibrate", "2 points, 1 curves in one.json");
  row.profile_hash = profile_hash;
  const std::int64_t id = store.begin_calibration(
      row, {.device = "Imaginary One", .identity = "none", .conditions = ""});
  store.add_points(id, std::vector{timed(0, "gemm", 1, 5e-6), timed(1, "gemm", 64, 6e-6),
                                   timed(2, "copy", 2e6, 4e-6), timed(3, "sentinel", 512, 1e-3),
                                   timed(4, "sentinel", 512, 2e-3)});
}

TEST_F(StoredReport, OfACalibrationDrawsItsPointsAndTheProfilesCurveOverThem) {
  std::ofstream("one.json") << kProfile;
  store_calibration(load_gpu("one.json").hash);
  const json report = report_of("1");
  EXPECT_THAT(report["answer"].get<std::string>(), HasSubstr("Imaginary One: 2 points"));
  const json figure = stored_figure(report, "timed_gemm");
  EXPECT_EQ(figure["x_title"], "tokens");
  EXPECT_EQ(figure["y_title"], "time of a call (µs)");
  ASSERT_EQ(figure["series"].size(), 2U);
  const json& point = figure["series"][0]["points"][0];
  EXPECT_DOUBLE_EQ(point["y"], 5);
  EXPECT_DOUBLE_EQ(point["low"], 4.5);
  EXPECT_DOUBLE_EQ(point["high"], 6);
  // A curve answers its own points by what was timed there.
  EXPECT_EQ(figure["series"][1]["name"], "bf16 1024 x 512, library 3");
  const json& line = figure["series"][1]["points"];
  EXPECT_NEAR(line.front()["x"], 1, 1e-9);
  EXPECT_NEAR(line.front()["y"], 5, 1e-9);
  EXPECT_NEAR(line.back()["x"], 64, 1e-9);
  EXPECT_NEAR(line.back()["y"], 6, 1e-9);
}

TEST_F(StoredReport, OfACalibrationDrawsSizesInTheirUnitAndTellsSteadinessInALine) {
  std::ofstream("one.json") << kProfile;
  store_calibration(load_gpu("one.json").hash);
  const json report = report_of("1");
  const json copies = stored_figure(report, "timed_copy");
  EXPECT_EQ(copies["x_title"], "bytes moved (MB)");
  EXPECT_DOUBLE_EQ(copies["series"][0]["points"][0]["x"], 2);
  EXPECT_TRUE(stored_figure(report, "timed_sentinel").is_null());
  EXPECT_THAT(lines_of(report),
              AllOf(HasSubstr("2 points of operators timed on this device, and 3 of"),
                    HasSubstr("timed 2 times during the calibration, took 1.0 ms to 2.0 ms"),
                    Not(HasSubstr("has moved or changed"))));
}

TEST_F(StoredReport, OfACalibrationWhoseProfileIsAnotherNowDrawsNoCurveAndSaysSo) {
  std::ofstream("one.json") << kProfile;
  store_calibration("another");
  const json report = report_of("1");
  EXPECT_EQ(stored_figure(report, "timed_gemm")["series"].size(), 1U);
  EXPECT_THAT(lines_of(report), HasSubstr("has moved or changed"));
}

TEST_F(StoredReport, OfAVariantDrawsPercentilesAndNoDifferencesAmongThem) {
  roofcast::Run run;
  run.row = row_of("whatif", "tp=2: TTFT p95 100 ms");
  run.metrics = {{"ttft_s", "p50", 0.08},
                 {"ttft_s", "p95", 0.1},
                 {"ttft_s", "p95_difference", -0.02},
                 {"ttft_s", "p95_difference_low", -0.03},
                 {"ttft_s", "p95_difference_high", 0.01}};
  Store("r.db", Store::Mode::write).add(run);
  EXPECT_EQ(stored_figure(report_of("1"), "latency_ttft")["series"][0]["points"].size(), 2U);
}

TEST_F(StoredReport, OfWhatOthersMeasuredSaysThatItWasRead) {
  roofcast::Run run;
  run.row = row_of("measured", "request-log, TTFT 100 ms");
  run.metrics = {{"kv_tokens", "value", 41408}, {"ttft_s", "p50", 0.08}, {"ttft_s", "p95", 0.1}};
  Store("r.db", Store::Mode::write).add(run);
  ASSERT_EQ(run_command("report 1 --store r.db --html p.html").exit_code, 0);
  EXPECT_THAT(text_in("p.html"),
              HasSubstr("<span>TTFT p50</span><b>80.0 ms</b><small>TTFT p95 100.0 ms</small>"));
  const json report = report_of("1");
  EXPECT_THAT(lines_of(report), AllOf(HasSubstr("of 2026-01-02T03:04:05Z, read by roofcast 0.0.1"),
                                      Not(HasSubstr("seed"))));
  EXPECT_EQ(report["sections"][0]["tables"][0]["rows"][0][1], "41,408");
}

/// Two cases with the same name and setting, with these measured values.
void validate(const std::string& measured, const std::string& other) {
  const std::string scenario = R"("scenario": {"schema_version": 1, "model": "llama-3.1-8b",
    "gpu": "h100", "workload": {"type": "synthetic", "num_prompts": 4, "request_rate": 4,
    "input_len": 100, "output_len": 10}})";
  std::ofstream("m.json") << R"({"schema_version": 1, "cases": [{"name": "a", )" << scenario
                          << R"(, "measured": )" << measured << R"(}, {"name": "a", )" << scenario
                          << R"(, "measured": )" << other << "}]}";
  const CommandResult result = run_command("validate m.json --store r.db");
  ASSERT_EQ(result.exit_code, 0) << result.err;
}

// Of 100 s nearly all is missed; a decode step reads 16 GB at 3.35 TB/s: some 5 of 8 ms.
TEST_F(StoredReport, OfAValidationHasTheLargestErrorFirst) {
  validate(R"({"tpot_s": {"mean": "8 ms"}, "ttft_s": {"mean": "100 s"}})",
           R"({"ttft_s": {"mean": "30 ms"}})");
  const json table = report_of("2")["sections"][0]["tables"][0];
  EXPECT_EQ(table["rows"][0][0], "TTFT mean");
  EXPECT_EQ(table["rows"][1][0], "TPOT mean");
}

// A "/" is part of the case's name, not the end of a folder.
TEST_F(StoredReport, OfAValidationKeepsTheNameOfItsCase) {
  std::ofstream("m.json") << R"({"schema_version": 1, "cases": [{"name": "a 1k/1k",
    "ask": "memory", "scenario": {"schema_version": 1, "model": "llama-3.1-8b", "gpu": "h100",
    "workload": {"type": "synthetic", "num_prompts": 1, "request_rate": "inf", "input_len": 1,
    "output_len": 1}}, "measured": {"kv_blocks": 20000}}]})";
  ASSERT_EQ(run_command("validate m.json --store r.db").exit_code, 0);
  EXPECT_THAT(report_of("2")["answer"].get<std::string>(), testing::StartsWith("a 1k/1k: "));
}

// One case: a figure of its errors, of which that of 100 s is nearly -100 %, its interval around
// it.
TEST_F(StoredReport, OfAValidationDrawsTheErrorsOfItsCase) {
  validate(R"({"tpot_s": {"mean": "8 ms"}, "ttft_s": {"mean": "100 s"}})",
           R"({"ttft_s": {"mean": "30 ms"}})");
  const json section = report_of("2")["sections"][0];
  ASSERT_EQ(section["figures"].size(), 1U);
  EXPECT_EQ(section["figures"][0]["key"], "validation_case");
  const json point = section["figures"][0]["series"][0]["points"][0];
  EXPECT_EQ(point["x"], "TTFT mean");
  EXPECT_LT(point["y"].get<double>(), -99);
  EXPECT_LE(point["low"].get<double>(), point["y"].get<double>());
  EXPECT_GE(point["high"].get<double>(), point["y"].get<double>());
}

TEST_F(StoredReport, OfALedgerKeepsCasesOfOneNameApart) {
  validate(R"({"ttft_s": {"mean": "20 ms"}})", R"({"ttft_s": {"mean": "30 ms"}})");
  EXPECT_THAT(report_of("ledger")["answer"].get<std::string>(), HasSubstr("2 figures of 2 cases"));
  validate(R"({"ttft_s": {"mean": "20 ms"}})", R"({"ttft_s": {"mean": "30 ms"}})");
  const json again = report_of("ledger");
  EXPECT_THAT(again["answer"].get<std::string>(), HasSubstr("2 figures of 2 cases"));
  EXPECT_THAT(lines_of(again), HasSubstr("2 older validations"));
}

TEST_F(StoredReport, OfALedgerNamesTheMetricsThatItDoesNotDraw) {
  // Seven metrics, of which six are drawn: those with two points before the one of E2E.
  const std::string six = R"("ttft_s": {"mean": "20 ms", "p50": "20 ms", "p99": "20 ms"},
    "tpot_s": {"mean": "7 ms", "p50": "7 ms", "p99": "7 ms"})";
  validate("{" + six + "}", "{" + six + R"(, "e2e_s": {"mean": "1 s"}})");
  const json report = report_of("ledger");
  EXPECT_EQ(report["sections"][0]["figures"].size(), 6U);
  EXPECT_THAT(lines_of(report), HasSubstr("Not drawn, only in the tables: E2E mean."));
}

}  // namespace
}  // namespace roofcast::test
