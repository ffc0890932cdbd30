#include "base/io/json_buffer.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace roofcast {
namespace {

constexpr std::size_t kLongestText = std::size_t{16} << 20;  // 16 MiB

bool is_blank(int letter) {
  return letter == ' ' || letter == '\t' || letter == '\r' || letter == '\n';
}

}  // namespace

std::int64_t JsonBuffer::line() {
  const auto read = static_cast<std::size_t>(gptr() - eback());
  const auto begin = piece_.begin();
  line_ += std::count(begin + static_cast<std::ptrdiff_t>(counted_),
                      begin + static_cast<std::ptrdiff_t>(read), '\n');
  counted_ = read;
  return line_;
}

JsonBuffer::int_type JsonBuffer::underflow() {
  line();
  piece_.clear();
  counted_ = 0;
  while (piece_.empty() && !at_end_) {
    chunk_.resize(kChunkBytes);
    chunk_.resize(bytes_.read(chunk_.data(), kChunkBytes));
    at_end_ = chunk_.empty();
    at_end_ ? words_.finish(piece_) : words_.append(chunk_, piece_);
    if (words_.open_text() > kLongestText) {
      throw Error(bytes_.name() +
                  ": contains a string of over 16 MiB, expected a benchmark result");
    }
  }
  setg(piece_.data(), piece_.data(), piece_.data() + piece_.size());
  return piece_.empty() ? traits_type::eof() : traits_type::to_int_type(*gptr());
}

bool has_more(std::streambuf& text) {
  while (is_blank(text.sgetc())) text.sbumpc();
  return text.sgetc() != std::streambuf::traits_type::eof();
}

}  // namespace roofcast
