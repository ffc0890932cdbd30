// Lengths as they were observed, to draw from again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace roofcast {

/// How often a pair of lengths was seen. A file with one column of lengths has the same value
/// twice.
struct LengthRow {
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  std::int64_t count = 1;
};

/// The rows of the file that an empirical LengthDistribution names.
struct LengthTable {
  std::string file{};
  bool paired = false;          // inputs and outputs stand side by side
  std::int64_t empty_rows = 0;  // left out: a length of 0, as of a failed request
  std::vector<LengthRow> rows{};
};

}  // namespace roofcast
