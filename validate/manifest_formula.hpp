// Formulas of a manifest: "${= 64 * ceil((conc + isl) / 64)}" computes a value from a row's
// columns.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace roofcast {

/// The value of a column as a number; nullopt if the row leaves it empty. Throws Error for an
/// unknown column and for one that is not a number.
using ColumnNumber = std::function<std::optional<double>(const std::string& column)>;

/// Evaluates a formula of numbers, columns (letters, digits, "_" and ".", or any name in single
/// quotes), + - * /, parentheses, and ceil(x), floor(x), round(x), min(x, y, ...), max(x, y, ...).
/// nullopt if a column that it uses is empty. Throws Error that begins with `place` for anything
/// else, and for a result that is not finite.
std::optional<double> formula_value(std::string_view formula, const ColumnNumber& column,
                                    const std::string& place);

}  // namespace roofcast
