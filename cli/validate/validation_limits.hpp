// --threshold of `roofcast validate`.
#pragma once

#include <string>

#include "reports/validation.hpp"

namespace roofcast {

/// "10%" for every metric, "ttft_s=15%", "ttft_s:p99=0.3". Throws UsageError for an unknown metric
/// and for a value that is not a share.
ErrorLimit parse_error_limit(const std::string& text);

}  // namespace roofcast
