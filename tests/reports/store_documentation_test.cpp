// The store is made to be queried by others: what reports/README.md shows them must work.
#include <SQLiteCpp/SQLiteCpp.h>

#include <fstream>
#include <sstream>
#include <vector>

#include "tests/reports/store_fixture.hpp"

namespace roofcast {
namespace {

using test::run_of;

std::string readme() {
  std::ifstream file(std::string(ROOFCAST_SOURCE_DIR) + "/reports/README.md");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The text of each fenced block of SQL.
std::vector<std::string> examples() {
  const std::string text = readme();
  std::vector<std::string> blocks;
  const std::string open = "```sql\n";
  for (auto at = text.find(open); at != std::string::npos; at = text.find(open, at)) {
    at += open.size();
    blocks.push_back(text.substr(at, text.find("```", at) - at));
  }
  return blocks;
}

class StoreDocumentation : public test::StoreTest {};

TEST_F(StoreDocumentation, ExamplesRunAndFindSomething) {
  Store(path(), Store::Mode::write).add(run_of(20));
  SQLite::Database database(path());
  ASSERT_GE(examples().size(), 3u);
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
  const std::string text = readme();
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
  EXPECT_DOUBLE_EQ(query.getColumn(0).getDouble(), 0.5);  // from its arrival: not sent apart
  EXPECT_TRUE(query.getColumn(2).isNull());               // one token has no gap
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

}  // namespace
}  // namespace roofcast
