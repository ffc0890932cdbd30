// Reads results written in a test as if from files. All numbers of these tests are invented.
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "reports/importers/importer.hpp"
#include "reports/importers/metric_rows.hpp"

namespace roofcast::test {

inline std::vector<MeasuredRun> import_text(const std::string& text,
                                            const ImportOptions& options = {}) {
  std::istringstream stream(text);
  ByteSource bytes(stream, "r.json");
  auto runs = read_measured_bytes(bytes, options);
  if (!runs) throw Error("of no known format");
  return *std::move(runs);
}

/// The run of a text that holds exactly one.
inline MeasuredRun import_one(const std::string& text, const ImportOptions& options = {}) {
  auto runs = import_text(text, options);
  if (runs.size() != 1) throw Error("holds " + std::to_string(runs.size()) + " runs");
  return std::move(runs.front());
}

/// The error from reading a text; empty if there is none.
inline std::string import_error(const std::string& text, const ImportOptions& options = {}) {
  try {
    import_text(text, options);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

/// A metric that must exist.
inline double metric(const MeasuredRun& run, const char* name, const char* statistic = "value") {
  const auto value = find_metric(run, name, statistic);
  if (!value) ADD_FAILURE() << run.origin << " has no " << name << " " << statistic;
  return value.value_or(-1);
}

inline bool has_metric(const MeasuredRun& run, const char* name, const char* statistic = "value") {
  return find_metric(run, name, statistic).has_value();
}

}  // namespace roofcast::test
