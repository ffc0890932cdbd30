// Plans in the store: started or resumed, their evaluations, ended.
#include <fmt/format.h>

#include <string_view>

#include "base/fnv1a.hpp"
#include "reports/store_impl.hpp"

namespace roofcast {

using store_detail::explaining;
using store_detail::in_one_transaction;

namespace {

/// Hash of both texts, separated by a byte that neither contains. Only an index: queries compare
/// the texts too, so a collision does no harm.
std::string key_of(std::string_view tool_version, std::string_view question) {
  const std::uint64_t version = fnv1a(std::string_view("\0", 1), fnv1a(tool_version));
  return fmt::format("{:016x}", fnv1a(question, version));
}

std::optional<std::int64_t> unfinished_plan(SQLite::Database& database, const RunRow& row) {
  SQLite::Statement query(database,
                          "SELECT id FROM runs JOIN plans ON run_id = id WHERE complete = 0 AND "
                          "scenario_json = ? AND seed = ? AND tool_version = ? "
                          "ORDER BY id DESC LIMIT 1");
  query.bind(1, row.scenario_json);
  query.bind(2, std::to_string(row.seed));
  query.bind(3, row.tool_version);
  if (!query.executeStep()) return std::nullopt;
  return query.getColumn(0).getInt64();
}

std::int64_t new_plan(SQLite::Database& database, const RunRow& row) {
  const std::int64_t id = store_detail::insert_run(database, row);
  SQLite::Statement insert(database,
                           "INSERT INTO plans (run_id, complete, answer_json) VALUES (?, 0, '')");
  insert.bind(1, id);
  insert.exec();
  return id;
}

std::string tool_version_of(SQLite::Database& database, std::int64_t plan) {
  SQLite::Statement query(database, "SELECT tool_version FROM runs WHERE id = ?");
  query.bind(1, plan);
  if (!query.executeStep()) throw Error(fmt::format("the store has no run {}", plan));
  return query.getColumn(0).getString();
}

void insert_evaluations(SQLite::Database& database, std::int64_t plan,
                        std::span<const EvaluationRow> evaluations) {
  const std::string version = tool_version_of(database, plan);
  SQLite::Statement insert(database,
                           "INSERT OR IGNORE INTO evaluations (key, run_id, tool_version, "
                           "question, answer) VALUES (?, ?, ?, ?, ?)");
  for (const EvaluationRow& evaluation : evaluations) {
    insert.bind(1, key_of(version, evaluation.question));
    insert.bind(2, plan);
    insert.bindNoCopy(3, version);
    insert.bindNoCopy(4, evaluation.question);
    insert.bindNoCopy(5, evaluation.answer);
    insert.exec();
    insert.reset();
  }
}

void update_run(SQLite::Database& database, std::int64_t plan, const PlanEnd& end) {
  SQLite::Statement update(
      database, "UPDATE runs SET summary = ?, gpu = ?, engine = ?, profile_hash = ? WHERE id = ?");
  update.bind(1, end.summary);
  update.bind(2, end.gpu);
  update.bind(3, end.engine);
  update.bind(4, end.profile_hash);
  update.bind(5, plan);
  update.exec();
}

}  // namespace

std::int64_t Store::begin_plan(const RunRow& row) {
  return explaining(impl_->path, impl_->wait, "; the plan was not started", [&] {
    SQLite::Database& database = impl_->database;
    return in_one_transaction(database, [&] {
      const std::optional<std::int64_t> earlier = unfinished_plan(database, row);
      return earlier ? *earlier : new_plan(database, row);
    });
  });
}

void Store::add_evaluations(std::int64_t plan, std::span<const EvaluationRow> evaluations) {
  const char* consequence = "; the newest evaluations were not stored";
  explaining(impl_->path, impl_->wait, consequence, [&] {
    return in_one_transaction(impl_->database, [&] {
      insert_evaluations(impl_->database, plan, evaluations);
      return true;
    });
  });
}

std::optional<std::string> Store::evaluation(const std::string& tool_version,
                                             const std::string& question) const {
  return explaining(impl_->path, impl_->wait, "", [&]() -> std::optional<std::string> {
    SQLite::Database& database = impl_->database;
    if (!database.tableExists("evaluations")) return std::nullopt;
    SQLite::Statement query(database,
                            "SELECT answer FROM evaluations WHERE key = ? AND tool_version = ? "
                            "AND question = ?");
    query.bind(1, key_of(tool_version, question));
    query.bindNoCopy(2, tool_version);
    query.bindNoCopy(3, question);
    if (!query.executeStep()) return std::nullopt;
    return query.getColumn(0).getString();
  });
}

void Store::end_plan(std::int64_t plan, const PlanEnd& end, const std::vector<MetricRow>& metrics) {
  const char* consequence = "; the evaluations are stored, but not the end of the plan";
  explaining(impl_->path, impl_->wait, consequence, [&] {
    SQLite::Database& database = impl_->database;
    return in_one_transaction(database, [&] {
      update_run(database, plan, end);
      SQLite::Statement done(database,
                             "UPDATE plans SET complete = 1, answer_json = ? WHERE run_id = ?");
      done.bind(1, end.answer_json);
      done.bind(2, plan);
      done.exec();
      SQLite::Statement forget(database, "DELETE FROM metrics WHERE run_id = ?");
      forget.bind(1, plan);
      forget.exec();
      store_detail::insert_metrics(database, plan, metrics);
      return true;
    });
  });
}

}  // namespace roofcast
