// What limits a deployment, as text.
#pragma once

#include <string>

#include "reports/document.hpp"
#include "roofcast/limits.hpp"

namespace roofcast {

/// "KV memory", "token budget", ...
std::string title_of(LimitKind kind);

/// Effect of raising a limit: "-3.2 %", a gain being a reduction.
std::string gain_text(double gain);

/// One row per limit; a line above the table names the binding one.
Section limits_section(const LimitsAnswer& limits);

}  // namespace roofcast
