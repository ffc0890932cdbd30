// --threshold of `roofcast validate`.
#pragma once

#include <string>

#include "reports/validation.hpp"

namespace roofcast {

/// "10%" of every metric, "ttft_s=15%", "ttft_s:p99=0.3". Throws UsageError for a metric that is
/// not known and what is no share.
ErrorLimit parse_error_limit(const std::string& text);

}  // namespace roofcast
