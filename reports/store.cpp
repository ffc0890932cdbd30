#include "reports/store.hpp"

#include <cassert>
#include <cmath>
#include <map>
#include <optional>

#include "base/quantity.hpp"
#include "reports/store_impl.hpp"

namespace roofcast {

namespace {

std::uint64_t seed_from(const std::string& digits) {
  return to_number<std::uint64_t>(digits).value_or(0);
}

}  // namespace

namespace store_detail {

std::int64_t insert_run(SQLite::Database& database, const RunRow& row) {
  SQLite::Statement insert(database,
                           "INSERT INTO runs (kind, created_at, tool_version, command_line, model, "
                           "gpu, engine, scenario_json, profile_hash, seed, summary) "
                           "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  int at = 0;
  for (const std::string* text :
       {&row.kind, &row.created_at, &row.tool_version, &row.command_line, &row.model, &row.gpu,
        &row.engine, &row.scenario_json, &row.profile_hash}) {
    insert.bind(++at, *text);
  }
  insert.bind(++at, std::to_string(row.seed));
  insert.bind(++at, row.summary);
  insert.exec();
  return database.getLastInsertRowid();
}

void insert_metrics(SQLite::Database& database, std::int64_t id,
                    const std::vector<MetricRow>& metrics) {
  SQLite::Statement insert(
      database, "INSERT INTO metrics (run_id, name, statistic, value) VALUES (?, ?, ?, ?)");
  insert.bind(1, id);
  for (const MetricRow& metric : metrics) {
    assert(std::isfinite(metric.value));
    insert.bindNoCopy(2, metric.name);
    insert.bindNoCopy(3, metric.statistic);
    insert.bind(4, metric.value);
    insert.exec();
    insert.reset();
  }
}

void bind_optional(SQLite::Statement& statement, int index, const std::optional<double>& value) {
  if (value) {
    statement.bind(index, *value);
  } else {
    statement.bind(index);
  }
}

std::optional<double> optional_at(SQLite::Statement& row, int index) {
  const SQLite::Column column = row.getColumn(index);
  if (column.isNull()) return std::nullopt;
  return column.getDouble();
}

/// The statement's columns in the order of RunRow.
RunRow run_row(SQLite::Statement& row) {
  return {.id = row.getColumn(0).getInt64(),
          .kind = row.getColumn(1).getString(),
          .created_at = row.getColumn(2).getString(),
          .tool_version = row.getColumn(3).getString(),
          .command_line = row.getColumn(4).getString(),
          .model = row.getColumn(5).getString(),
          .gpu = row.getColumn(6).getString(),
          .engine = row.getColumn(7).getString(),
          .scenario_json = row.getColumn(8).getString(),
          .profile_hash = row.getColumn(9).getString(),
          .seed = seed_from(row.getColumn(10).getString()),
          .summary = row.getColumn(11).getString()};
}

}  // namespace store_detail

using namespace store_detail;

namespace {

// ---- writing

void insert_requests(SQLite::Database& database, std::int64_t id,
                     const std::vector<RequestRow>& requests) {
  SQLite::Statement insert(
      database,
      "INSERT INTO requests (run_id, request_index, arrival_s, sent_s, scheduled_s, first_token_s, "
      "finished_s, input_tokens, output_tokens, preemptions, slo_class) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  insert.bind(1, id);
  for (const RequestRow& request : requests) {
    insert.bind(2, request.index);
    insert.bind(3, request.arrival_s);
    bind_optional(insert, 4, request.sent_s);
    bind_optional(insert, 5, request.scheduled_s);
    bind_optional(insert, 6, request.first_token_s);
    bind_optional(insert, 7, request.finished_s);
    insert.bind(8, request.input_tokens);
    insert.bind(9, request.output_tokens);
    insert.bind(10, request.preemptions);
    insert.bindNoCopy(11, request.slo_class);
    insert.exec();
    insert.reset();
  }
}

std::int64_t insert_whole_run(SQLite::Database& database, const Run& run) {
  const std::int64_t id = insert_run(database, run.row);
  insert_metrics(database, id, run.metrics);
  insert_requests(database, id, run.requests);
  return id;
}

/// The first run carries the JSON.
void insert_answer(SQLite::Database& database, const std::vector<std::int64_t>& ids,
                   const std::string& json) {
  SQLite::Statement insert(
      database, "INSERT INTO answers (run_id, first_run_id, answer_json) VALUES (?, ?, ?)");
  for (const std::int64_t id : ids) {
    insert.bind(1, id);
    insert.bind(2, ids.front());
    insert.bind(3, id == ids.front() ? json : "");
    insert.exec();
    insert.reset();
  }
}

// ---- reading

std::vector<MetricRow> metric_rows(SQLite::Database& database, std::int64_t id) {
  SQLite::Statement query(database,
                          "SELECT name, statistic, value FROM metrics WHERE run_id = ? "
                          "ORDER BY name, statistic");
  query.bind(1, id);
  std::vector<MetricRow> metrics;
  while (query.executeStep()) {
    metrics.push_back({.name = query.getColumn(0).getString(),
                       .statistic = query.getColumn(1).getString(),
                       .value = query.getColumn(2).getDouble()});
  }
  return metrics;
}

/// The names that users gave runs, by id; those of one run if `id` is given.
std::map<std::int64_t, std::string> names_of(SQLite::Database& database,
                                             std::optional<std::int64_t> id = {}) {
  std::map<std::int64_t, std::string> names;
  if (!database.tableExists("run_names")) return names;  // a store of schema 6 or older
  SQLite::Statement query(database, id ? "SELECT run_id, name FROM run_names WHERE run_id = ?"
                                       : "SELECT run_id, name FROM run_names");
  if (id) query.bind(1, *id);
  while (query.executeStep()) {
    names.emplace(query.getColumn(0).getInt64(), query.getColumn(1).getString());
  }
  return names;
}

std::vector<RequestRow> request_rows(SQLite::Database& database, std::int64_t id) {
  SQLite::Statement query(
      database,
      "SELECT request_index, arrival_s, sent_s, scheduled_s, first_token_s, finished_s, "
      "input_tokens, output_tokens, preemptions, slo_class FROM requests WHERE run_id = ? "
      "ORDER BY request_index");
  query.bind(1, id);
  std::vector<RequestRow> requests;
  while (query.executeStep()) {
    requests.push_back({.index = query.getColumn(0).getInt64(),
                        .arrival_s = query.getColumn(1).getDouble(),
                        .sent_s = optional_at(query, 2),
                        .scheduled_s = optional_at(query, 3),
                        .first_token_s = optional_at(query, 4),
                        .finished_s = optional_at(query, 5),
                        .input_tokens = query.getColumn(6).getInt64(),
                        .output_tokens = query.getColumn(7).getInt64(),
                        .preemptions = query.getColumn(8).getInt64(),
                        .slo_class = query.getColumn(9).getString()});
  }
  return requests;
}

}  // namespace

std::int64_t Store::add(const Run& run) {
  const char* consequence = "; the run was not stored, the store is unchanged";
  return explaining(impl_->path, impl_->wait, consequence, [&] {
    return in_one_transaction(impl_->database,
                              [&] { return insert_whole_run(impl_->database, run); });
  });
}

std::vector<std::int64_t> Store::add_answer(std::span<const Run> runs,
                                            const std::string& answer_json) {
  const char* consequence = "; the answer was not stored, the store is unchanged";
  return explaining(impl_->path, impl_->wait, consequence, [&] {
    return in_one_transaction(impl_->database, [&] {
      std::vector<std::int64_t> ids;
      for (const Run& run : runs) ids.push_back(insert_whole_run(impl_->database, run));
      insert_answer(impl_->database, ids, answer_json);
      return ids;
    });
  });
}

std::optional<StoredAnswer> Store::answer_of(std::int64_t run) const {
  return explaining(impl_->path, impl_->wait, "", [&]() -> std::optional<StoredAnswer> {
    SQLite::Database& database = impl_->database;
    if (!database.tableExists("answers")) return std::nullopt;
    SQLite::Statement query(database,
                            "SELECT run_id, answer_json FROM answers WHERE first_run_id = "
                            "(SELECT first_run_id FROM answers WHERE run_id = ?) ORDER BY run_id");
    query.bind(1, run);
    StoredAnswer answer;
    while (query.executeStep()) {
      answer.runs.push_back(query.getColumn(0).getInt64());
      answer.json += query.getColumn(1).getString();
    }
    if (answer.runs.empty()) return std::nullopt;
    return answer;
  });
}

std::vector<RunRow> Store::runs(std::int64_t max) const {
  return explaining(impl_->path, impl_->wait, "", [&] {
    SQLite::Statement query(impl_->database,
                            "SELECT id, kind, created_at, tool_version, command_line, model, gpu, "
                            "engine, '', profile_hash, seed, summary FROM runs ORDER BY id DESC "
                            "LIMIT ?");
    query.bind(1, max);
    std::vector<RunRow> rows;
    const std::map<std::int64_t, std::string> names = names_of(impl_->database);
    while (query.executeStep()) {
      RunRow& row = rows.emplace_back(run_row(query));
      if (const auto named = names.find(row.id); named != names.end()) row.name = named->second;
    }
    return rows;
  });
}

std::int64_t Store::run_count() const {
  return explaining(impl_->path, impl_->wait, "", [&] {
    SQLite::Statement query(impl_->database, "SELECT count(*) FROM runs");
    query.executeStep();
    return query.getColumn(0).getInt64();
  });
}

std::optional<Run> Store::run(std::int64_t id) const {
  return explaining(impl_->path, impl_->wait, "", [&]() -> std::optional<Run> {
    SQLite::Database& database = impl_->database;
    SQLite::Transaction one_state(database);  // rows, metrics and requests of the same moment
    SQLite::Statement query(database,
                            std::string("SELECT ") + kRunColumns + " FROM runs WHERE id = ?");
    query.bind(1, id);
    if (!query.executeStep()) return std::nullopt;
    Run run{.row = run_row(query),
            .metrics = metric_rows(database, id),
            .requests = request_rows(database, id)};
    const std::map<std::int64_t, std::string> names = names_of(database, id);
    if (!names.empty()) run.row.name = names.begin()->second;
    return run;
  });
}

}  // namespace roofcast
