// The store where no other was named: an answer is not refused because it cannot be kept.
#pragma once

#include <iosfwd>
#include <string>

namespace roofcast {

inline constexpr const char* kDefaultStore = "roofcast.db";

/// False if `path` is the default store and cannot be written in this folder, which it says on
/// `err`. True for any other path: opening it says what is wrong.
bool can_be_kept_in(const std::string& path, std::ostream& err);

}  // namespace roofcast
