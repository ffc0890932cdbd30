// Calibrations are stored while they run; stores of schema 1 are upgraded for them.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/reports/store_fixture.hpp"

namespace roofcast {
namespace {

using test::message_of;
using test::open_store;
using test::run_of;
using testing::HasSubstr;

const CalibrationRow kDevice{
    .device = "Fake Accelerator", .identity = "FAKE-0001", .conditions = "driver 1"};

RunRow calibrate_row() {
  RunRow row = test::row_named("running");
  row.kind = "calibrate";
  return row;
}

TimedPointRow point(std::int64_t index, int samples) {
  TimedPointRow row{.index = index,
                    .name = "gemm bf16 4096x4096 128",
                    .family = "gemm",
                    .kernel = "fake 1.0",
                    .x = 128,
                    .y = 0.5,
                    .calls = 16,
                    .median_s = 14e-6,
                    .p10_s = 13e-6,
                    .p90_s = 15e-6,
                    .bimodal = true,
                    .throttled = false,
                    .samples = {}};
  for (int i = 0; i < samples; ++i) {
    row.samples.push_back({.call_s = 14e-6 + i * 1e-9,
                           .clock_hz = 1.8e9,
                           .call_energy_j = std::nullopt,
                           .dropped = i == 1});
  }
  return row;
}

class StoreCalibration : public test::StoreTest {};

TEST_F(StoreCalibration, PointsAreThereAsSoonAsTheyAreAdded) {
  Store store(path(), Store::Mode::write);
  const std::int64_t id = store.begin_calibration(calibrate_row(), kDevice);
  store.add_points(id, std::vector{point(0, 3), point(1, 2)});
  store.add_points(id, std::vector{point(2, 0)});

  const Store reader(path(), Store::Mode::read);
  const std::vector<TimedPointRow> points = reader.timed_points(id);
  ASSERT_EQ(points.size(), 3u);
  EXPECT_EQ(points[0].name, "gemm bf16 4096x4096 128");
  EXPECT_EQ(points[0].family, "gemm");
  EXPECT_EQ(points[0].kernel, "fake 1.0");
  EXPECT_EQ(points[0].x, 128);
  EXPECT_EQ(points[0].y, 0.5);
  EXPECT_EQ(points[0].calls, 16);
  EXPECT_EQ(points[0].median_s, 14e-6);
  EXPECT_EQ(points[0].p10_s, 13e-6);
  EXPECT_EQ(points[0].p90_s, 15e-6);
  EXPECT_TRUE(points[0].bimodal);
  EXPECT_FALSE(points[0].throttled);
  ASSERT_EQ(points[0].samples.size(), 3u);
  EXPECT_EQ(points[0].samples[2].call_s, 14e-6 + 2e-9);
  EXPECT_EQ(points[0].samples[2].clock_hz, 1.8e9);
  EXPECT_EQ(points[0].samples[2].call_energy_j, std::nullopt);
  EXPECT_FALSE(points[0].samples[0].dropped);
  EXPECT_TRUE(points[0].samples[1].dropped);
  EXPECT_EQ(points[2].samples.size(), 0u);
}

TEST_F(StoreCalibration, AnUnfinishedOneIsFoundByItsDevice) {
  Store store(path(), Store::Mode::write);
  const std::int64_t first = store.begin_calibration(calibrate_row(), kDevice);
  store.end_calibration(first, {.summary = "done", .profile_hash = "ab", .metrics = {}});
  EXPECT_FALSE(store.unfinished_calibration("FAKE-0001").has_value());

  const std::int64_t second = store.begin_calibration(calibrate_row(), kDevice);
  store.add_points(second, std::vector{point(0, 2)});
  EXPECT_FALSE(store.unfinished_calibration("FAKE-0002").has_value());
  const auto found = store.unfinished_calibration("FAKE-0001");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->row.id, second);
  EXPECT_EQ(found->row.kind, "calibrate");
  EXPECT_EQ(found->calibration.device, "Fake Accelerator");
  EXPECT_EQ(found->calibration.conditions, "driver 1");
  ASSERT_EQ(found->points.size(), 1u);
  EXPECT_EQ(found->points[0].samples.size(), 2u);
}

TEST_F(StoreCalibration, EndsWithSummaryAndMetrics) {
  Store store(path(), Store::Mode::write);
  const std::int64_t id = store.begin_calibration(calibrate_row(), kDevice);
  const MetricRow before{.name = "points", .statistic = "value", .value = 3};
  store.end_calibration(
      id, {.summary = "interrupted", .profile_hash = "", .metrics = {before}, .complete = false});
  EXPECT_TRUE(store.unfinished_calibration("FAKE-0001").has_value());
  const MetricRow after{.name = "points", .statistic = "value", .value = 7};
  store.end_calibration(id, {.summary = "7 points", .profile_hash = "cd", .metrics = {after}});
  const auto run = store.run(id);
  EXPECT_EQ(run->row.summary, "7 points");
  EXPECT_EQ(run->row.profile_hash, "cd");
  ASSERT_EQ(run->metrics.size(), 1u);
  EXPECT_EQ(run->metrics[0].value, 7);
}

TEST_F(StoreCalibration, APointThatFailsLeavesThoseBefore) {
  Store store(path(), Store::Mode::write);
  const std::int64_t id = store.begin_calibration(calibrate_row(), kDevice);
  store.add_points(id, std::vector{point(0, 2)});
  const std::vector<TimedPointRow> again{point(1, 2), point(0, 2)};  // 0 is taken
  EXPECT_THAT(message_of([&] { store.add_points(id, again); }),
              HasSubstr("; the newest points were not stored"));
  EXPECT_EQ(store.timed_points(id).size(), 1u);
}

TEST_F(StoreCalibration, SamplesGoWithTheirRun) {
  Store store(path(), Store::Mode::write);
  const std::int64_t id = store.begin_calibration(calibrate_row(), kDevice);
  store.add_points(id, std::vector{point(0, 5)});
  SQLite::Database database(path(), SQLite::OPEN_READWRITE);
  database.exec("PRAGMA foreign_keys = ON");
  database.exec("DELETE FROM runs");
  EXPECT_EQ(database.execAndGet("SELECT count(*) FROM samples").getInt(), 0);
  EXPECT_EQ(database.execAndGet("SELECT count(*) FROM timed_points").getInt(), 0);
  EXPECT_EQ(database.execAndGet("SELECT count(*) FROM calibrations").getInt(), 0);
}

// ---- stores of schema 1

/// A store as schema 1 left it: without the additions of later versions.
void make_version_1(const std::string& path) {
  Store(path, Store::Mode::write).add(run_of(4, "of schema 1"));
  SQLite::Database database(path, SQLite::OPEN_READWRITE);
  database.exec(test::kWithoutSchema5);
  database.exec(
      "DROP TABLE evaluations; DROP TABLE plans;"
      "DROP VIEW validation_errors; DROP TABLE intervals; DROP TABLE validations;"
      "DROP TABLE samples; DROP TABLE timed_points; DROP TABLE calibrations;"
      "PRAGMA user_version = 1");
}

/// Every table, view and index with its columns.
std::set<std::pair<std::string, std::string>> columns_of(const std::string& path) {
  SQLite::Database database(path);
  SQLite::Statement query(database,
                          "SELECT s.name, c.name || ' ' || c.type || ' ' || c.pk FROM "
                          "sqlite_master AS s, pragma_table_xinfo(s.name) AS c UNION ALL "
                          "SELECT name, tbl_name FROM sqlite_master WHERE type = 'index'");
  std::set<std::pair<std::string, std::string>> columns;
  while (query.executeStep()) {
    columns.emplace(query.getColumn(0).getString(), query.getColumn(1).getString());
  }
  return columns;
}

TEST_F(StoreCalibration, AnOlderStoreIsBroughtUpWhenItIsWrittenTo) {
  make_version_1(path());
  open_store(path("fresh.db"));
  ASSERT_NE(columns_of(path()), columns_of(path("fresh.db")));
  {
    Store store(path(), Store::Mode::write);
    EXPECT_EQ(store.runs().at(0).summary, "of schema 1");
    EXPECT_EQ(store.run(1)->requests.size(), 4u);
    store.begin_calibration(calibrate_row(), kDevice);
  }
  EXPECT_EQ(columns_of(path()), columns_of(path("fresh.db")));
  SQLite::Database database(path());
  EXPECT_EQ(database.execAndGet("PRAGMA user_version").getInt(), 7);
}

TEST_F(StoreCalibration, AnOlderStoreIsReadAsItIs) {
  make_version_1(path());
  const Store store(path(), Store::Mode::read);
  EXPECT_EQ(store.runs().size(), 1u);
  EXPECT_TRUE(store.timed_points(1).empty());
  EXPECT_FALSE(store.unfinished_calibration("FAKE-0001").has_value());
  SQLite::Database database(path());
  EXPECT_EQ(database.execAndGet("PRAGMA user_version").getInt(), 1);
}

}  // namespace
}  // namespace roofcast
