// SQL queries that users run on a store. Whatever the text, nothing is written, no other file is
// opened, and rows, bytes and time are limited.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace roofcast {

/// Limits of a query. A single call of an SQL function is not interrupted: LIKE over megabytes may
/// take longer than `time`.
struct QueryLimits {
  std::size_t rows = 10'000;
  std::size_t bytes = std::size_t{64} << 20;  // of all values as text
  std::chrono::milliseconds time = std::chrono::seconds(30);
};

/// NULL, an integer, a real number, or text (a BLOB in SQL notation: x'00ff').
using QueryValue = std::variant<std::monostate, std::int64_t, double, std::string>;

struct QueryAnswer {
  std::vector<std::string> columns{};
  std::vector<std::vector<QueryValue>> rows{};  // one value per column
  bool more = false;  // rows are missing: the limit `rows` or `bytes` was reached
};

/// Longest text of a query, in bytes.
inline constexpr std::size_t kLongestQuery = 1'000'000;

/// Runs one SELECT (or VALUES, WITH, EXPLAIN, a PRAGMA that describes tables). Throws UsageError if
/// `sql` is anything else, Error if it fails or takes too long.
QueryAnswer query_store(const std::string& path, const std::string& sql,
                        const QueryLimits& limits = {});

}  // namespace roofcast
