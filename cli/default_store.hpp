// The store of every command that is given no other. Where it cannot be written, simulations are
// answered all the same.
#pragma once

#include <iosfwd>
#include <string>

namespace roofcast {

inline constexpr const char* kDefaultStore = "roofcast.db";

/// False if `path` is the default store and cannot be written in this folder, which it says on
/// `err`. True for any other path: opening it says what is wrong.
bool can_be_kept_in(const std::string& path, std::ostream& err);

}  // namespace roofcast
