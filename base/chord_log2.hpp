// A logarithm that is the same on every machine.
#pragma once

#include <cmath>

namespace roofcast {

/// log2 as the chord between powers of two: with x = 2^e (1 + f), 0 <= f < 1, it is e + f. At most
/// 0.087 below the true value, and made of exact operations only. Precondition: x > 0.
inline double chord_log2(double x) {
  int exponent = 0;
  const double mantissa = std::frexp(x, &exponent);  // in [0.5, 1)
  return exponent - 1 + (2 * mantissa - 1);
}

}  // namespace roofcast
