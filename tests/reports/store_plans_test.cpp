#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include "tests/reports/store_fixture.hpp"

namespace roofcast {
namespace {

using test::message_of;
using test::row_named;

class StorePlans : public test::StoreTest {};

RunRow plan_row() {
  RunRow row = row_named("a plan");
  row.kind = "plan";
  return row;
}

const std::vector<EvaluationRow> kTwo{{.question = R"({"tp":2})", .answer = R"({"holds":false})"},
                                      {.question = R"({"tp":4})", .answer = R"({"holds":true})"}};

TEST_F(StorePlans, AnInterruptedOneIsGoneOnWith) {
  std::int64_t first = 0;
  {
    Store store(path(), Store::Mode::write);
    first = store.begin_plan(plan_row());
    store.add_evaluations(first, kTwo);
  }
  Store store(path(), Store::Mode::write);
  EXPECT_EQ(store.begin_plan(plan_row()), first);
  EXPECT_EQ(store.runs().size(), 1u);
  store.end_plan(first, {.summary = "4x H200"}, {});
  EXPECT_NE(store.begin_plan(plan_row()), first);  // which has come to its end
}

TEST_F(StorePlans, OnlyTheSameQuestionIsGoneOnWith) {
  Store store(path(), Store::Mode::write);
  const std::int64_t first = store.begin_plan(plan_row());
  RunRow other = plan_row();
  other.scenario_json = R"({"seed":1})";
  EXPECT_NE(store.begin_plan(other), first);
  other = plan_row();
  other.tool_version = "0.2.0";
  EXPECT_NE(store.begin_plan(other), first);
  other = plan_row();
  other.seed = 1;
  EXPECT_NE(store.begin_plan(other), first);
}

TEST_F(StorePlans, AnEvaluationIsFoundByItsVersionAndItsQuestion) {
  Store store(path(), Store::Mode::write);
  const std::int64_t plan = store.begin_plan(plan_row());
  store.add_evaluations(plan, kTwo);
  const std::string version = plan_row().tool_version;
  EXPECT_EQ(store.evaluation(version, R"({"tp":4})"), R"({"holds":true})");
  EXPECT_FALSE(store.evaluation(version, R"({"tp":8})"));
  EXPECT_FALSE(store.evaluation("0.2.0", R"({"tp":4})"));
}

TEST_F(StorePlans, EqualKeysOfDifferentQuestionsAreToldApart) {
  Store store(path(), Store::Mode::write);
  store.add_evaluations(store.begin_plan(plan_row()), kTwo);
  SQLite::Database database(path(), SQLite::OPEN_READWRITE);
  // As if both questions had the key of the first.
  database.exec(R"(UPDATE evaluations SET question = '{"tp":8}' WHERE question = '{"tp":2}')");
  EXPECT_FALSE(store.evaluation(plan_row().tool_version, R"({"tp":2})"));
}

TEST_F(StorePlans, WhatIsThereAlreadyStays) {
  Store store(path(), Store::Mode::write);
  const std::int64_t plan = store.begin_plan(plan_row());
  store.add_evaluations(plan, kTwo);
  store.add_evaluations(plan, kTwo);
  SQLite::Database database(path());
  EXPECT_EQ(database.execAndGet("SELECT count(*) FROM evaluations").getInt(), 2);
}

TEST_F(StorePlans, TheEndSaysWhatWasChosen) {
  Store store(path(), Store::Mode::write);
  const std::int64_t plan = store.begin_plan(plan_row());
  store.end_plan(plan,
                 {.summary = "4x H200 at $14",
                  .gpu = "h200-sxm",
                  .engine = "vllm-0.19",
                  .profile_hash = "abc",
                  .answer_json = R"({"chosen":1})"},
                 {{.name = "cost_per_hour", .statistic = "value", .value = 14}});
  const auto run = store.run(plan);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->row.kind, "plan");
  EXPECT_EQ(run->row.summary, "4x H200 at $14");
  EXPECT_EQ(run->row.profile_hash, "abc");
  EXPECT_EQ(run->metrics.at(0).value, 14);
  SQLite::Database database(path());
  EXPECT_EQ(database.execAndGet("SELECT answer_json FROM plans WHERE complete = 1").getString(),
            R"({"chosen":1})");
}

TEST_F(StorePlans, ARemovedPlanTakesItsEvaluationsWithIt) {
  Store store(path(), Store::Mode::write);
  store.add_evaluations(store.begin_plan(plan_row()), kTwo);
  SQLite::Database database(path(), SQLite::OPEN_READWRITE);
  database.exec("PRAGMA foreign_keys = ON; DELETE FROM runs");
  EXPECT_EQ(database.execAndGet("SELECT count(*) FROM evaluations").getInt(), 0);
}

TEST_F(StorePlans, EvaluationsOfNoPlanAreRefused) {
  Store store(path(), Store::Mode::write);
  EXPECT_EQ(message_of([&] { store.add_evaluations(7, kTwo); }), "the store has no run 7");
}

class StoreAnswers : public test::StoreTest {};

TEST_F(StoreAnswers, AreFoundFromEachOfTheirRuns) {
  Store store(path(), Store::Mode::write);
  const std::vector<Run> runs = {run_of(1, "baseline"), run_of(1, "tp=2")};
  store.add(run_of(1));
  const std::vector<std::int64_t> ids = store.add_answer(runs, R"({"answer":1})");
  store.add_answer(runs, R"({"answer":2})");
  EXPECT_EQ(ids, (std::vector<std::int64_t>{2, 3}));
  for (const std::int64_t id : ids) {
    const auto answer = store.answer_of(id);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->runs, ids);
    EXPECT_EQ(answer->json, R"({"answer":1})");
  }
  EXPECT_EQ(store.answer_of(4)->json, R"({"answer":2})");
  EXPECT_FALSE(store.answer_of(1));
  EXPECT_FALSE(store.answer_of(77));
}

TEST_F(StoreAnswers, GoWithTheirFirstRun) {
  Store store(path(), Store::Mode::write);
  const std::vector<Run> runs = {run_of(1, "baseline"), run_of(1, "tp=2")};
  store.add_answer(runs, "{}");
  SQLite::Database(path(), SQLite::OPEN_READWRITE)
      .exec("PRAGMA foreign_keys = ON; DELETE FROM runs WHERE id = 1");
  EXPECT_FALSE(store.answer_of(2));
}

TEST_F(StoreAnswers, AreNoneInAStoreOfSchema4) {
  Store(path(), Store::Mode::write).add(run_of(1));
  SQLite::Database(path(), SQLite::OPEN_READWRITE)
      .exec(std::string(test::kWithoutSchema5) + "PRAGMA user_version = 4");
  EXPECT_FALSE(Store(path(), Store::Mode::read).answer_of(1));
}

TEST_F(StorePlans, AStoreOfSchema3IsBroughtUpAndReadAsItIs) {
  test::open_store(path());
  SQLite::Database(path(), SQLite::OPEN_READWRITE)
      .exec(std::string(test::kWithoutSchema5) +
            "DROP TABLE evaluations; DROP TABLE plans; PRAGMA user_version = 3");
  EXPECT_FALSE(Store(path(), Store::Mode::read).evaluation("0.1.0", "{}"));
  Store store(path(), Store::Mode::write);
  store.add_evaluations(store.begin_plan(plan_row()), kTwo);
  EXPECT_EQ(SQLite::Database(path()).execAndGet("PRAGMA user_version").getInt(), 7);
}

}  // namespace
}  // namespace roofcast
