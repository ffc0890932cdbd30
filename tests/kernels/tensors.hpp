// Operands for kernel tests: fresh random numbers in a storage format, and poisoned outputs, which
// reveal values that a kernel did not write or wrote past the end.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernels/element.hpp"

namespace roofcast::kernels::test {

inline constexpr std::size_t kGuardBytes = 64;
inline constexpr unsigned char kPoison = 0xff;  // NaN in every format

/// A new seed for each test, printed; put it here to repeat a failure.
inline std::uint32_t fresh_seed() {
  const std::uint32_t seed = std::random_device{}();
  std::printf("[   seed   ] %u\n", seed);
  return seed;
}

/// Poisoned bytes, followed by a guard of poison.
class Storage {
 public:
  explicit Storage(std::size_t bytes) : bytes_(bytes + kGuardBytes, kPoison) {}

  bool guard_is_whole() const {
    for (std::size_t i = bytes_.size() - kGuardBytes; i < bytes_.size(); ++i) {
      if (bytes_[i] != kPoison) return false;
    }
    return true;
  }

  void* data() { return bytes_.data(); }
  const void* data() const { return bytes_.data(); }
  std::size_t bytes_with_guard() const { return bytes_.size(); }

 protected:
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

 private:
  std::vector<unsigned char> bytes_;
};

/// Elements in storage format.
class Tensor : public Storage {
 public:
  Tensor(Element element, std::size_t size)
      : Storage(size * size_of(element)), element_(element), size_(size) {}

  void set(std::size_t i, float value) {
    if (element_ == Element::fp32) store(i, value);
    if (element_ == Element::fp16) store(i, from_float<Fp16>(value));
    if (element_ == Element::bf16) store(i, from_float<Bf16>(value));
    if (element_ == Element::fp8_e4m3) store(i, from_float<Fp8E4M3>(value));
    if (element_ == Element::int8) store(i, from_float<std::int8_t>(value));
  }

  double get(std::size_t i) const {
    if (element_ == Element::fp32) return load<float>(i);
    if (element_ == Element::fp16) return to_float(load<Fp16>(i));
    if (element_ == Element::bf16) return to_float(load<Bf16>(i));
    if (element_ == Element::fp8_e4m3) return to_float(load<Fp8E4M3>(i));
    return load<std::int8_t>(i);
  }

  /// Whether nothing has been written there since construction.
  bool is_poison(std::size_t i) const {
    const auto* byte = static_cast<const unsigned char*>(data()) + i * size_of(element_);
    return std::all_of(byte, byte + size_of(element_),
                       [](unsigned char value) { return value == kPoison; });
  }

  std::vector<double> values() const {
    std::vector<double> result(size_);
    for (std::size_t i = 0; i < size_; ++i) result[i] = get(i);
    return result;
  }

  Element element() const { return element_; }
  std::size_t size() const { return size_; }

 private:
  Element element_;
  std::size_t size_;
};

/// Numbers of one C++ type: indices, factors.
template <class T>
class Array : public Storage {
 public:
  explicit Array(std::size_t size) : Storage(size * sizeof(T)), size_(size) {}
  explicit Array(const std::vector<T>& values) : Array(values.size()) {
    for (std::size_t i = 0; i < values.size(); ++i) set(i, values[i]);
  }

  void set(std::size_t i, T value) { store(i, value); }
  T get(std::size_t i) const { return load<T>(i); }

  std::vector<T> values() const {
    std::vector<T> result;
    for (std::size_t i = 0; i < size_; ++i) result.push_back(get(i));
    return result;
  }
  std::size_t size() const { return size_; }

 private:
  std::size_t size_;
};

/// Where a case's operands are while a kernel runs. A place has at(storage), the address of the
/// storage's copy there, always the same for the same storage. On the host that is the storage
/// itself; a device copies it there, and back after the kernel has run.
struct HostPlace {
  void* at(Storage& storage) { return storage.data(); }
};

template <class T, class Place>
T* at(Place& place, Array<T>& array) {
  return static_cast<T*>(place.at(array));
}

inline std::size_t count(std::int64_t a, std::int64_t b = 1, std::int64_t c = 1) {
  return static_cast<std::size_t>(a * b * c);
}

inline Tensor random_tensor(Element element, std::size_t size, std::mt19937& random,
                            float deviation = 1) {
  std::normal_distribution<float> normal(0, deviation);
  Tensor tensor(element, size);
  for (std::size_t i = 0; i < size; ++i) tensor.set(i, normal(random));
  return tensor;
}

inline Array<float> random_factors(std::size_t size, float min, float max, std::mt19937& random) {
  std::uniform_real_distribution<float> uniform(min, max);
  Array<float> factors(size);
  for (std::size_t i = 0; i < size; ++i) factors.set(i, uniform(random));
  return factors;
}

inline Array<std::int32_t> random_indices(std::size_t size, std::int32_t end,
                                          std::mt19937& random) {
  std::uniform_int_distribution<std::int32_t> uniform(0, end - 1);
  Array<std::int32_t> indices(size);
  for (std::size_t i = 0; i < size; ++i) indices.set(i, uniform(random));
  return indices;
}

/// Largest relative rounding error in the normal range: half a unit in the last place.
constexpr double rounding_error(Element element) {
  switch (element) {
    case Element::fp32:
      return 0x1p-24;
    case Element::fp16:
      return 0x1p-11;
    case Element::bf16:
      return 0x1p-8;
    case Element::fp8_e4m3:
      return 0x1p-4;
    case Element::int8:  // absolute error: half a step of 1
      break;
  }
  return std::numeric_limits<double>::infinity();
}

/// Largest rounding error of `value` in the element: half a unit in the last place, or half the
/// step of subnormal numbers; int8 has steps of 1.
inline double storage_error(Element element, double value) {
  if (element == Element::int8) return 0.5;
  double subnormal = 0;
  if (element == Element::fp16) subnormal = 0x1p-25;
  if (element == Element::fp8_e4m3) subnormal = 0x1p-10;
  return std::abs(value) * rounding_error(element) + subnormal;
}

/// One unit in the last place of fp32: the error of one operation, whether it rounds or truncates
/// (tensor cores truncate).
inline constexpr double kUnit = 0x1p-23;

/// Expects `actual` to equal `expected`, each value to within allowed(i) before rounding to the
/// tensor's element, and nothing written after the end.
template <class Allowed>
void expect_close(const Tensor& actual, const std::vector<double>& expected,
                  const Allowed& allowed) {
  ASSERT_LE(expected.size(), actual.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double arithmetic = allowed(i);
    const double max =
        arithmetic + storage_error(actual.element(), std::abs(expected[i]) + arithmetic);
    const double error = std::abs(actual.get(i) - expected[i]);
    if (error <= max) continue;  // false for NaN
    if (wrong++ == 0) {
      ADD_FAILURE() << "element " << i << " is " << actual.get(i) << ", expected " << expected[i]
                    << " to within " << max;
    }
  }
  EXPECT_EQ(wrong, 0U) << "of " << expected.size();
  for (std::size_t i = expected.size(); i < actual.size(); ++i) {
    ASSERT_TRUE(actual.is_poison(i)) << "element " << i << " was written";
  }
  EXPECT_TRUE(actual.guard_is_whole());
}

}  // namespace roofcast::kernels::test
