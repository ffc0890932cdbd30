#include "reports/importers/metric_units.hpp"

#include <algorithm>
#include <array>

#include "base/quantity.hpp"

namespace roofcast {

std::optional<double> unit_in_si(std::string_view unit) {
  constexpr std::string_view kPerToken = "/token";
  const std::size_t end = unit.ends_with(kPerToken) ? unit.size() - kPerToken.size() : unit.size();
  if (const auto seconds = time_unit_in(unit.substr(0, end))) return seconds;
  if (unit == "percent" || unit == "%") return 0.01;
  constexpr std::array<std::string_view, 13> kPlain = {
      "tokens",    "requests",        "count",         "ratio",      "fraction",
      "tokens/s",  "tokens/sec",      "tokens/s/user", "requests/s", "requests/sec",
      "queries/s", "tokens/sec/user", "per sec"};
  const bool plain = std::find(kPlain.begin(), kPlain.end(), unit) != kPlain.end();
  return plain ? std::optional(1.0) : std::nullopt;
}

double unit_of(const JsonReader& figure, std::string_view key) {
  const auto factor = unit_in_si(figure.text(key).value_or(""));
  if (!factor) figure.refuse(key, "units such as ms, s, tokens/s");
  return *factor;
}

}  // namespace roofcast
