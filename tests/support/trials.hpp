// Number of cases in random tests.
#pragma once

#include "tests/support/sanitised.hpp"

namespace roofcast::test {

#if defined(ROOFCAST_SANITISED)
inline constexpr bool kSanitised = true;
#else
inline constexpr bool kSanitised = false;
#endif

/// Number of random cases: a thirtieth under the sanitisers, where each takes ten times as long and
/// memory errors, which they look for, show in the first cases.
template <class Count>
constexpr Count trials(Count count) {
  return kSanitised ? (count + 29) / 30 : count;
}

/// How often these cases must have hit the situation they test: under the sanitisers half of a
/// thirtieth, since the first cases are not representative.
template <class Count>
constexpr Count often(Count count) {
  return kSanitised ? trials(count) / 2 : count;
}

}  // namespace roofcast::test
