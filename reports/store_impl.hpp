// Internal to reports/: shared by the files that implement Store.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "reports/store.hpp"

namespace roofcast {

struct Store::Impl {
  std::string path;  // as the user wrote it, for messages
  std::chrono::milliseconds wait;
  SQLite::Database database;
};

namespace store_detail {

/// Version of the schema that this program writes (schema.sql).
inline constexpr std::int32_t kSchemaVersion = 7;

/// A failed call in the user's terms, in one line.
std::string explain(const std::string& path, std::chrono::milliseconds wait,
                    const SQLite::Exception& error);

/// Runs `work`; a SQLite error becomes an Error: its explanation followed by `consequence`.
template <class Work>
auto explaining(const std::string& path, std::chrono::milliseconds wait, const char* consequence,
                Work work) {
  try {
    return work();
  } catch (const SQLite::Exception& error) {
    throw Error(explain(path, wait, error) + consequence);
  }
}

/// After a failed write SQLite may leave its journal for the next process that opens the file.
/// Reading rolls it back now, so that a later reader without write access finds a consistent file.
void take_back(SQLite::Database& database) noexcept;

/// Runs `write` in one transaction: all or nothing.
template <class Write>
auto in_one_transaction(SQLite::Database& database, Write write) {
  try {
    SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
    auto result = write();
    transaction.commit();
    return result;
  } catch (const SQLite::Exception&) {
    take_back(database);
    throw;
  }
}

std::int64_t insert_run(SQLite::Database& database, const RunRow& row);
void insert_metrics(SQLite::Database& database, std::int64_t id,
                    const std::vector<MetricRow>& metrics);

/// Binds NULL if there is no value.
void bind_optional(SQLite::Statement& statement, int index, const std::optional<double>& value);
std::optional<double> optional_at(SQLite::Statement& row, int index);

/// Columns of `runs` in the order that run_row reads them.
inline constexpr const char* kRunColumns =
    "id, kind, created_at, tool_version, command_line, model, gpu, engine, scenario_json, "
    "profile_hash, seed, summary";
RunRow run_row(SQLite::Statement& row);

}  // namespace store_detail
}  // namespace roofcast
