// The JSON of a file, NaN and Infinity replaced, for a parser that reads a stream: only the piece
// that is being read is in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <streambuf>
#include <string>

#include "base/io/byte_source.hpp"
#include "base/io/json_words.hpp"

namespace roofcast {

/// Throws Error, from whatever reads it, at a text of over 16 MiB and at damaged gzip data.
class JsonBuffer : public std::streambuf {
 public:
  /// `bytes` must outlive this.
  JsonBuffer(ByteSource& bytes, NumberWords words) : bytes_(bytes), words_(words) {}

  /// Of the character that is read next, from 1.
  std::int64_t line();

 protected:
  int_type underflow() override;

 private:
  ByteSource& bytes_;
  JsonWords words_;
  std::string chunk_, piece_;
  bool at_end_ = false;
  std::int64_t line_ = 1;    // of the character that counted_ points at
  std::size_t counted_ = 0;  // of piece_: how far lines are counted
};

/// Whether anything but blanks is left to be read; reads the blanks.
bool has_more(std::streambuf& text);

}  // namespace roofcast
