// One step of hashing 64-bit values, the same on every machine.
#pragma once

#include <cstdint>

namespace roofcast {

/// Mixes a value into a hash (the finaliser of SplitMix64; Steele, Lea and Flood, OOPSLA 2014).
inline std::uint64_t hash_mix(std::uint64_t hash, std::uint64_t value) {
  std::uint64_t z = hash + 0x9e3779b97f4a7c15 + value;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace roofcast
