// FNV-1a, 64 bits (Fowler, Noll and Vo): a short hash of a text, the same on every machine.
#pragma once

#include <cstdint>
#include <string_view>

namespace roofcast {

inline constexpr std::uint64_t kFnv1aBasis = 0xcbf29ce484222325;

/// Hash of `text`; pass the previous result as `hash` to continue it.
constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t hash = kFnv1aBasis) {
  constexpr std::uint64_t kPrime = 0x100000001b3;
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * kPrime;
  return hash;
}

}  // namespace roofcast
