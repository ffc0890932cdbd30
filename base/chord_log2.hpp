// An approximate logarithm, and its inverse, that give the same bits on every machine.
#pragma once

#include <cmath>

namespace roofcast {

/// log2, linear between powers of two: for x = 2^e (1 + f) with 0 <= f < 1 it returns e + f, at
/// most 0.087 below the true value. Uses only operations that are exact in floating point.
/// Precondition: x > 0.
inline double chord_log2(double x) {
  int exponent = 0;
  const double mantissa = std::frexp(x, &exponent);  // in [0.5, 1)
  return exponent - 1 + (2 * mantissa - 1);
}

/// The x of which chord_log2(x) is `log`.
inline double chord_exp2(double log) {
  const double whole = std::floor(log);
  return std::ldexp(1 + (log - whole), static_cast<int>(whole));
}

}  // namespace roofcast
