// Internal to reports/: what the files that implement Store share.
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

/// Of the schema that this program writes (schema.sql).
inline constexpr std::int32_t kSchemaVersion = 5;

/// What a failed call means to the user, in one line.
std::string explain(const std::string& path, std::chrono::milliseconds wait,
                    const SQLite::Exception& error);

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

/// After a failed write SQLite may leave its journal to whoever opens the file next; reading brings
/// the file back at once, so that also a program that may only read it finds it whole.
void take_back(SQLite::Database& database) noexcept;

/// Does `write` in one transaction: all or nothing.
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

/// Binds NULL for nothing.
void bind_optional(SQLite::Statement& statement, int index, const std::optional<double>& value);
std::optional<double> optional_at(SQLite::Statement& row, int index);

/// Columns of `runs` in the order that run_row reads them.
inline constexpr const char* kRunColumns =
    "id, kind, created_at, tool_version, command_line, model, gpu, engine, scenario_json, "
    "profile_hash, seed, summary";
RunRow run_row(SQLite::Statement& row);

}  // namespace store_detail
}  // namespace roofcast
