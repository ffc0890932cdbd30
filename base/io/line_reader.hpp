// Lines of a text in bounded memory, whatever the text holds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/io/byte_source.hpp"

namespace roofcast {

class LineReader {
 public:
  /// `source` must outlive this.
  explicit LineReader(ByteSource& source) : source_(source) {}

  /// The next line without its end (LF or CRLF), and without a byte-order mark on the first.
  /// Returns false at the end of the text. The view is valid until the next call. Throws Error
  /// naming file and line for damaged gzip data, a line over 1,000,000 bytes or over 100,000,000
  /// lines.
  bool next(std::string_view& line);

  /// The next line that is not blank.
  bool next_filled(std::string_view& line);

  /// Number of the line last returned, from 1.
  std::int64_t line_number() const { return line_number_; }

 private:
  bool fill();

  ByteSource& source_;
  std::string buffer_;
  std::size_t begin_ = 0;  // start of the part not yet returned
  std::int64_t line_number_ = 0;
  bool at_end_ = false;
};

}  // namespace roofcast
