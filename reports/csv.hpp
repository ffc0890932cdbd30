// Tables for spreadsheets: a cell that readers see as "41.5 ms" is the number 0.0415 under a title
// with its unit.
#pragma once

#include <iosfwd>

namespace roofcast {

struct Table;

/// RFC 4180 with line feeds. Of right-aligned columns the cells are numbers and the unit stands in
/// the title, "TTFT p95 (s)"; "-" is an empty cell; a range makes two columns, low and high.
/// Remarks, and units that differ between rows, follow in columns of their own, which are there
/// only where they say something. A list of names and values, which has no titles, gets some.
void write_csv(const Table& table, std::ostream& out);

}  // namespace roofcast
