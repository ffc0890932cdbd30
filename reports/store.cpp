#include "reports/store.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <cassert>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "embedded_schema.hpp"
#include "model/error.hpp"

namespace roofcast {

struct Store::Impl {
  std::string path;  // as the user wrote it, for messages
  std::chrono::milliseconds wait;
  SQLite::Database database;
};

namespace {

// Both are set by schema.sql.
constexpr std::int32_t kApplicationId = 0x52464354;  // "RFCT"
constexpr std::int32_t kSchemaVersion = 1;

/// What a failed call means to the user, in one line.
std::string explain(const std::string& path, std::chrono::milliseconds wait,
                    const SQLite::Exception& error) {
  switch (error.getErrorCode()) {
    case SQLITE_NOTADB:
      return path + ": not a SQLite database";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return fmt::format("{}: in use by another program (waited {} ms)", path, wait.count());
    case SQLITE_FULL:
      return path + ": no space left on its disk";
    case SQLITE_READONLY:
      return path + ": cannot be written (read-only)";
    case SQLITE_CORRUPT:
      return fmt::format("{}: damaged ({}); `sqlite3 FILE .recover` saves what can be read", path,
                         error.what());
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
      return fmt::format("{}: cannot be read or written ({})", path, error.what());
    default:
      return fmt::format("{}: {}", path, error.what());
  }
}

/// Does `work`; a SQLite error becomes an Error with `consequence` behind its explanation.
template <class Work>
auto explaining(const std::string& path, std::chrono::milliseconds wait, const char* consequence,
                Work work) {
  try {
    return work();
  } catch (const SQLite::Exception& error) {
    throw Error(explain(path, wait, error) + consequence);
  }
}

// ---- opening

void check_file(const std::string& path, Store::Mode mode) {
  namespace fs = std::filesystem;
  if (path.empty()) throw Error("the store has an empty file name");
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  if (fs::exists(status)) {
    if (!fs::is_regular_file(status)) throw Error(path + ": not a file");
    return;
  }
  if (mode == Store::Mode::read) throw Error(path + ": no such store");
  const fs::path folder = fs::absolute(path).parent_path();
  if (!fs::is_directory(folder, ignored)) {
    throw Error(fmt::format("{}: its folder {} does not exist", path, folder.string()));
  }
}

/// A reader opens for writing too, without changing anything: only so can it bring a store back
/// that another program left in the middle of a transaction. SQLite itself falls back to reading
/// where the file may not be written.
SQLite::Database open_database(const std::string& path, Store::Mode mode,
                               std::chrono::milliseconds wait) {
  const int create = mode == Store::Mode::write ? SQLite::OPEN_CREATE : 0;
  // An absolute path keeps SQLite from taking names such as ":memory:" or "file:x" specially.
  SQLite::Database database(std::filesystem::absolute(path).string(),
                            SQLite::OPEN_READWRITE | create, static_cast<int>(wait.count()));
  database.exec("PRAGMA foreign_keys = ON");
  if (mode == Store::Mode::read) database.exec("PRAGMA query_only = ON");
  return database;
}

std::int32_t number(SQLite::Database& database, const char* query) {
  return database.execAndGet(query).getInt();
}

/// True for a store of ours, false for a database with nothing in it; throws for all others.
bool is_store(SQLite::Database& database, const std::string& path) {
  const std::int32_t application = number(database, "PRAGMA application_id");
  const std::int32_t version = number(database, "PRAGMA user_version");
  if (application == kApplicationId) {
    if (version > kSchemaVersion) {
      throw Error(fmt::format("{}: written by a newer roofcast (schema {}, this program knows {})",
                              path, version, kSchemaVersion));
    }
    if (version == kSchemaVersion) return true;
    throw Error(fmt::format("{}: schema {} is none that roofcast has had (1 to {})", path, version,
                            kSchemaVersion));
  }
  const std::int32_t objects = number(database, "SELECT count(*) FROM sqlite_master");
  if (application == 0 && objects == 0) return false;
  throw Error(fmt::format("{}: a SQLite database of another program ({} tables, views and indexes)",
                          path, objects));
}

/// Two programs may create the same store at once: the second finds it made.
void create_schema(SQLite::Database& database, const std::string& path) {
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  if (is_store(database, path)) return;
  database.exec(std::string(embedded_schema()[0].text));
  transaction.commit();
}

void prepare(SQLite::Database& database, const std::string& path, Store::Mode mode) {
  const bool ours = is_store(database, path);
  if (mode == Store::Mode::read) {
    if (!ours) throw Error(path + ": an empty database, no store");
    return;
  }
  if (sqlite3_db_readonly(database.getHandle(), "main") != 0) {
    throw Error(path + ": cannot be written (read-only)");
  }
  if (!ours) create_schema(database, path);
}

// ---- writing

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

// ---- reading

std::uint64_t seed_from(const std::string& digits) {
  std::uint64_t seed = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), seed);
  return seed;
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

std::optional<double> optional_at(SQLite::Statement& row, int index) {
  const SQLite::Column column = row.getColumn(index);
  if (column.isNull()) return std::nullopt;
  return column.getDouble();
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

/// After a failed write SQLite may leave its journal to whoever opens the file next; reading brings
/// the file back at once, so that also a program that may only read it finds it whole.
void take_back(SQLite::Database& database) noexcept {
  try {
    number(database, "SELECT count(*) FROM sqlite_master");
  } catch (const SQLite::Exception&) {
    // Then the next one to open the store does it.
  }
}

std::int64_t add_in_one_transaction(SQLite::Database& database, const Run& run) {
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  const std::int64_t id = insert_run(database, run.row);
  insert_metrics(database, id, run.metrics);
  insert_requests(database, id, run.requests);
  transaction.commit();
  return id;
}

}  // namespace

Store::Store(const std::string& path, Mode mode, std::chrono::milliseconds wait) {
  check_file(path, mode);
  explaining(path, wait, "", [&] {
    SQLite::Database database = open_database(path, mode, wait);
    prepare(database, path, mode);
    impl_ =
        std::make_unique<Impl>(Impl{.path = path, .wait = wait, .database = std::move(database)});
  });
}

Store::~Store() = default;
Store::Store(Store&&) noexcept = default;

std::int64_t Store::add(const Run& run) {
  const char* consequence = "; the run was not stored and the store is as it was";
  return explaining(impl_->path, impl_->wait, consequence, [&] {
    try {
      return add_in_one_transaction(impl_->database, run);
    } catch (const SQLite::Exception&) {
      take_back(impl_->database);
      throw;
    }
  });
}

std::vector<RunRow> Store::runs() const {
  return explaining(impl_->path, impl_->wait, "", [&] {
    SQLite::Statement query(impl_->database,
                            "SELECT id, kind, created_at, tool_version, command_line, model, gpu, "
                            "engine, '', profile_hash, seed, summary FROM runs ORDER BY id DESC");
    std::vector<RunRow> rows;
    while (query.executeStep()) rows.push_back(run_row(query));
    return rows;
  });
}

std::optional<Run> Store::run(std::int64_t id) const {
  return explaining(impl_->path, impl_->wait, "", [&]() -> std::optional<Run> {
    SQLite::Database& database = impl_->database;
    SQLite::Transaction one_state(database);  // rows, metrics and requests of the same moment
    SQLite::Statement query(database,
                            "SELECT id, kind, created_at, tool_version, command_line, model, gpu, "
                            "engine, scenario_json, profile_hash, seed, summary FROM runs "
                            "WHERE id = ?");
    query.bind(1, id);
    if (!query.executeStep()) return std::nullopt;
    return Run{.row = run_row(query),
               .metrics = metric_rows(database, id),
               .requests = request_rows(database, id)};
  });
}

}  // namespace roofcast
