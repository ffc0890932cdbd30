// The JSON of a file with NaN and Infinity replaced, for a parser that reads a stream. Only the
// current piece is in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <streambuf>
#include <string>

#include "base/io/byte_source.hpp"
#include "base/io/json_words.hpp"

namespace roofcast {

/// Reads throw Error at a string of over 16 MiB and at damaged gzip data.
class JsonBuffer : public std::streambuf {
 public:
  /// `bytes` must outlive this.
  JsonBuffer(ByteSource& bytes, NumberWords words) : bytes_(bytes), words_(words) {}

  /// Line of the next character, from 1.
  std::int64_t line();

 protected:
  int_type underflow() override;

 private:
  ByteSource& bytes_;
  JsonWords words_;
  std::string chunk_, piece_;
  bool at_end_ = false;
  std::int64_t line_ = 1;    // line of the character that counted_ points at
  std::size_t counted_ = 0;  // offset in piece_ up to which lines are counted
};

/// Whether anything but blanks is left; consumes the blanks.
bool has_more(std::streambuf& text);

}  // namespace roofcast
