// Versions of programs, compared number by number.
#pragma once

#include <string_view>
#include <vector>

namespace roofcast {

/// The numbers of a version: {1, 3, 0, 20} of "1.3.0rc20".
using DottedVersion = std::vector<int>;

DottedVersion version_of(std::string_view text);

/// Whether a version is older than another, compared in the parts that both state: "0.5.9" than
/// "0.5.14", but not "0.24.1" than "0.24", nor "0.5", which means its newest, than "0.5.10". A
/// version without numbers is older than any other.
bool is_older(std::string_view version, std::string_view than);

}  // namespace roofcast
