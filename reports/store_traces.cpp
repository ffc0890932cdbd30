// Names of runs, their deletion, and traces in the store.
#include <optional>

#include "reports/store_impl.hpp"

namespace roofcast {

using store_detail::explaining;
using store_detail::in_one_transaction;

namespace {

constexpr const char* kUnchanged = "; the store is unchanged";

bool has_run(SQLite::Database& database, std::int64_t id) {
  SQLite::Statement query(database, "SELECT 1 FROM runs WHERE id = ?");
  query.bind(1, id);
  return query.executeStep();
}

/// The statement's columns: name, created_at, requests, duration_s.
StoredTrace trace_at(SQLite::Statement& row) {
  return {.name = row.getColumn(0).getString(),
          .created_at = row.getColumn(1).getString(),
          .requests = row.getColumn(2).getInt64(),
          .duration_s = row.getColumn(3).getDouble()};
}

}  // namespace

bool Store::name_run(std::int64_t id, const std::string& name) {
  return explaining(impl_->path, impl_->wait, kUnchanged, [&] {
    SQLite::Database& database = impl_->database;
    return in_one_transaction(database, [&] {
      if (!has_run(database, id)) return false;
      SQLite::Statement change(
          database, name.empty() ? "DELETE FROM run_names WHERE run_id = ?"
                                 : "INSERT OR REPLACE INTO run_names (run_id, name) VALUES (?, ?)");
      change.bind(1, id);
      if (!name.empty()) change.bind(2, name);
      change.exec();
      return true;
    });
  });
}

bool Store::remove_run(std::int64_t id) {
  return explaining(impl_->path, impl_->wait, kUnchanged, [&] {
    return in_one_transaction(impl_->database, [&] {
      SQLite::Statement remove(impl_->database, "DELETE FROM runs WHERE id = ?");
      remove.bind(1, id);
      return remove.exec() > 0;
    });
  });
}

Store::Kept Store::add_trace(const StoredTrace& trace, bool replaces, std::size_t most) {
  return explaining(impl_->path, impl_->wait, "; the trace was not stored", [&] {
    return in_one_transaction(impl_->database, [&] {
      SQLite::Statement same(impl_->database, "SELECT 1 FROM traces WHERE name = ?");
      same.bind(1, trace.name);
      if (same.executeStep()) {
        if (!replaces) return Kept::name_taken;
      } else {
        SQLite::Statement others(impl_->database, "SELECT count(*) FROM traces");
        others.executeStep();
        if (static_cast<std::size_t>(others.getColumn(0).getInt64()) >= most) return Kept::full;
      }
      SQLite::Statement insert(impl_->database,
                               "INSERT OR REPLACE INTO traces (name, created_at, requests, "
                               "duration_s, content) VALUES (?, ?, ?, ?, ?)");
      insert.bind(1, trace.name);
      insert.bind(2, trace.created_at);
      insert.bind(3, trace.requests);
      insert.bind(4, trace.duration_s);
      insert.bind(5, trace.content.data(), static_cast<int>(trace.content.size()));
      insert.exec();
      return Kept::added;
    });
  });
}

std::vector<StoredTrace> Store::traces() const {
  return explaining(impl_->path, impl_->wait, "", [&] {
    std::vector<StoredTrace> traces;
    if (!impl_->database.tableExists("traces")) return traces;
    SQLite::Statement query(impl_->database,
                            "SELECT name, created_at, requests, duration_s FROM traces "
                            "ORDER BY name");
    while (query.executeStep()) traces.push_back(trace_at(query));
    return traces;
  });
}

std::optional<StoredTrace> Store::trace(const std::string& name) const {
  return explaining(impl_->path, impl_->wait, "", [&]() -> std::optional<StoredTrace> {
    if (!impl_->database.tableExists("traces")) return std::nullopt;
    SQLite::Statement query(impl_->database,
                            "SELECT name, created_at, requests, duration_s, content FROM traces "
                            "WHERE name = ?");
    query.bind(1, name);
    if (!query.executeStep()) return std::nullopt;
    StoredTrace found = trace_at(query);
    found.content = query.getColumn(4).getString();
    return found;
  });
}

bool Store::remove_trace(const std::string& name) {
  return explaining(impl_->path, impl_->wait, kUnchanged, [&] {
    return in_one_transaction(impl_->database, [&] {
      SQLite::Statement remove(impl_->database, "DELETE FROM traces WHERE name = ?");
      remove.bind(1, name);
      return remove.exec() > 0;
    });
  });
}

}  // namespace roofcast
