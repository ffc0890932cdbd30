// The bytes of a file or of memory, gzip undone (told by the first two bytes), piece by piece.
#pragma once

#include <cstddef>
#include <istream>
#include <memory>
#include <streambuf>
#include <string>
#include <string_view>

namespace roofcast {

class ByteSource {
 public:
  /// Opens the file. Throws Error when it cannot be opened, or ends in .gz and is not gzip.
  explicit ByteSource(const std::string& path);
  /// Reads from `bytes`, which must outlive this; `name` stands for the file in messages.
  ByteSource(std::istream& bytes, std::string name);
  ~ByteSource();

  /// The first bytes, as many as 65,536, which stay to be read.
  std::string_view peek();

  /// Puts up to `most` bytes where `to` points and says how many; 0 at the end. Throws Error when
  /// gzip data is damaged.
  std::size_t read(char* to, std::size_t max);

  const std::string& name() const { return name_; }

 private:
  std::size_t read_source(char* to, std::size_t max);

  std::string name_;
  std::unique_ptr<std::streambuf> file_;      // null when the caller owns the bytes
  std::streambuf* raw_ = nullptr;             // the file or the caller's bytes
  std::unique_ptr<std::streambuf> unzipped_;  // reads raw_; null for plain text
  std::string head_;                          // what peek() has seen and read() has not given yet
  std::size_t given_ = 0;                     // of head_
};

}  // namespace roofcast
