// Opening a store: checks that the file is ours, creates its schema, upgrades older ones.
#include <fmt/format.h>
#include <sqlite3.h>

#include <filesystem>

#include "embedded_schema.hpp"
#include "reports/store_impl.hpp"

namespace roofcast {

namespace store_detail {

/// A failed call in the user's terms, in one line.
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
      return fmt::format("{}: damaged ({}); `sqlite3 FILE .recover` rescues what is readable", path,
                         error.what());
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
      return fmt::format("{}: cannot be read or written ({})", path, error.what());
    default:
      return fmt::format("{}: {}", path, error.what());
  }
}

}  // namespace store_detail

namespace {

using store_detail::explaining;

using store_detail::kSchemaVersion;

// Set by schema.sql, as is kSchemaVersion.
constexpr std::int32_t kApplicationId = 0x52464354;  // "RFCT"

// embedded_schema() holds schema.sql, then the steps from version 1 to 2, 2 to 3, ...
constexpr std::size_t kFirstStep = 1;

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

/// Readers open for writing too, although they change nothing: only then can SQLite roll back a
/// transaction that another program left unfinished. It falls back to read-only by itself if the
/// file is not writable.
SQLite::Database open_database(const std::string& path, Store::Mode mode,
                               std::chrono::milliseconds wait) {
  const int create = mode == Store::Mode::write ? SQLite::OPEN_CREATE : 0;
  // An absolute path, so that SQLite does not interpret names such as ":memory:" or "file:x".
  SQLite::Database database(std::filesystem::absolute(path).string(),
                            SQLite::OPEN_READWRITE | create, static_cast<int>(wait.count()));
  database.exec("PRAGMA foreign_keys = ON");
  if (mode == Store::Mode::read) database.exec("PRAGMA query_only = ON");
  return database;
}

std::int32_t number(SQLite::Database& database, const char* query) {
  return database.execAndGet(query).getInt();
}

/// Version of a store of ours, 0 for an empty database; throws Error for all others.
std::int32_t version_of(SQLite::Database& database, const std::string& path) {
  const std::int32_t application = number(database, "PRAGMA application_id");
  const std::int32_t version = number(database, "PRAGMA user_version");
  if (application == kApplicationId) {
    if (version > kSchemaVersion) {
      throw Error(
          fmt::format("{}: written by a newer roofcast (schema {}, this version reads up to {})",
                      path, version, kSchemaVersion));
    }
    if (version >= 1) return version;
    throw Error(
        fmt::format("{}: unknown schema {} (known: 1 to {})", path, version, kSchemaVersion));
  }
  const std::int32_t objects = number(database, "SELECT count(*) FROM sqlite_master");
  if (application == 0 && objects == 0) return 0;
  throw Error(fmt::format("{}: a SQLite database of another program ({} tables, views and indexes)",
                          path, objects));
}

/// Creates the schema, or upgrades an older one step by step. If two programs do so at once, the
/// second finds it done.
void bring_up(SQLite::Database& database, const std::string& path) {
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  const std::int32_t version = version_of(database, path);
  if (version == 0) database.exec(std::string(embedded_schema()[0].text));
  for (std::int32_t from = version; from >= 1 && from < kSchemaVersion; ++from) {
    const auto step = kFirstStep + static_cast<std::size_t>(from) - 1;
    database.exec(std::string(embedded_schema()[step].text));
  }
  transaction.commit();
}

/// Readers use an older store as it is: every version so far only added tables, views and columns
/// of views.
void prepare(SQLite::Database& database, const std::string& path, Store::Mode mode) {
  const std::int32_t version = version_of(database, path);
  if (mode == Store::Mode::read) {
    if (version == 0) throw Error(path + ": an empty database, not a store");
    return;
  }
  if (sqlite3_db_readonly(database.getHandle(), "main") != 0) {
    throw Error(path + ": cannot be written (read-only)");
  }
  if (version < kSchemaVersion) bring_up(database, path);
}

}  // namespace

namespace store_detail {

/// After a failed write SQLite may leave its journal for the next process that opens the file.
/// Reading rolls it back now, so that a later reader without write access finds a consistent file.
void take_back(SQLite::Database& database) noexcept {
  try {
    number(database, "SELECT count(*) FROM sqlite_master");
  } catch (const SQLite::Exception&) {
    // The next process that opens the store rolls it back.
  }
}

}  // namespace store_detail

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

}  // namespace roofcast
