#include "simulator/workload/rate_pattern.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/quantity.hpp"
#include "base/text.hpp"

namespace roofcast {

RateStage parse_rate_stage(const std::string& text) {
  const auto parts = split(text, ':');
  const bool warm_up = parts.size() == 3 && parts[2] == "warm-up";
  if (parts.size() == 2 || warm_up) {
    const auto rate = to_number<double>(parts[0]);
    const auto time = time_in(parts[1], BareTime::seconds);
    if (rate && time && *rate >= 0 && time->value > 0) {
      return {.rate = *rate, .duration = *time, .warm_up = warm_up};
    }
  }
  throw Error(
      fmt::format("'{}': expected RATE:SECONDS or RATE:SECONDS:warm-up, such as 10:60 for 10 "
                  "requests per second for 60 seconds",
                  text));
}

DiurnalRate parse_diurnal(const std::string& text) {
  const auto parts = split(text, ':');
  if (parts.size() == 2 || parts.size() == 3) {
    const auto low = to_number<double>(parts[0]);
    const auto high = to_number<double>(parts[1]);
    const auto period =
        parts.size() == 3 ? time_in(parts[2], BareTime::seconds) : DiurnalRate{}.period;
    if (low && high && period) return {.low = *low, .high = *high, .period = *period};
  }
  throw Error(
      fmt::format("'{}': expected LOW:HIGH or LOW:HIGH:PERIOD, such as 2:20:86400 for 2 to 20 "
                  "requests per second over 86400 seconds",
                  text));
}

std::string name_of(const RateStage& stage) {
  return fmt::format("{} /s for {} s", stage.rate, stage.duration.value);
}

}  // namespace roofcast
