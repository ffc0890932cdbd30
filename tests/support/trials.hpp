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
/// what they look for, errors of memory, shows in the first ones. Also for how often the cases must
/// have met what they are there for.
template <class Count>
constexpr Count trials(Count count) {
  return kSanitised ? (count + 29) / 30 : count;
}

}  // namespace roofcast::test
