// Reads a CSV table, plain or gzip, by the names of its columns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/io/byte_source.hpp"
#include "base/io/line_reader.hpp"

namespace roofcast {

class TableFile {
 public:
  /// Reads the header. Throws Error if the file cannot be opened or is empty.
  explicit TableFile(const std::string& path);

  bool has(std::string_view column) const { return place_of(column).has_value(); }
  const std::vector<std::string>& columns() const { return columns_; }

  /// Reads the next row that is not blank; false at the end.
  bool next();

  /// Whether the row has a field for each column and its quotes are closed.
  bool whole() const { return whole_; }

  /// The row's field of that column, "" if the table has no such column. Precondition: whole().
  const std::string& text(std::string_view column) const;

  /// The same as a finite number; nullopt if it is not one. Precondition: whole().
  std::optional<double> number(std::string_view column) const;

  /// A whole number of at least `min` and at most 1e9; nullopt if it is not one.
  std::optional<std::int64_t> count(std::string_view column, std::int64_t min = 0) const;

  /// "gemm.csv.gz line 12".
  std::string place() const;

 private:
  std::optional<std::size_t> place_of(std::string_view column) const;

  ByteSource bytes_;
  LineReader lines_;
  std::string name_;  // of the file, without its folders
  std::vector<std::string> columns_{};
  std::vector<std::string> fields_{};
  bool whole_ = false;
};

}  // namespace roofcast
