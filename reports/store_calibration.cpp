// Calibrations in the store: started, filled point by point, ended.
#include <utility>

#include "reports/store_impl.hpp"

namespace roofcast {

using store_detail::bind_optional;
using store_detail::explaining;
using store_detail::in_one_transaction;
using store_detail::optional_at;

namespace {

void insert_samples(SQLite::Statement& insert, std::int64_t run, const TimedPointRow& point) {
  std::int64_t index = 0;
  for (const SampleRow& sample : point.samples) {
    insert.bind(1, run);
    insert.bind(2, point.index);
    insert.bind(3, index++);
    insert.bind(4, sample.call_s);
    bind_optional(insert, 5, sample.clock_hz);
    bind_optional(insert, 6, sample.call_energy_j);
    insert.bind(7, sample.dropped ? 1 : 0);
    insert.exec();
    insert.reset();
  }
}

void insert_points(SQLite::Database& database, std::int64_t run,
                   std::span<const TimedPointRow> points) {
  SQLite::Statement insert(database,
                           "INSERT INTO timed_points (run_id, point_index, name, family, kernel, "
                           "x, y, calls, median_s, p10_s, p90_s, bimodal, throttled) "
                           "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  SQLite::Statement insert_sample(database,
                                  "INSERT INTO samples (run_id, point_index, sample_index, call_s, "
                                  "clock_hz, call_energy_j, dropped) VALUES (?, ?, ?, ?, ?, ?, ?)");
  for (const TimedPointRow& point : points) {
    insert.bind(1, run);
    insert.bind(2, point.index);
    insert.bindNoCopy(3, point.name);
    insert.bindNoCopy(4, point.family);
    insert.bindNoCopy(5, point.kernel);
    insert.bind(6, point.x);
    insert.bind(7, point.y);
    insert.bind(8, point.calls);
    insert.bind(9, point.median_s);
    insert.bind(10, point.p10_s);
    insert.bind(11, point.p90_s);
    insert.bind(12, point.bimodal ? 1 : 0);
    insert.bind(13, point.throttled ? 1 : 0);
    insert.exec();
    insert.reset();
    insert_samples(insert_sample, run, point);
  }
}

std::vector<SampleRow> sample_rows(SQLite::Database& database, std::int64_t run,
                                   std::int64_t point) {
  SQLite::Statement query(database,
                          "SELECT call_s, clock_hz, call_energy_j, dropped FROM samples "
                          "WHERE run_id = ? AND point_index = ? ORDER BY sample_index");
  query.bind(1, run);
  query.bind(2, point);
  std::vector<SampleRow> samples;
  while (query.executeStep()) {
    samples.push_back({.call_s = query.getColumn(0).getDouble(),
                       .clock_hz = optional_at(query, 1),
                       .call_energy_j = optional_at(query, 2),
                       .dropped = query.getColumn(3).getInt() != 0});
  }
  return samples;
}

std::vector<TimedPointRow> point_rows(SQLite::Database& database, std::int64_t run) {
  SQLite::Statement query(database,
                          "SELECT point_index, name, family, kernel, x, y, calls, median_s, p10_s, "
                          "p90_s, bimodal, throttled FROM timed_points WHERE run_id = ? "
                          "ORDER BY point_index");
  query.bind(1, run);
  std::vector<TimedPointRow> points;
  while (query.executeStep()) {
    points.push_back({.index = query.getColumn(0).getInt64(),
                      .name = query.getColumn(1).getString(),
                      .family = query.getColumn(2).getString(),
                      .kernel = query.getColumn(3).getString(),
                      .x = query.getColumn(4).getDouble(),
                      .y = query.getColumn(5).getDouble(),
                      .calls = query.getColumn(6).getInt64(),
                      .median_s = query.getColumn(7).getDouble(),
                      .p10_s = query.getColumn(8).getDouble(),
                      .p90_s = query.getColumn(9).getDouble(),
                      .bimodal = query.getColumn(10).getInt() != 0,
                      .throttled = query.getColumn(11).getInt() != 0,
                      .samples = {}});
    points.back().samples = sample_rows(database, run, points.back().index);
  }
  return points;
}

bool has_calibrations(SQLite::Database& database) { return database.tableExists("calibrations"); }

}  // namespace

std::int64_t Store::begin_calibration(const RunRow& row, const CalibrationRow& calibration) {
  const char* consequence = "; the calibration was not started";
  return explaining(impl_->path, impl_->wait, consequence, [&] {
    SQLite::Database& database = impl_->database;
    return in_one_transaction(database, [&] {
      const std::int64_t id = store_detail::insert_run(database, row);
      SQLite::Statement insert(database,
                               "INSERT INTO calibrations (run_id, device, identity, conditions, "
                               "complete) VALUES (?, ?, ?, ?, 0)");
      insert.bind(1, id);
      insert.bind(2, calibration.device);
      insert.bind(3, calibration.identity);
      insert.bind(4, calibration.conditions);
      insert.exec();
      return id;
    });
  });
}

void Store::add_points(std::int64_t run, std::span<const TimedPointRow> points) {
  const char* consequence = "; the newest points were not stored";
  explaining(impl_->path, impl_->wait, consequence, [&] {
    return in_one_transaction(impl_->database, [&] {
      insert_points(impl_->database, run, points);
      return true;
    });
  });
}

void Store::end_calibration(std::int64_t run, const CalibrationEnd& end) {
  const char* consequence = "; the points are stored, but not the end of the calibration";
  explaining(impl_->path, impl_->wait, consequence, [&] {
    SQLite::Database& database = impl_->database;
    return in_one_transaction(database, [&] {
      SQLite::Statement update(database,
                               "UPDATE runs SET summary = ?, profile_hash = ? WHERE id = ?");
      update.bind(1, end.summary);
      update.bind(2, end.profile_hash);
      update.bind(3, run);
      update.exec();
      SQLite::Statement done(database, "UPDATE calibrations SET complete = ? WHERE run_id = ?");
      done.bind(1, end.complete ? 1 : 0);
      done.bind(2, run);
      done.exec();
      SQLite::Statement forget(database, "DELETE FROM metrics WHERE run_id = ?");
      forget.bind(1, run);
      forget.exec();
      store_detail::insert_metrics(database, run, end.metrics);
      return true;
    });
  });
}

std::optional<UnfinishedCalibration> Store::unfinished_calibration(
    const std::string& identity) const {
  return explaining(impl_->path, impl_->wait, "", [&]() -> std::optional<UnfinishedCalibration> {
    SQLite::Database& database = impl_->database;
    if (!has_calibrations(database)) return std::nullopt;
    SQLite::Transaction one_state(database);
    SQLite::Statement query(database,
                            std::string("SELECT ") + store_detail::kRunColumns +
                                ", device, identity, conditions FROM runs JOIN calibrations ON "
                                "run_id = id WHERE identity = ? AND complete = 0 "
                                "ORDER BY id DESC LIMIT 1");
    query.bind(1, identity);
    if (!query.executeStep()) return std::nullopt;
    UnfinishedCalibration found{.row = store_detail::run_row(query),
                                .calibration = {.device = query.getColumn(12).getString(),
                                                .identity = query.getColumn(13).getString(),
                                                .conditions = query.getColumn(14).getString()},
                                .points = {}};
    found.points = point_rows(database, found.row.id);
    return found;
  });
}

std::vector<TimedPointRow> Store::timed_points(std::int64_t run) const {
  return explaining(impl_->path, impl_->wait, "", [&]() -> std::vector<TimedPointRow> {
    if (!has_calibrations(impl_->database)) return {};
    SQLite::Transaction one_state(impl_->database);
    return point_rows(impl_->database, run);
  });
}

}  // namespace roofcast
