// Observed lengths to sample from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace roofcast {

/// A pair of lengths and how often it was observed. A file with one column of lengths repeats the
/// value in both fields.
struct LengthRow {
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  std::int64_t count = 1;
};

/// The rows of a file that an empirical LengthDistribution refers to.
struct LengthTable {
  std::string file{};
  bool paired = false;          // the file has an input and an output column
  std::int64_t empty_rows = 0;  // left out: a length of 0, e.g. of a failed request
  std::vector<LengthRow> rows{};
};

}  // namespace roofcast
