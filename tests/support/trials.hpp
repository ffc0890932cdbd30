// How long random tests go on.
#pragma once

#include "tests/support/sanitised.hpp"

namespace roofcast::test {

#if defined(ROOFCAST_SANITISED)
inline constexpr bool kSanitised = true;
#else
inline constexpr bool kSanitised = false;
#endif

/// Cases of a random test: a thirtieth under the sanitisers, where each takes ten times as long and
/// what they look for, errors of memory, shows in the first ones.
template <class Count>
constexpr Count trials(Count count) {
  return kSanitised ? (count + 29) / 30 : count;
}

/// How often these cases must have met what they are there for: under the sanitisers half of a
/// thirtieth, since the first cases are not the average.
template <class Count>
constexpr Count often(Count count) {
  return kSanitised ? trials(count) / 2 : count;
}

}  // namespace roofcast::test
