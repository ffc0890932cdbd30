// The bytes of a file or of memory, piece by piece; gzip is detected by its first two bytes and
// decompressed.
#pragma once

#include <cstddef>
#include <istream>
#include <memory>
#include <streambuf>
#include <string>
#include <string_view>

namespace roofcast {

/// Bytes that readers of a whole file ask for at a time.
inline constexpr std::size_t kChunkBytes = 65'536;

class ByteSource {
 public:
  /// Opens the file. Throws Error if it cannot be opened, or if its name ends in .gz and it is not
  /// gzip.
  explicit ByteSource(const std::string& path);
  /// Reads from `bytes`, which must outlive this; `name` stands for the file in messages.
  ByteSource(std::istream& bytes, std::string name);
  ~ByteSource();

  /// Up to 65,536 bytes from the start, without consuming them.
  std::string_view peek();

  /// Reads up to `max` bytes into `to` and returns how many; 0 at the end. Throws Error if gzip
  /// data is damaged.
  std::size_t read(char* to, std::size_t max);

  const std::string& name() const { return name_; }

 private:
  std::size_t read_source(char* to, std::size_t max);

  std::string name_;
  std::unique_ptr<std::streambuf> file_;      // null when the caller owns the bytes
  std::streambuf* raw_ = nullptr;             // the file or the caller's bytes
  std::unique_ptr<std::streambuf> unzipped_;  // reads raw_; null for plain text
  std::string head_;       // bytes that peek() has read and read() has not returned yet
  std::size_t given_ = 0;  // how much of head_ read() has returned
};

}  // namespace roofcast
