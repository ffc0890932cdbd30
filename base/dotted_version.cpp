#include "base/dotted_version.hpp"

#include <algorithm>
#include <cctype>

namespace roofcast {

DottedVersion version_of(std::string_view text) {
  DottedVersion version;
  bool in_number = false;
  for (const char c : text) {
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (digit && !in_number) version.push_back(0);
    if (digit) version.back() = std::min(1'000'000, version.back() * 10 + (c - '0'));
    in_number = digit;
  }
  return version;
}

bool is_older(std::string_view version, std::string_view than) {
  const DottedVersion other = version_of(than);
  const DottedVersion own = version_of(version);
  if (own.empty()) return !other.empty();
  const auto both = static_cast<std::ptrdiff_t>(std::min(own.size(), other.size()));
  return std::lexicographical_compare(own.begin(), own.begin() + both, other.begin(),
                                      other.begin() + both);
}

}  // namespace roofcast
