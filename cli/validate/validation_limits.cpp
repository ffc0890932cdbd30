#include "cli/validate/validation_limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "base/suggest.hpp"
#include "planner/flags/flag_values.hpp"
#include "validate/measured_case.hpp"

namespace roofcast {
namespace {

void check_metric(const std::string& name, const std::string& text) {
  const std::vector<std::string>& known = comparable_metrics();
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  throw UsageError(
      fmt::format("--threshold: '{}' names no metric{}", text, did_you_mean(name, known)));
}

}  // namespace

ErrorLimit parse_error_limit(const std::string& text) {
  ErrorLimit limit;
  const std::size_t equals = text.find('=');
  if (equals != std::string::npos) {
    const std::string metric = text.substr(0, equals);
    const std::size_t colon = std::min(metric.find(':'), metric.size());
    limit.name = metric.substr(0, colon);
    if (colon < metric.size()) limit.statistic = metric.substr(colon + 1);
    check_metric(limit.name, text);
  }
  const std::string share = equals == std::string::npos ? text : text.substr(equals + 1);
  const bool is_percent = share.ends_with('%');
  limit.share =
      parse_number_by({.what = "share", .examples = "10%, 0.1", .min = 0},
                      is_percent ? share.substr(0, share.size() - 1) : share, "--threshold") /
      (is_percent ? 100 : 1);
  return limit;
}

}  // namespace roofcast
