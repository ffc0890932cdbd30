#include "reports/store_query.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/text.hpp"
#include "reports/store_impl.hpp"

namespace roofcast {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kWait{5};          // for another program that writes
constexpr int kLongestValue = 16 << 20;           // bytes of one value
constexpr int kLongestLikePattern = 1000;         // bytes
constexpr int kOperationsBetweenLooks = 1000;     // SQLite VM instructions between clock checks
constexpr std::size_t kLongestExplanation = 300;  // bytes of SQLite's own message that are quoted

/// Pragmas that only describe tables, or return a store's application id and version.
constexpr std::array<std::string_view, 9> kHarmlessPragmas = {
    "table_info",  "table_xinfo",      "table_list",   "index_list",    "index_info",
    "index_xinfo", "foreign_key_list", "user_version", "application_id"};
constexpr std::array<std::string_view, 2> kRefusedFunctions = {"load_extension", "fts3_tokenizer"};

// ---- what a statement may do

bool contains(std::span<const std::string_view> names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Why a statement is refused, in words; nullopt if it is allowed. `first` and `second` as
/// sqlite3_set_authorizer describes them for each action.
std::optional<std::string> refusal_of(int action, const char* first, const char* second) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
      return std::nullopt;
    // While json_each and pragma_table_info are prepared they declare their columns by a CREATE
    // TABLE; a statement that really creates a table is refused because it is not read-only
    // (question()).
    case SQLITE_CREATE_TABLE:
      return std::nullopt;
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
      if (std::string_view(first) == "sqlite_master") return std::nullopt;
      return "a change of the store";
    case SQLITE_FUNCTION:
      if (!contains(kRefusedFunctions, lower(second))) return std::nullopt;
      return fmt::format("the function {}", second);
    case SQLITE_PRAGMA:
      if (contains(kHarmlessPragmas, lower(first))) return std::nullopt;
      return fmt::format("PRAGMA {}", first);
    case SQLITE_ATTACH:
    case SQLITE_DETACH:
      return "another database";
    case SQLITE_TRANSACTION:
    case SQLITE_SAVEPOINT:
      return "a transaction";
    default:
      return "a change of the store";
  }
}

/// For sqlite3_set_authorizer; `refused` is a std::string that keeps the first refusal.
int authorise(void* refused, int action, const char* first, const char* second,
              const char* /*database*/, const char* /*trigger*/) {
  const auto refusal = refusal_of(action, first, second);
  if (!refusal) return SQLITE_OK;
  auto& said = *static_cast<std::string*>(refused);
  if (said.empty()) said = *refusal;
  return SQLITE_DENY;
}

/// For sqlite3_progress_handler: a result other than 0 ends the query.
int is_past(void* deadline) { return Clock::now() > *static_cast<Clock::time_point*>(deadline); }

// ---- opening

SQLite::Database open_for_questions(const std::string& path) {
  SQLite::Database database(std::filesystem::absolute(path).string(), SQLite::OPEN_READONLY,
                            static_cast<int>(std::chrono::milliseconds(kWait).count()));
  sqlite3* handle = database.getHandle();
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, kLongestValue);
  sqlite3_limit(handle, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, kLongestLikePattern);
  sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
  database.exec("PRAGMA query_only = ON");
  return database;
}

// ---- errors

/// SQLite's message on one line: it quotes the statement, line feeds included.
std::string in_a_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, ' ');
  if (text.size() > kLongestExplanation) text = text.substr(0, kLongestExplanation) + "...";
  return text;
}

/// Drops the extended error code above the lowest byte.
int primary_code(const SQLite::Exception& error) {
  constexpr int kPrimary = 0xFF;
  return error.getErrorCode() & kPrimary;
}

/// Failures caused by the text of a query rather than by the file. SQLITE_SCHEMA: SQLite reloaded
/// the schema and still does not know a name in the text.
bool is_of_the_text(int code) {
  return code == SQLITE_ERROR || code == SQLITE_TOOBIG || code == SQLITE_SCHEMA;
}

[[noreturn]] void refuse(const std::string& what) {
  throw UsageError(fmt::format("SQL: {} is not allowed: queries are read-only", what));
}

/// Views are added by schema versions, and a reader does not upgrade a store.
std::string hint_for(const std::string& explanation, SQLite::Database& database) {
  const int version = database.execAndGet("PRAGMA user_version").getInt();
  if (version >= store_detail::kSchemaVersion || !explanation.starts_with("no such")) return "";
  return fmt::format("; the store has schema {} of {}; storing the next run upgrades it", version,
                     store_detail::kSchemaVersion);
}

// ---- one statement

struct Finalise {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalise>;

struct Prepared {
  Statement statement;  // empty if `sql` has only spaces and comments
  std::string_view rest;
};

Prepared prepared(SQLite::Database& database, std::string_view sql) {
  sqlite3* handle = database.getHandle();
  sqlite3_stmt* statement = nullptr;
  const char* rest = nullptr;
  const int code =
      sqlite3_prepare_v2(handle, sql.data(), static_cast<int>(sql.size()), &statement, &rest);
  if (code != SQLITE_OK) {
    const SQLite::Exception error(handle, code);
    if (!is_of_the_text(primary_code(error)) && primary_code(error) != SQLITE_AUTH) throw error;
    const std::string explanation = error.what();
    throw UsageError("SQL: " + in_a_line(explanation) + hint_for(explanation, database));
  }
  return {Statement(statement), sql.substr(static_cast<std::size_t>(rest - sql.data()))};
}

/// Prepares the one statement of `sql`, which must be read-only.
Statement question(SQLite::Database& database, const std::string& sql) {
  if (sql.size() > kLongestQuery) {
    throw UsageError(fmt::format("SQL: longer than {} bytes", kLongestQuery));
  }
  if (sql.find('\0') != std::string::npos) throw UsageError("SQL: contains a zero byte");
  Prepared first = prepared(database, sql);
  if (first.statement == nullptr) {
    throw UsageError("SQL: no statement (for example SELECT * FROM run_summary)");
  }
  for (std::string_view rest = first.rest; !rest.empty();) {
    Prepared next = prepared(database, rest);
    if (next.statement != nullptr) throw UsageError("SQL: more than one statement");
    if (next.rest.size() == rest.size()) break;
    rest = next.rest;
  }
  const bool reads = sqlite3_stmt_readonly(first.statement.get()) != 0;
  if (!reads || sqlite3_column_count(first.statement.get()) == 0) {
    throw UsageError("SQL: not a query: only statements that return rows are run");
  }
  return std::move(first.statement);
}

// ---- rows

QueryValue value_at(sqlite3_stmt* row, int index) {
  switch (sqlite3_column_type(row, index)) {
    case SQLITE_NULL:
      return std::monostate{};
    case SQLITE_INTEGER:
      return std::int64_t{sqlite3_column_int64(row, index)};
    case SQLITE_FLOAT:
      return sqlite3_column_double(row, index);
    case SQLITE_BLOB: {
      const auto* bytes = static_cast<const unsigned char*>(sqlite3_column_blob(row, index));
      std::string text = "x'";
      for (int i = 0; i < sqlite3_column_bytes(row, index); ++i) {
        fmt::format_to(std::back_inserter(text), "{:02x}", bytes[i]);
      }
      return text + "'";
    }
    default: {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(row, index));
      if (text == nullptr) throw std::bad_alloc();
      return std::string(text, static_cast<std::size_t>(sqlite3_column_bytes(row, index)));
    }
  }
}

std::size_t bytes_of(const QueryValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr ? sizeof(QueryValue) : sizeof(QueryValue) + text->size();
}

QueryAnswer answer_of(sqlite3_stmt* statement, SQLite::Database& database,
                      const QueryLimits& limits) {
  QueryAnswer answer;
  const int columns = sqlite3_column_count(statement);
  for (int i = 0; i < columns; ++i) answer.columns.emplace_back(sqlite3_column_name(statement, i));
  std::size_t bytes = 0;
  for (;;) {
    const int code = sqlite3_step(statement);
    if (code == SQLITE_DONE) return answer;
    if (code != SQLITE_ROW) throw SQLite::Exception(database.getHandle(), code);
    answer.more = answer.rows.size() == limits.rows || bytes > limits.bytes;
    if (answer.more) return answer;
    std::vector<QueryValue>& row = answer.rows.emplace_back();
    for (int i = 0; i < columns; ++i) {
      row.push_back(value_at(statement, i));
      bytes += bytes_of(row.back());
    }
  }
}

}  // namespace

QueryAnswer query_store(const std::string& path, const std::string& sql,
                        const QueryLimits& limits) {
  // Checks that the file is a store of ours, and rolls back a transaction left unfinished.
  const Store checked(path, Store::Mode::read, kWait);
  Clock::time_point deadline = Clock::now() + limits.time;
  std::string refused;
  try {
    SQLite::Database database = open_for_questions(path);
    sqlite3_set_authorizer(database.getHandle(), authorise, &refused);
    sqlite3_progress_handler(database.getHandle(), kOperationsBetweenLooks, is_past, &deadline);
    const Statement statement = question(database, sql);
    return answer_of(statement.get(), database, limits);
  } catch (const SQLite::Exception& error) {
    if (primary_code(error) == SQLITE_AUTH) refuse(refused);
    if (primary_code(error) == SQLITE_INTERRUPT) {
      throw Error(fmt::format("SQL: stopped after {:g} s, unfinished",
                              std::chrono::duration<double>(limits.time).count()));
    }
    if (is_of_the_text(primary_code(error))) throw Error("SQL: " + in_a_line(error.what()));
    throw Error(store_detail::explain(path, kWait, error));
  } catch (const UsageError&) {
    if (!refused.empty()) refuse(refused);
    throw;
  }
}

}  // namespace roofcast
