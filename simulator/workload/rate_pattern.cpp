#include "simulator/workload/rate_pattern.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/wording.hpp"
#include "simulator/workload/distribution_text.hpp"

namespace roofcast {

RateStage parse_rate_stage(const std::string& text) {
  const auto parts = split_at_colons(text);
  const bool warm_up = parts.size() == 3 && parts[2] == "warm-up";
  if (parts.size() == 2 || warm_up) {
    const auto rate = number_in_text(parts[0]);
    const auto seconds = number_in_text(parts[1]);
    if (rate && seconds && *rate >= 0 && *seconds > 0) {
      return {.rate = *rate, .duration = Seconds{*seconds}, .warm_up = warm_up};
    }
  }
  throw Error(fmt::format(
      "'{}': expected RATE:SECONDS or RATE:SECONDS:warm-up, as 10:60 for 10 requests a second "
      "for 60 seconds",
      text));
}

DiurnalRate parse_diurnal(const std::string& text) {
  const auto parts = split_at_colons(text);
  if (parts.size() == 2 || parts.size() == 3) {
    const auto low = number_in_text(parts[0]);
    const auto high = number_in_text(parts[1]);
    const auto period = parts.size() == 3 ? number_in_text(parts[2]) : DiurnalRate{}.period.value;
    if (low && high && period) return {.low = *low, .high = *high, .period = Seconds{*period}};
  }
  throw Error(
      fmt::format("'{}': expected LOW:HIGH or LOW:HIGH:PERIOD, as 2:20:86400 for 2 to 20 "
                  "requests a second over 86400 seconds",
                  text));
}

std::string name_of(const RateStage& stage) {
  return fmt::format("{} /s for {}", stage.rate, duration(stage.duration.value));
}

}  // namespace roofcast
