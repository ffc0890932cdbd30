// The lesson as a conversation on a terminal: it asks, reads a guess and reveals.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reports/document.hpp"
#include "reports/figures/figure.hpp"
#include "roofcast/learn.hpp"

namespace roofcast {

/// `text` in lines of at most `width` columns, broken at blanks.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

struct SessionOptions {
  std::string again{};  // flags that the command for going on needs: " --model gpt2"
};

/// Holds the steps of `answer` with their figures as tables, then its teach-back. An empty line
/// skips a guess and shows the answer, the end of `in` ends the lesson and says how to go on.
void hold_lesson(const LessonAnswer& answer, const SessionOptions& options, std::istream& in,
                 std::ostream& out);

/// The numbers of a figure with a column of bars, as long as the first series is high. No bars
/// where its scale is logarithmic or its points are not those of the rows.
Table table_with_bars(const Figure& figure);

}  // namespace roofcast
