// Lines of a text file, plain or gzip-compressed (told apart by the first two bytes), in bounded
// memory whatever the file holds.
#pragma once

#include <cstdint>
#include <memory>
#include <streambuf>
#include <string>
#include <string_view>

namespace roofcast {

class LineReader {
 public:
  /// Opens the file. Throws Error when it cannot be opened, or ends in .gz and is not gzip.
  explicit LineReader(const std::string& path);
  ~LineReader();

  /// The next line without its end (LF or CRLF); false at the end of the file. The view holds
  /// until the next call. Throws Error naming file and line: damaged gzip data, a line over
  /// 1,000,000 bytes, over 100,000,000 lines.
  bool next(std::string_view& line);

  /// Of the line last returned, from 1.
  std::int64_t line_number() const { return line_number_; }

 private:
  bool fill();

  std::string path_;
  std::unique_ptr<std::streambuf> file_;
  std::unique_ptr<std::streambuf> unzipped_;  // reads file_; null for plain text
  std::string buffer_;
  std::size_t begin_ = 0;  // of what is not returned yet
  std::int64_t line_number_ = 0;
  bool at_end_ = false;
};

}  // namespace roofcast
