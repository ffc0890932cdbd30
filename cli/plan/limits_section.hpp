// The limits of a run in words and for machines: what was used of each, and what a tenth more of it
// would bring.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "planner/capacity/limits.hpp"
#include "reports/document.hpp"

namespace roofcast {

/// "KV memory", "token budget", ...
std::string title_of(LimitKind kind);

/// "p95 TTFT", or "mean E2E" where nothing is promised.
std::string yardstick_title(const LimitReport& report);

/// What widening a limit changes: "-3.2 %", what is gained being taken off.
std::string gain_text(double gain);

/// A limit by limit table with what binds in a line before it.
Section limits_section(const LimitReport& report, std::span<const PoolRun> pools);

/// {"yardstick", "as_is_s", "binding", "limits": [...]}
Json limits_json(const LimitReport& report);

}  // namespace roofcast
