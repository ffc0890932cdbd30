// Lines of comma-separated values (RFC 4180, without line breaks inside quotes).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roofcast {

/// Splits a line into fields, surrounding blanks and quotes removed, doubled quotes undone.
/// `fields` is overwritten. False when a quote is left open.
bool split_csv(std::string_view line, std::vector<std::string>& fields);

/// Whether a text can be a field: nothing in it breaks a line or steers a terminal.
bool fits_in_row(std::string_view text);

/// A field as split_csv reads it back: quoted where it has to be.
std::string quoted_csv(const std::string& field);

}  // namespace roofcast
