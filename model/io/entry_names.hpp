// Names of an entry of a catalogue, without parsing it.
#pragma once

#include <string>
#include <string_view>

#include "base/text.hpp"

namespace roofcast {

/// The name of the entry's file and `part`, the part of its text that holds its names, run together
/// as letters_and_digits: what is not in there is no name of the entry.
inline std::string names_in(std::string_view file, std::string_view part) {
  return letters_and_digits(file) + letters_and_digits(part);
}

}  // namespace roofcast
