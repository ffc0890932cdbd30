// Names of runs, their deletion, and traces.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include "tests/reports/store_fixture.hpp"

namespace roofcast {
namespace {

using test::run_of;

class StoreTraces : public test::StoreTest {};

StoredTrace trace_named(const std::string& name, const std::string& content) {
  return {.name = name,
          .created_at = "2026-01-31T12:00:00Z",
          .requests = 2,
          .duration_s = 1.5,
          .content = content};
}

TEST_F(StoreTraces, ARunGetsANameAndLosesItAgain) {
  Store store(path(), Store::Mode::write);
  const std::int64_t id = store.add(run_of(1));
  EXPECT_EQ(store.run(id)->row.name, "");
  EXPECT_TRUE(store.name_run(id, "two replicas"));
  EXPECT_TRUE(store.name_run(id, "three replicas"));
  EXPECT_EQ(store.run(id)->row.name, "three replicas");
  EXPECT_EQ(store.runs().front().name, "three replicas");
  EXPECT_TRUE(store.name_run(id, ""));
  EXPECT_EQ(store.run(id)->row.name, "");
  EXPECT_FALSE(store.name_run(id + 1, "nothing"));
}

TEST_F(StoreTraces, ADeletedRunLeavesNothing) {
  Store store(path(), Store::Mode::write);
  const std::int64_t kept = store.add(run_of(3));
  const std::int64_t gone = store.add(run_of(3));
  store.name_run(gone, "gone");
  EXPECT_TRUE(store.remove_run(gone));
  EXPECT_FALSE(store.remove_run(gone));
  EXPECT_EQ(store.runs().size(), 1u);
  EXPECT_EQ(store.run(kept)->requests.size(), 3u);
  SQLite::Database database(path());
  for (const char* table : {"metrics", "requests", "run_names"}) {
    const std::string count = std::string("SELECT count(*) FROM ") + table + " WHERE run_id = ?";
    SQLite::Statement query(database, count);
    query.bind(1, gone);
    query.executeStep();
    EXPECT_EQ(query.getColumn(0).getInt64(), 0) << table;
  }
}

TEST_F(StoreTraces, ATraceIsKeptByteByByteUntilItIsReplacedOrRemoved) {
  Store store(path(), Store::Mode::write);
  const std::string bytes("\x1f\x8b\0\xff\n", 5);
  store.add_trace(trace_named("b.csv", "one"));
  store.add_trace(trace_named("a.csv", "two"));
  store.add_trace(trace_named("b.csv", bytes));
  ASSERT_EQ(store.traces().size(), 2u);
  EXPECT_EQ(store.traces().front().name, "a.csv");
  EXPECT_EQ(store.traces().front().content, "");
  EXPECT_EQ(store.trace("b.csv")->content, bytes);
  EXPECT_EQ(store.trace("b.csv")->requests, 2);
  EXPECT_FALSE(store.trace("c.csv"));
  EXPECT_TRUE(store.remove_trace("b.csv"));
  EXPECT_FALSE(store.remove_trace("b.csv"));
}

TEST_F(StoreTraces, AnOlderStoreHasNoNamesAndNoTraces) {
  std::int64_t id = 0;
  {
    Store store(path(), Store::Mode::write);
    id = store.add(run_of(1));
  }
  SQLite::Database(path(), SQLite::OPEN_READWRITE)
      .exec("DROP TABLE run_names; DROP TABLE traces; PRAGMA user_version = 6");
  {
    const Store old(path(), Store::Mode::read);
    EXPECT_EQ(old.run(id)->row.name, "");
    EXPECT_TRUE(old.traces().empty());
    EXPECT_FALSE(old.trace("a.csv"));
  }
  Store store(path(), Store::Mode::write);  // which brings it up
  EXPECT_TRUE(store.name_run(id, "kept"));
  EXPECT_EQ(store.run(id)->row.name, "kept");
}

}  // namespace
}  // namespace roofcast
