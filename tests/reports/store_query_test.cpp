// SQL queries: their answers, and that no query can change or overload anything.
#include "reports/store_query.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>

#include <fstream>

#include "tests/reports/store_fixture.hpp"

namespace roofcast {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

class StoreQuery : public test::StoreTest {
 protected:
  StoreQuery() { Store(path(), Store::Mode::write).add(test::run_of(3)); }

  QueryAnswer answer(const std::string& sql, const QueryLimits& limits = {}) const {
    return query_store(path(), sql, limits);
  }
  std::string refusal(const std::string& sql, const QueryLimits& limits = {}) const {
    return test::message_of([&] { answer(sql, limits); });
  }
  std::string bytes() const {
    std::ifstream file(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

constexpr const char* kEndless =
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c";

TEST_F(StoreQuery, GivesColumnsAndValuesAsTheyAre) {
  const QueryAnswer got = answer(
      "SELECT gpu, request_index, arrival_s AS at, NULL AS absent, x'00ff' AS bytes "
      "FROM requests JOIN runs ON id = run_id ORDER BY request_index LIMIT 1 OFFSET 1");
  EXPECT_EQ(got.columns,
            (std::vector<std::string>{"gpu", "request_index", "at", "absent", "bytes"}));
  ASSERT_EQ(got.rows.size(), 1u);
  EXPECT_EQ(got.rows[0], (std::vector<QueryValue>{"h200-sxm", std::int64_t{1}, 0.1,
                                                  std::monostate{}, "x'00ff'"}));
  EXPECT_FALSE(got.more);
}

TEST_F(StoreQuery, WhatDescribesTablesIsAnswered) {
  EXPECT_EQ(answer("PRAGMA table_info(plans)").rows.size(), 3u);
  EXPECT_EQ(answer("SELECT name FROM pragma_table_info('plans')").rows.size(), 3u);
  EXPECT_EQ(answer("SELECT key FROM json_each('[7, 8]')").rows.size(), 2u);
  EXPECT_EQ(answer("EXPLAIN SELECT 1").columns.front(), "addr");
  EXPECT_EQ(answer("VALUES (1), (2); -- and no more ;").rows.size(), 2u);
}

TEST_F(StoreQuery, NothingThatWouldChangeOrOpenAnythingIsRun) {
  const std::string before = bytes();
  for (const char* sql : {"DELETE FROM runs",
                          "DROP TABLE runs",
                          "DROP VIEW run_summary",
                          "UPDATE runs SET summary = ''",
                          "INSERT INTO runs DEFAULT VALUES RETURNING id",
                          "DELETE FROM runs RETURNING id",
                          "REPLACE INTO metrics VALUES (1, 'a', 'b', 1)",
                          "CREATE TABLE t (x)",
                          "CREATE TABLE t AS SELECT 1",
                          "CREATE TEMP TABLE t (x)",
                          "CREATE VIEW v AS SELECT 1",
                          "CREATE TRIGGER t AFTER INSERT ON runs BEGIN SELECT 1; END",
                          "CREATE VIRTUAL TABLE t USING fts5(x)",
                          "ALTER TABLE runs ADD COLUMN x",
                          "INSERT INTO sqlite_master VALUES ('table', 't', 't', 0, '')",
                          "ATTACH 'other.db' AS o",
                          "DETACH main",
                          "VACUUM",
                          "VACUUM INTO 'copy.db'",
                          "REINDEX",
                          "ANALYZE",
                          "BEGIN",
                          "COMMIT",
                          "SAVEPOINT s",
                          "PRAGMA query_only = OFF",
                          "PRAGMA writable_schema = ON",
                          "PRAGMA journal_mode = WAL",
                          "PRAGMA user_version = 1",
                          "PRAGMA temp_store_directory = '/'",
                          "SELECT * FROM pragma_database_list",
                          "SELECT load_extension('x.so')",
                          "SELECT fts3_tokenizer('simple')",
                          "EXPLAIN DELETE FROM runs",
                          "WITH a AS (SELECT 1) DELETE FROM runs"}) {
    EXPECT_THROW(answer(sql), UsageError) << sql;
  }
  EXPECT_EQ(bytes(), before);
  EXPECT_FALSE(std::filesystem::exists("copy.db"));
  EXPECT_FALSE(std::filesystem::exists("other.db"));
}

TEST_F(StoreQuery, SaysWhatIsRefused) {
  EXPECT_EQ(refusal("DELETE FROM runs"),
            "SQL: a change of the store is not allowed: queries are read-only");
  EXPECT_THAT(refusal("ATTACH 'o.db' AS o"), HasSubstr("another database is not allowed"));
  EXPECT_THAT(refusal("SELECT LOAD_EXTENSION('x')"), HasSubstr("the function load_extension"));
  EXPECT_EQ(refusal("SELECT 1; SELECT 2"), "SQL: more than one statement");
  EXPECT_EQ(refusal("SELECT 1; garbage"), "SQL: near \"garbage\": syntax error");
  EXPECT_THAT(refusal(" -- nothing"), HasSubstr("no statement"));
  EXPECT_THAT(refusal(std::string("SELECT 1\0", 9)), HasSubstr("a zero byte"));
  EXPECT_THAT(refusal(std::string(kLongestQuery + 1, ' ')), HasSubstr("longer than 1000000"));
  EXPECT_EQ(refusal("SELECT * FROM nowhere"), "SQL: no such table: nowhere");
  EXPECT_EQ(refusal("SELECT \"no\nsuch\x1b\" ("), "SQL: incomplete input");
  EXPECT_EQ(refusal("SELECT [no\nsuch\x1b]"), "SQL: no such column: no such ");
}

TEST_F(StoreQuery, RowsAndBytesAreBounded) {
  const QueryAnswer few = answer(kEndless, {.rows = 3});
  EXPECT_EQ(few.rows.size(), 3u);
  EXPECT_TRUE(few.more);
  EXPECT_FALSE(answer("VALUES (1), (2), (3)", {.rows = 3}).more);
  // Two rows of 1,000 characters go beyond 1,500 bytes.
  const QueryAnswer wide = answer(
      "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
      "SELECT printf('%01000d', x) FROM c",
      {.bytes = 1500});
  EXPECT_EQ(wide.rows.size(), 2u);
  EXPECT_TRUE(wide.more);
  EXPECT_THAT(refusal("SELECT zeroblob(1000000000)"), HasSubstr("too big"));
}

TEST_F(StoreQuery, WhatDoesNotEndIsStopped) {
  EXPECT_EQ(
      refusal(std::string("SELECT count(*) FROM (") + kEndless + ")", {.time = milliseconds(50)}),
      "SQL: stopped after 0.05 s, unfinished");
}

TEST_F(StoreQuery, AViewThatAnOlderStoreDoesNotHaveIsExplained) {
  SQLite::Database(path(), SQLite::OPEN_READWRITE)
      .exec(std::string(test::kWithoutSchema5) + "PRAGMA user_version = 4");
  EXPECT_EQ(refusal("SELECT * FROM latest_runs"),
            "SQL: no such table: latest_runs; the store has schema 4 of 7; storing the next run "
            "upgrades it");
  EXPECT_EQ(refusal("SELECT 1 FROM (SELECT 1"), "SQL: incomplete input");
}

TEST_F(StoreQuery, OnlyStoresAreAsked) {
  EXPECT_THAT(test::message_of([&] { query_store(path("none.db"), "SELECT 1"); }),
              HasSubstr("no such store"));
  EXPECT_FALSE(std::filesystem::exists(path("none.db")));
  SQLite::Database(path("songs.db"), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE)
      .exec("CREATE TABLE songs (title TEXT)");
  EXPECT_THAT(test::message_of([&] { query_store(path("songs.db"), "SELECT 1"); }),
              HasSubstr("of another program"));
}

}  // namespace
}  // namespace roofcast
