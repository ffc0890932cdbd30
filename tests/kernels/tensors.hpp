// Operands for kernel tests: fresh random numbers in a storage format, and outputs that are
// poisoned so that what a kernel forgot to write, or wrote past the end, is found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/element.hpp"

namespace roofcast::kernels::test {

inline constexpr std::size_t kGuardBytes = 64;
inline constexpr unsigned char kPoison = 0xff;  // NaN in every format

/// A new seed for each test, printed so that a failure can be repeated by putting it here.
inline std::uint32_t fresh_seed() {
  const std::uint32_t seed = std::random_device{}();
  std::printf("[   seed   ] %u\n", seed);
  return seed;
}

/// Elements in storage format, followed by poison.
class Tensor {
 public:
  Tensor(Element element, std::size_t size)
      : element_(element), size_(size), bytes_(size * size_of(element) + kGuardBytes, kPoison) {}

  void set(std::size_t i, float value) {
    if (element_ == Element::fp32) store(i, value);
    if (element_ == Element::fp16) store(i, from_float<Fp16>(value));
    if (element_ == Element::bf16) store(i, from_float<Bf16>(value));
  }

  double get(std::size_t i) const {
    if (element_ == Element::fp32) return load<float>(i);
    if (element_ == Element::fp16) return to_float(load<Fp16>(i));
    return to_float(load<Bf16>(i));
  }

  std::vector<double> values() const {
    std::vector<double> result(size_);
    for (std::size_t i = 0; i < size_; ++i) result[i] = get(i);
    return result;
  }

  bool guard_is_whole() const {
    for (std::size_t i = bytes_.size() - kGuardBytes; i < bytes_.size(); ++i) {
      if (bytes_[i] != kPoison) return false;
    }
    return true;
  }

  void* data() { return bytes_.data(); }
  const void* data() const { return bytes_.data(); }
  std::size_t bytes_with_guard() const { return bytes_.size(); }
  std::size_t size() const { return size_; }

 private:
  template <class T>
  void store(std::size_t i, T value) {
    std::memcpy(bytes_.data() + i * sizeof(T), &value, sizeof(T));
  }
  template <class T>
  T load(std::size_t i) const {
    T value;
    std::memcpy(&value, bytes_.data() + i * sizeof(T), sizeof(T));
    return value;
  }

  Element element_;
  std::size_t size_;
  std::vector<unsigned char> bytes_;
};

inline Tensor random_tensor(Element element, std::size_t size, std::mt19937& random) {
  std::normal_distribution<float> normal;
  Tensor tensor(element, size);
  for (std::size_t i = 0; i < size; ++i) tensor.set(i, normal(random));
  return tensor;
}

}  // namespace roofcast::kernels::test
