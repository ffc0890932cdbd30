#include "calibrate/tables/table_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/error.hpp"
#include "base/io/csv.hpp"
#include "base/quantity.hpp"

namespace roofcast {

namespace {

const std::string kNothing;

constexpr double kLargestCount = 1e9;

}  // namespace

TableFile::TableFile(const std::string& path)
    : bytes_(path), lines_(bytes_), name_(std::filesystem::path(path).filename().string()) {
  std::string_view line;
  if (!lines_.next_filled(line)) throw Error(path + ": empty, expected a table with a header");
  if (!split_csv(line, columns_)) throw Error(path + ": unclosed quote in the header");
}

bool TableFile::next() {
  std::string_view line;
  if (!lines_.next_filled(line)) return false;
  whole_ = split_csv(line, fields_) && fields_.size() == columns_.size();
  return true;
}

std::optional<std::size_t> TableFile::place_of(std::string_view column) const {
  const auto found = std::find(columns_.begin(), columns_.end(), column);
  if (found == columns_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns_.begin());
}

const std::string& TableFile::text(std::string_view column) const {
  const auto place = place_of(column);
  return place ? fields_[*place] : kNothing;
}

std::optional<double> TableFile::number(std::string_view column) const {
  return to_number<double>(text(column));
}

std::optional<std::int64_t> TableFile::count(std::string_view column, std::int64_t min) const {
  const auto value = number(column);
  if (!value || *value != std::floor(*value)) return std::nullopt;
  if (*value < static_cast<double>(min) || *value > kLargestCount) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

std::string TableFile::place() const {
  return fmt::format("{} line {}", name_, lines_.line_number());
}

}  // namespace roofcast
