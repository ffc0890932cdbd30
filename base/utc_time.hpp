// The wall clock, for provenance only: nothing that decides a result reads it.
#pragma once

#include <string>

namespace roofcast {

/// "2026-01-31T12:00:00Z"
std::string utc_now();

}  // namespace roofcast
