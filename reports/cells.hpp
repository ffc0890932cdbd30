// Cells of tables: what people read, and for programs the number behind it.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/numbers.hpp"

namespace roofcast {

/// Text, a number, or a range of two.
struct Cell : Printed {
  using Printed::Printed;
  Cell() = default;
  // Rows of tables list figures as they are, and text is read from cells as from strings.
  Cell(Printed figure) : Printed(std::move(figure)) {}  // NOLINT(google-explicit-constructor)
  operator const std::string&() const { return text; }  // NOLINT(google-explicit-constructor)

  Printed to{};  // upper end of a range, "-8.5 ms to +1.1 s"; the cell's number is the lower
};

/// "3.15x (few)", "450.0 GB/s per direction": what follows the number is its remark.
Cell followed(Printed figure, std::string_view words);

/// "$0.24", "+30.1 %", "±8 %": `sign` stands before it, and "$" is the unit.
Printed signed_by(std::string_view sign, Printed figure);

/// "1.24x", "700 W": a number in a unit without prefixes.
Printed in(double value, int decimals, std::string_view unit);

/// "2.46 GHz" is 2460000000 Hz; of a count "139.00 G" without a unit.
Printed in_giga(double value, int decimals, const std::string& unit);

/// "+30.1 %", "-3.3 %".
Printed signed_percent(double share, int decimals = 1);

/// Digits that stand for themselves: "1024", "0.00123".
Printed verbatim(std::string digits);

/// "-8.5 ms to +1.1 s".
Cell range(Printed low, Printed high);

}  // namespace roofcast
