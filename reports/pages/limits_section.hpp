// The limits of an answer in words.
#pragma once

#include <string>

#include "reports/document.hpp"
#include "roofcast/limits.hpp"

namespace roofcast {

/// "KV memory", "token budget", ...
std::string title_of(LimitKind kind);

/// What widening a limit changes: "-3.2 %", what is gained being taken off.
std::string gain_text(double gain);

/// A limit by limit table with what binds in a line before it.
Section limits_section(const LimitsAnswer& limits);

}  // namespace roofcast
