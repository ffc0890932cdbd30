// Writes GGUF files with data. Format: github.com/ggml-org/ggml, docs/gguf.md.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace roofcast::test {

template <class Number>
inline std::string raw(Number value) {
  std::string bytes(sizeof(value), '\0');
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

inline std::string text(const std::string& value) {
  return raw(std::uint64_t{value.size()}) + value;
}

class GgufWriter {
 public:
  static constexpr std::uint32_t kF32 = 0, kF16 = 1, kQ5_0 = 6, kQ8_0 = 8;  // ggml's types

  void string(const std::string& key, const std::string& value) { put(key, 8, text(value)); }
  void number(const std::string& key, std::uint32_t value) { put(key, 4, raw(value)); }
  void real(const std::string& key, float value) { put(key, 6, raw(value)); }
  void list(const std::string& key, std::uint32_t type, std::uint64_t count,
            const std::string& items) {
    put(key, 9, raw(type) + raw(count) + items);
  }

  void tensor(const std::string& name, const std::vector<std::int64_t>& shape, std::uint32_t type,
              const std::string& bytes) {
    tensors_ += text(name) + raw(static_cast<std::uint32_t>(shape.size()));
    for (const std::int64_t size : shape) tensors_ += raw(size);
    tensors_ += raw(type) + raw(std::uint64_t{data_.size()});
    data_ += bytes;
    data_.resize((data_.size() + 31) / 32 * 32, '\0');
    ++tensor_count_;
  }

  std::string bytes() const {
    std::string file = "GGUF" + raw(std::uint32_t{3}) + raw(tensor_count_) + raw(value_count_);
    file += values_ + tensors_;
    file.resize((file.size() + 31) / 32 * 32, '\0');
    return file + data_;
  }

 private:
  void put(const std::string& key, std::uint32_t type, const std::string& bytes) {
    values_ += text(key) + raw(type) + bytes;
    ++value_count_;
  }
  std::string values_{}, tensors_{}, data_{};
  std::uint64_t value_count_ = 0;
  std::uint64_t tensor_count_ = 0;
};

}  // namespace roofcast::test
