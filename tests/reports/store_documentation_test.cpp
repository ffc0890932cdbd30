// The store is meant to be queried by users: the SQL in reports/store.md must work.
#include <SQLiteCpp/SQLiteCpp.h>

#include <fstream>
#include <sstream>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/reports/store_fixture.hpp"

namespace roofcast {
namespace {

using test::run_of;

std::string description() {
  std::ifstream file(std::string(ROOFCAST_SOURCE_DIR) + "/reports/store.md");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The text of each fenced SQL block.
std::vector<std::string> examples() {
  const std::string text = description();
  std::vector<std::string> blocks;
  const std::string open = "```sql\n";
  for (auto at = text.find(open); at != std::string::npos; at = text.find(open, at)) {
    at += open.size();
    blocks.push_back(text.substr(at, text.find("```", at) - at));
  }
  return blocks;
}

class StoreDocumentation : public test::StoreTest {};

/// A run of each kind that the examples query: simulated with its requests and costs, predicted and
/// measured, timed.
void fill(Store& store) {
  Run simulated = run_of(20);
  for (const auto& [name, value] :
       {std::pair{"slo_met", 1.0}, {"cost_usd_per_million_output_tokens", 2.5}}) {
    simulated.metrics.push_back({.name = name, .statistic = "value", .value = value});
  }
  store.add(simulated);
  ValidationRuns both{.predicted = run_of(0), .measured = run_of(0), .name = "a case"};
  for (Run* run : {&both.predicted, &both.measured}) {
    run->row.gpu = "h100-sxm";
    run->metrics = {{.name = "ttft_s", .statistic = "mean", .value = 0.1}};
  }
  both.intervals = {{.name = "ttft_s", .statistic = "mean", .low = 0.09, .high = 0.11}};
  store.add_validations(std::vector{both});
  const std::int64_t timed =
      store.begin_calibration(test::row_named("timed"), {"a device", "", ""});
  store.add_points(timed, std::vector{TimedPointRow{.median_s = 2, .p10_s = 1, .p90_s = 3}});
  store.end_calibration(
      timed, {.summary = "timed", .profile_hash = "", .metrics = {{"points", "value", 1}}});
}

TEST_F(StoreDocumentation, ExamplesRunAndFindSomething) {
  {
    Store store(path(), Store::Mode::write);
    fill(store);
  }
  SQLite::Database database(path());
  ASSERT_GE(examples().size(), 10u);
  for (const std::string& example : examples()) {
    SQLite::Statement query(database, example);
    EXPECT_TRUE(query.executeStep()) << example;
  }
}

TEST_F(StoreDocumentation, NamesEveryTableViewAndColumn) {
  test::open_store(path());
  SQLite::Database database(path());
  SQLite::Statement query(
      database,
      "SELECT s.name, c.name FROM sqlite_master AS s, pragma_table_info(s.name) "
      "AS c WHERE s.type IN ('table', 'view') AND s.name NOT LIKE 'sqlite_%'");
  const std::string text = description();
  int columns = 0;
  while (query.executeStep()) {
    ++columns;
    for (const int i : {0, 1}) {
      const std::string name = query.getColumn(i).getString();
      EXPECT_NE(text.find("`" + name + "`"), std::string::npos) << name;
    }
  }
  EXPECT_GT(columns, 40);
}

TEST_F(StoreDocumentation, LatenciesFollowTheirDefinitions) {
  Run run = run_of(2);
  run.requests[0] = {.index = 0,
                     .arrival_s = 1,
                     .sent_s = 2,
                     .scheduled_s = 2.5,
                     .first_token_s = 3,
                     .finished_s = 7,
                     .input_tokens = 10,
                     .output_tokens = 5};
  run.requests[1] = {.index = 1,
                     .arrival_s = 1,
                     .scheduled_s = 1.5,
                     .first_token_s = 3,
                     .finished_s = 3,
                     .output_tokens = 1};
  Store(path(), Store::Mode::write).add(run);
  SQLite::Database database(path());
  SQLite::Statement query(database,
                          "SELECT queue_s, ttft_s, tpot_s, e2e_s FROM request_latencies "
                          "ORDER BY request_index");
  ASSERT_TRUE(query.executeStep());
  EXPECT_DOUBLE_EQ(query.getColumn(0).getDouble(), 0.5);  // 2.5 - 2
  EXPECT_DOUBLE_EQ(query.getColumn(1).getDouble(), 1);    // 3 - 2
  EXPECT_DOUBLE_EQ(query.getColumn(2).getDouble(), 1);    // (7 - 3) / (5 - 1)
  EXPECT_DOUBLE_EQ(query.getColumn(3).getDouble(), 5);    // 7 - 2
  ASSERT_TRUE(query.executeStep());
  EXPECT_DOUBLE_EQ(query.getColumn(0).getDouble(),
                   0.5);                     // from its arrival: no separate sending time
  EXPECT_TRUE(query.getColumn(2).isNull());  // one token has no gap
}

TEST_F(StoreDocumentation, TheSummaryHasOneRowARun) {
  Store store(path(), Store::Mode::write);
  store.add(run_of(3));
  Run bare = run_of(0, "without figures");
  bare.metrics.clear();
  store.add(bare);
  SQLite::Database database(path());
  SQLite::Statement query(database,
                          "SELECT run_id, requests_completed, ttft_p95_s FROM run_summary "
                          "ORDER BY run_id");
  ASSERT_TRUE(query.executeStep());
  EXPECT_EQ(query.getColumn(1).getDouble(), 3);
  EXPECT_EQ(query.getColumn(2).getDouble(), 0.1);
  ASSERT_TRUE(query.executeStep());
  EXPECT_TRUE(query.getColumn(1).isNull());
  EXPECT_FALSE(query.executeStep());
}

/// A run on `gpu` with this p95 TTFT, made at `created_at`.
Run timed_run(const std::string& gpu, double ttft_p95_s, const std::string& created_at) {
  Run run = run_of(0);
  run.row.gpu = gpu;
  run.row.created_at = created_at;
  run.metrics = {{.name = "ttft_s", .statistic = "p95", .value = ttft_p95_s}};
  return run;
}

TEST_F(StoreDocumentation, AGpusRunsAreSummedUpByKind) {
  {
    Store store(path(), Store::Mode::write);
    store.add(timed_run("h100-sxm", 0.2, "2026-01-01T00:00:00Z"));
    store.add(timed_run("h100-sxm", 0.4, "2026-01-01T00:00:00Z"));
    Run measured = timed_run("h100-sxm", 9, "2026-01-01T00:00:00Z");
    measured.row.kind = "measured";
    store.add(measured);
  }
  SQLite::Database database(path());
  SQLite::Statement query(database,
                          "SELECT runs, least_ttft_p95_s, mean_ttft_p95_s, most_ttft_p95_s, "
                          "least_tpot_p95_s FROM gpu_summary WHERE kind = 'simulate'");
  ASSERT_TRUE(query.executeStep());
  EXPECT_EQ(query.getColumn(0).getInt(), 2);
  EXPECT_DOUBLE_EQ(query.getColumn(1).getDouble(), 0.2);
  EXPECT_DOUBLE_EQ(query.getColumn(2).getDouble(), 0.3);  // (0.2 + 0.4) / 2
  EXPECT_DOUBLE_EQ(query.getColumn(3).getDouble(), 0.4);
  EXPECT_TRUE(query.getColumn(4).isNull());
  EXPECT_FALSE(query.executeStep());
}

TEST_F(StoreDocumentation, TheLatestRunsAreOneOfEachModelGpuEngineAndKind) {
  {
    Store store(path(), Store::Mode::write);
    store.add(timed_run("h100-sxm", 0.2, "2026-01-01T00:00:00Z"));
    store.add(timed_run("h200-sxm", 0.1, "2026-01-01T00:00:00Z"));
    store.add(timed_run("h100-sxm", 0.4, "1970-01-01T00:01:01Z"));  // later by its id alone
  }
  SQLite::Database database(path());
  SQLite::Statement query(
      database, "SELECT run_id, ttft_p95_s, created_epoch_s FROM latest_runs ORDER BY run_id");
  ASSERT_TRUE(query.executeStep());
  EXPECT_EQ(query.getColumn(0).getInt(), 2);
  ASSERT_TRUE(query.executeStep());
  EXPECT_EQ(query.getColumn(0).getInt(), 3);
  EXPECT_DOUBLE_EQ(query.getColumn(1).getDouble(), 0.4);
  EXPECT_EQ(query.getColumn(2).getInt(), 61);  // a minute and a second after 1970 began
  EXPECT_FALSE(query.executeStep());
}

TEST_F(StoreDocumentation, ErrorsAreSummedUpByEngine) {
  std::vector<ValidationRuns> cases;
  // Predicted over measured: 1.2 and 0.6, so errors of +0.2 and -0.4; the second is not covered.
  for (const auto& [predicted, low, high] : {std::tuple{1.2, 0.9, 1.5}, {0.6, 0.5, 0.7}}) {
    ValidationRuns both{.predicted = run_of(0), .measured = run_of(0), .name = "a case"};
    both.predicted.metrics = {{.name = "tpot_s", .statistic = "mean", .value = predicted}};
    both.measured.metrics = {{.name = "tpot_s", .statistic = "mean", .value = 1}};
    both.intervals = {{.name = "tpot_s", .statistic = "mean", .low = low, .high = high}};
    cases.push_back(both);
  }
  Store(path(), Store::Mode::write).add_validations(cases);
  SQLite::Database database(path());
  SQLite::Statement query(database,
                          "SELECT engine, figures, bias, mean_absolute_error, largest_error, "
                          "coverage FROM error_by_engine");
  ASSERT_TRUE(query.executeStep());
  EXPECT_EQ(query.getColumn(0).getString(), "vllm-0.19");
  EXPECT_EQ(query.getColumn(1).getInt(), 2);
  EXPECT_NEAR(query.getColumn(2).getDouble(), -0.1, 1e-12);  // (0.2 - 0.4) / 2
  EXPECT_NEAR(query.getColumn(3).getDouble(), 0.3, 1e-12);   // (0.2 + 0.4) / 2
  EXPECT_NEAR(query.getColumn(4).getDouble(), 0.4, 1e-12);
  EXPECT_DOUBLE_EQ(query.getColumn(5).getDouble(), 0.5);
  EXPECT_FALSE(query.executeStep());
}

}  // namespace
}  // namespace roofcast
