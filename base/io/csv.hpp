// Lines of comma-separated values (RFC 4180, without line breaks inside quotes).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roofcast {

/// Splits a line into `fields`, which it overwrites: surrounding blanks and quotes are removed,
/// doubled quotes become single ones. Returns false if a quote is not closed.
bool split_csv(std::string_view line, std::vector<std::string>& fields);

/// Whether a text can be a field: it has no line breaks and no terminal control characters.
bool fits_in_row(std::string_view text);

/// A field in the form that split_csv reads back: quoted where necessary.
std::string quoted_csv(const std::string& field);

}  // namespace roofcast
