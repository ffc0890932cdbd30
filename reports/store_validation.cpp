// Predictions and measured runs in the store: both runs, and the row that links them.
#include "reports/store_impl.hpp"

namespace roofcast {

using store_detail::explaining;
using store_detail::in_one_transaction;
using store_detail::insert_metrics;
using store_detail::insert_run;

namespace {

std::int64_t insert_with_metrics(SQLite::Database& database, const Run& run) {
  const std::int64_t id = insert_run(database, run.row);
  insert_metrics(database, id, run.metrics);
  return id;
}

void insert_intervals(SQLite::Database& database, std::int64_t id,
                      const std::vector<IntervalRow>& intervals) {
  SQLite::Statement insert(
      database,
      "INSERT INTO intervals (run_id, name, statistic, low, high) VALUES (?, ?, ?, ?, ?)");
  for (const IntervalRow& interval : intervals) {
    insert.bind(1, id);
    insert.bindNoCopy(2, interval.name);
    insert.bindNoCopy(3, interval.statistic);
    insert.bind(4, interval.low);
    insert.bind(5, interval.high);
    insert.exec();
    insert.reset();
  }
}

std::int64_t insert_validation(SQLite::Database& database, const ValidationRuns& validation) {
  const std::int64_t measured = insert_with_metrics(database, validation.measured);
  const std::int64_t predicted = insert_with_metrics(database, validation.predicted);
  SQLite::Statement insert(database,
                           "INSERT INTO validations (run_id, measured_run_id, case_name, "
                           "case_group, source) VALUES (?, ?, ?, ?, ?)");
  insert.bind(1, predicted);
  insert.bind(2, measured);
  insert.bindNoCopy(3, validation.name);
  insert.bindNoCopy(4, validation.group);
  insert.bindNoCopy(5, validation.source);
  insert.exec();
  insert_intervals(database, predicted, validation.intervals);
  return predicted;
}

}  // namespace

std::vector<std::int64_t> Store::add_validations(std::span<const ValidationRuns> validations) {
  const char* consequence = "; nothing was stored, the store is unchanged";
  return explaining(impl_->path, impl_->wait, consequence, [&] {
    return in_one_transaction(impl_->database, [&] {
      std::vector<std::int64_t> ids;
      for (const ValidationRuns& validation : validations) {
        ids.push_back(insert_validation(impl_->database, validation));
      }
      return ids;
    });
  });
}

}  // namespace roofcast
