// Lines of a text, in bounded memory whatever it holds.
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

  /// The next line without its end (LF or CRLF) and, of the first, without a byte-order mark;
  /// false at the end of the text. The view holds until the next call. Throws Error naming file and
  /// line: damaged gzip data, a line over 1,000,000 bytes, over 100,000,000 lines.
  bool next(std::string_view& line);

  /// The next line that holds more than blanks.
  bool next_filled(std::string_view& line);

  /// Of the line last returned, from 1.
  std::int64_t line_number() const { return line_number_; }

 private:
  bool fill();

  ByteSource& source_;
  std::string buffer_;
  std::size_t begin_ = 0;  // of what is not returned yet
  std::int64_t line_number_ = 0;
  bool at_end_ = false;
};

}  // namespace roofcast
