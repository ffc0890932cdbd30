// Predictions and measured runs in the store.
#include <SQLiteCpp/SQLiteCpp.h>

#include "tests/reports/store_fixture.hpp"

namespace roofcast {
namespace {

class StoreValidation : public test::StoreTest {
 protected:
  /// One figure, measured as 0.2 and predicted as 0.25 within 0.15 to 0.3.
  static ValidationRuns validation(const std::string& name) {
    ValidationRuns runs{.name = name, .group = "a group", .source = "a page"};
    runs.predicted.row = test::row_named("predicted");
    runs.predicted.row.kind = "validate";
    runs.predicted.metrics = {{"ttft_s", "mean", 0.25}, {"steps", "value", 7}};
    runs.measured.row = test::row_named("measured");
    runs.measured.row.kind = "measured";
    runs.measured.metrics = {{"ttft_s", "mean", 0.2}, {"kv_blocks", "value", 0}};
    runs.intervals = {{"ttft_s", "mean", 0.15, 0.3}};
    return runs;
  }
};

TEST_F(StoreValidation, BothSidesAreRunsAndTheViewPutsThemTogether) {
  const std::vector<ValidationRuns> both = {validation("one"), validation("two")};
  const std::vector<std::int64_t> ids = Store(path(), Store::Mode::write).add_validations(both);
  ASSERT_EQ(ids.size(), 2U);
  const Store store(path(), Store::Mode::read);
  EXPECT_EQ(store.runs().size(), 4U);
  EXPECT_EQ(store.run(ids[0])->row.kind, "validate");
  SQLite::Database database(path());
  SQLite::Statement query(database,
                          "SELECT case_name, measured, predicted, relative_error, covered, "
                          "measured_run_id FROM validation_errors ORDER BY run_id");
  ASSERT_TRUE(query.executeStep());
  EXPECT_EQ(query.getColumn(0).getString(), "one");
  EXPECT_DOUBLE_EQ(query.getColumn(1).getDouble(), 0.2);
  EXPECT_DOUBLE_EQ(query.getColumn(2).getDouble(), 0.25);
  EXPECT_DOUBLE_EQ(query.getColumn(3).getDouble(), 0.25);
  EXPECT_EQ(query.getColumn(4).getInt(), 1);
  EXPECT_EQ(store.run(query.getColumn(5).getInt64())->row.kind, "measured");
  ASSERT_TRUE(query.executeStep());
  EXPECT_FALSE(query.executeStep());
}

TEST_F(StoreValidation, AFailureLeavesNothing) {
  std::vector<ValidationRuns> both = {validation("one"), validation("two")};
  both[1].measured.metrics.push_back(both[1].measured.metrics.front());  // a key twice
  Store store(path(), Store::Mode::write);
  EXPECT_THROW(store.add_validations(both), Error);
  EXPECT_TRUE(store.runs().empty());
}

TEST_F(StoreValidation, WithARunGoesWhatLinksIt) {
  const std::vector<ValidationRuns> one = {validation("one")};
  Store(path(), Store::Mode::write).add_validations(one);
  SQLite::Database database(path(), SQLite::OPEN_READWRITE);
  database.exec("PRAGMA foreign_keys = ON; DELETE FROM runs WHERE kind = 'measured'");
  EXPECT_EQ(database.execAndGet("SELECT count(*) FROM validations").getInt(), 0);
  EXPECT_EQ(database.execAndGet("SELECT count(*) FROM intervals").getInt(), 0);
}

}  // namespace
}  // namespace roofcast
