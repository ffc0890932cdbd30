#include "base/io/line_reader.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"

namespace roofcast {
namespace {

constexpr std::size_t kLongestLine = 1'000'000;
constexpr std::int64_t kMaxLines = 100'000'000;
}  // namespace

/// Appends the next piece of the text to the buffer. Returns false at the end.
bool LineReader::fill() {
  buffer_.erase(0, begin_);
  begin_ = 0;
  const std::size_t held = buffer_.size();
  buffer_.resize(held + kChunkBytes);
  const std::size_t got = source_.read(buffer_.data() + held, kChunkBytes);
  buffer_.resize(held + got);
  return got > 0;
}

bool LineReader::next(std::string_view& line) {
  std::size_t searched = begin_;
  std::size_t end = buffer_.find('\n', searched);
  while (end == std::string::npos && !at_end_) {
    searched = buffer_.size() - begin_;
    at_end_ = !fill();
    end = buffer_.find('\n', searched);
    if (end == std::string::npos && buffer_.size() > kLongestLine + kChunkBytes) break;
  }
  const bool last = end == std::string::npos;
  if (last && begin_ == buffer_.size()) return false;
  if (last) end = buffer_.size();
  ++line_number_;
  if (end - begin_ > kLongestLine) {
    throw Error(fmt::format("{}:{}: line is longer than {} bytes", source_.name(), line_number_,
                            kLongestLine));
  }
  if (line_number_ > kMaxLines) {
    throw Error(fmt::format("{}: has more than {} lines", source_.name(), kMaxLines));
  }
  line = std::string_view(buffer_).substr(begin_, end - begin_);
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line_number_ == 1) line = without_byte_order_mark(line);
  begin_ = last ? end : end + 1;
  return true;
}

bool LineReader::next_filled(std::string_view& line) {
  while (next(line)) {
    if (line.find_first_not_of(" \t") != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace roofcast
