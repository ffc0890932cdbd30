// The lesson as a conversation on a terminal: it asks, reads a guess and reveals.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "roofcast/learn.hpp"

namespace roofcast {

/// `text` in lines of at most `width` columns, broken at blanks.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

/// Holds the steps of `answer`, then its teach-back. An empty line skips a guess, the end of `in`
/// ends the lesson and says how to go on.
void hold_lesson(const LessonAnswer& answer, std::istream& in, std::ostream& out);

}  // namespace roofcast
