// Tables for spreadsheets: a cell that readers see as "41.5 ms" is the number 0.0415 under a title
// with its unit.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

namespace roofcast {

struct Table;

/// A printed figure in the base unit of its kind.
struct PlainFigure {
  std::string number;  // "-1234.5", with the digits that are printed; may be in scientific notation
  std::string unit;    // "s", "B", "%", "FLOP/s" ...; empty for a count or a ratio
  std::string remark;  // what else the cell says: "over", "few", "of 2,000"
};

/// Reads a cell of the forms that base/numbers.hpp prints, with a sign, "±", "$", "over" or "under"
/// before it and any remark behind: "41.5 ms", "3 min 05 s", "12.5 %", "over 99.9 %", "3.15x
/// (few)". nullopt if it does not begin with such a figure. Times come in seconds, sizes in bytes,
/// rates in FLOP/s and B/s, parameters ("8.03 B") as a count.
std::optional<PlainFigure> plain_figure(std::string_view cell);

/// RFC 4180 with line feeds. Of right-aligned columns the cells are numbers and the unit stands in
/// the title, "TTFT p95 (s)"; "-" is an empty cell; "a to b" makes two columns, low and high.
/// Remarks, and units that differ between rows, follow in columns of their own, which are there
/// only where they say something. A list of names and values, which has no titles, gets some.
void write_csv(const Table& table, std::ostream& out);

}  // namespace roofcast
