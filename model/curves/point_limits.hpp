// Limits on measured points in a hardware profile: wide enough for any accelerator and for a
// calibrated CPU, narrow enough to catch a value in the wrong unit. Enforced by the reader of
// profiles and by everything that writes them.
#pragma once

namespace roofcast {

inline constexpr double kShortestCall = 1e-9;    // seconds
inline constexpr double kLongestCall = 1e4;      // seconds
inline constexpr double kMaxMeasured = 1e9;      // elements, heads, tokens or sequences
inline constexpr double kLargestMessage = 1e15;  // bytes
inline constexpr int kMaxMeasuredRanks = 4096;   // GPUs of a collective

}  // namespace roofcast
