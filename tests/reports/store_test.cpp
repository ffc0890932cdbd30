#include "reports/store.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <vector>

#include "tests/reports/store_fixture.hpp"

namespace roofcast {
namespace {

using test::message_of;
using test::open_store;
using test::run_of;
using test::runs_in;
using testing::HasSubstr;

class StoreFile : public test::StoreTest {};

void expect_same(const RequestRow& a, const RequestRow& b) {
  EXPECT_EQ(a.index, b.index);
  EXPECT_EQ(a.arrival_s, b.arrival_s);
  EXPECT_EQ(a.sent_s, b.sent_s);
  EXPECT_EQ(a.scheduled_s, b.scheduled_s);
  EXPECT_EQ(a.first_token_s, b.first_token_s);
  EXPECT_EQ(a.finished_s, b.finished_s);
  EXPECT_EQ(a.input_tokens, b.input_tokens);
  EXPECT_EQ(a.output_tokens, b.output_tokens);
  EXPECT_EQ(a.preemptions, b.preemptions);
  EXPECT_EQ(a.slo_class, b.slo_class);
}

TEST_F(StoreFile, GivesBackWhatItWasGiven) {
  Run run = run_of(3);
  run.requests[2] = {.index = 2, .arrival_s = 0.3};  // rejected: nothing happened to it
  const std::int64_t id = Store(path(), Store::Mode::write).add(run);

  const auto read = Store(path(), Store::Mode::read).run(id);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->row.id, id);
  EXPECT_EQ(read->row.kind, "simulate");
  EXPECT_EQ(read->row.created_at, "2026-01-31T12:00:00Z");
  EXPECT_EQ(read->row.tool_version, "0.1.0");
  EXPECT_EQ(read->row.command_line, "roofcast simulate chat.json");
  EXPECT_EQ(read->row.model, "llama-3.1-70b");
  EXPECT_EQ(read->row.gpu, "h200-sxm");
  EXPECT_EQ(read->row.engine, "vllm-0.19");
  EXPECT_EQ(read->row.scenario_json, run.row.scenario_json);
  EXPECT_EQ(read->row.profile_hash, run.row.profile_hash);
  EXPECT_EQ(read->row.seed, UINT64_MAX);
  EXPECT_EQ(read->row.summary, "a run");
  ASSERT_EQ(read->metrics.size(), 3u);
  EXPECT_EQ(read->metrics[2].name, "ttft_s");
  EXPECT_EQ(read->metrics[2].statistic, "p95");
  EXPECT_EQ(read->metrics[2].value, 0.1);
  ASSERT_EQ(read->requests.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) expect_same(read->requests[i], run.requests[i]);
}

TEST_F(StoreFile, ListsRunsNewestFirstWithoutTheirInput) {
  Store store(path(), Store::Mode::write);
  store.add(run_of(0, "first"));
  store.add(run_of(0, "second"));
  const auto rows = store.runs();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].summary, "second");
  EXPECT_EQ(rows[1].summary, "first");
  EXPECT_GT(rows[0].id, rows[1].id);
  EXPECT_EQ(rows[0].scenario_json, "");
}

TEST_F(StoreFile, KnowsNoRunThatIsNotThere) {
  EXPECT_FALSE(Store(path(), Store::Mode::write).run(7).has_value());
}

TEST_F(StoreFile, KeepsAHundredThousandRequests) {
  constexpr std::int64_t kCount = 100'000;
  Store store(path(), Store::Mode::write);
  const Run run = run_of(kCount);
  const auto read = store.run(store.add(run));
  ASSERT_EQ(read->requests.size(), static_cast<std::size_t>(kCount));
  expect_same(read->requests.back(), run.requests.back());
  SQLite::Database database(path());
  // 0 + 1 + ... + 99,999 + 100 x 100,000 tokens
  EXPECT_EQ(database.execAndGet("SELECT sum(input_tokens) FROM requests").getInt64(),
            kCount * (kCount - 1) / 2 + 100 * kCount);
}

TEST_F(StoreFile, NeverUsesAnIdTwice) {
  Store store(path(), Store::Mode::write);
  const std::int64_t id = store.add(run_of(2));
  {
    SQLite::Database database(path(), SQLite::OPEN_READWRITE);
    database.exec("PRAGMA foreign_keys = ON");
    database.exec("DELETE FROM runs");
    EXPECT_EQ(database.execAndGet("SELECT count(*) FROM metrics").getInt(), 0);
    EXPECT_EQ(database.execAndGet("SELECT count(*) FROM requests").getInt(), 0);
  }
  EXPECT_GT(store.add(run_of(0)), id);
}

TEST_F(StoreFile, IsOneFileWithNothingBesideIt) {
  Store store(path(), Store::Mode::write);
  store.add(run_of(1000));
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    names.push_back(entry.path().filename());
  }
  EXPECT_EQ(names, std::vector<std::string>{"store.db"});
}

TEST_F(StoreFile, TakesNamesThatMeanSomethingToSqlite) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  for (const char* name : {":memory:", "file:x?mode=memory", "with space.db"}) {
    Store(name, Store::Mode::write).add(run_of(1));
    EXPECT_EQ(runs_in(name), 1u) << name;
    EXPECT_TRUE(std::filesystem::is_regular_file(name)) << name;
  }
  std::filesystem::current_path(before);
}

TEST_F(StoreFile, IsCreatedOnceWhenTwoProgramsStart) {
  Store first(path(), Store::Mode::write);
  Store second(path(), Store::Mode::write);
  first.add(run_of(1));
  second.add(run_of(1));
  EXPECT_EQ(first.runs().size(), 2u);
}

TEST_F(StoreFile, ReadersSeeTheLastCompleteStateWhileARunIsWritten) {
  Store(path(), Store::Mode::write).add(run_of(10));
  SQLite::Database writer(path(), SQLite::OPEN_READWRITE);
  SQLite::Transaction transaction(writer, SQLite::TransactionBehavior::IMMEDIATE);
  writer.exec("DELETE FROM runs");

  const Store one(path(), Store::Mode::read);
  const Store another(path(), Store::Mode::read);
  EXPECT_EQ(one.runs().size(), 1u);
  EXPECT_EQ(another.run(1)->requests.size(), 10u);

  transaction.commit();
  EXPECT_EQ(one.runs().size(), 0u);
  EXPECT_EQ(another.runs().size(), 0u);
}

TEST_F(StoreFile, AReaderChangesNothing) {
  open_store(path());
  Store store(path(), Store::Mode::read);
  EXPECT_THAT(message_of([&] { store.add(run_of(0)); }), HasSubstr("the run was not stored"));
  EXPECT_EQ(runs_in(path()), 0u);
}

TEST_F(StoreFile, AnEmptyFileBecomesAStoreWhenWrittenTo) {
  // The file that is left when a program was stopped between creating it and its first table.
  std::ofstream(path()).close();
  EXPECT_EQ(message_of([&] { open_store(path(), Store::Mode::read); }),
            path() + ": an empty database, not a store");
  Store(path(), Store::Mode::write).add(run_of(1));
  EXPECT_EQ(runs_in(path()), 1u);
}

}  // namespace
}  // namespace roofcast
