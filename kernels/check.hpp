// Helpers for every family's check(): a violated contract throws an exception that names it.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "kernels/element.hpp"

namespace roofcast::kernels {

inline constexpr std::uintptr_t kVectorBytes = 16;

/// Maximum CTAs in one grid dimension, and the range of an int32 index.
inline constexpr std::int64_t kMaxRows = 2147483647;

/// Aligned to 16 bytes; true for null.
inline bool aligned(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % kVectorBytes == 0;
}

template <class... Pointers>
bool all_given(const Pointers*... pointers) {
  return ((pointers != nullptr) && ...);
}

template <class... Pointers>
bool all_aligned(const Pointers*... pointers) {
  return (aligned(pointers) && ...);
}

/// Whether `count` elements are a whole number of 16-byte vectors.
constexpr bool whole_vectors(Element element, std::int64_t count) {
  return static_cast<std::uint64_t>(count) * size_of(element) % kVectorBytes == 0;
}

/// Floating-point formats that every operator accepts.
constexpr bool is_plain(Element element) {
  return element == Element::fp32 || element == Element::fp16 || element == Element::bf16;
}

/// Throws std::invalid_argument "FAMILY: EXPECTED" unless `holds`.
inline void require(bool holds, std::string_view family, std::string_view expected) {
  if (!holds) throw std::invalid_argument(std::string(family) + ": " + std::string(expected));
}

}  // namespace roofcast::kernels
