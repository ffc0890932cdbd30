#include "simulator/workload/think_time.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/random/uniform_real_distribution.hpp>
#include <cmath>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/quantity.hpp"
#include "base/text.hpp"
#include "simulator/workload/limits.hpp"

namespace roofcast {
namespace {

using PauseKind = ThinkTime::Kind;

constexpr std::array<std::pair<std::string_view, PauseKind>, 5> kKinds{
    {{"fixed", PauseKind::fixed},
     {"uniform", PauseKind::uniform},
     {"exponential", PauseKind::exponential},
     {"normal", PauseKind::normal},
     {"lognormal", PauseKind::lognormal}}};

bool has_spread(PauseKind kind) {
  return kind != PauseKind::fixed && kind != PauseKind::exponential;
}

bool is_sound(const ThinkTime& time) {
  const auto is_pause = [](double seconds) { return seconds >= 0 && seconds <= kLongestThinkTime; };
  if (!is_pause(time.a)) return false;
  if (time.kind == PauseKind::uniform) return is_pause(time.b) && time.a <= time.b;
  if (time.kind == PauseKind::lognormal) return time.a > 0 && time.b >= 0 && time.b <= kMaxSigma;
  return is_pause(time.b);
}

std::optional<ThinkTime> think_time_in(std::string_view text) {
  auto parts = split(text, ':');
  if (parts.size() == 1) parts.insert(parts.begin(), "fixed");
  const auto* const kind = std::find_if(kKinds.begin(), kKinds.end(),
                                        [&](const auto& entry) { return entry.first == parts[0]; });
  if (kind == kKinds.end()) return std::nullopt;
  if (parts.size() != (has_spread(kind->second) ? 3u : 2u)) return std::nullopt;
  ThinkTime time{.kind = kind->second};
  const auto a = time_in(parts[1], BareTime::seconds);
  if (!a) return std::nullopt;
  time.a = a->value;
  if (parts.size() == 3) {
    // For lognormal this is sigma, which has no unit.
    const auto b = time_in(parts[2], BareTime::seconds);
    const auto sigma = to_number<double>(parts[2]);
    if (time.kind == PauseKind::lognormal ? !sigma : !b) return std::nullopt;
    time.b = b->value;
  }
  return is_sound(time) ? std::optional(time) : std::nullopt;
}

}  // namespace

ThinkTime parse_think_time(const std::string& text) {
  if (const auto time = think_time_in(text)) return *time;
  throw Error(fmt::format(
      "think time '{}': expected SECONDS, uniform:LOW:HIGH, exponential:MEAN, normal:MEAN:SD or "
      "lognormal:MEDIAN:SIGMA, with seconds from 0 to {} and SIGMA from 0 to {}",
      text, kLongestThinkTime, kMaxSigma));
}

std::string to_text(const ThinkTime& time) {
  if (time.kind == PauseKind::fixed) return fmt::format("{}", time.a);
  const auto* const kind = std::find_if(
      kKinds.begin(), kKinds.end(), [&](const auto& entry) { return entry.second == time.kind; });
  const std::string text = fmt::format("{}:{}", kind->first, time.a);
  return has_spread(time.kind) ? fmt::format("{}:{}", text, time.b) : text;
}

ThinkTimeSampler::ThinkTimeSampler(const ThinkTime& time, std::uint64_t seed)
    : time_(time), random_(random_stream(seed, "think_times")) {}

Nanoseconds ThinkTimeSampler::draw() {
  return to_nanoseconds(Seconds{std::clamp(draw_seconds(), 0.0, kLongestThinkTime)});
}

double ThinkTimeSampler::draw_seconds() {
  switch (time_.kind) {
    case PauseKind::fixed:
      break;
    case PauseKind::uniform: {
      const double share = boost::random::uniform_real_distribution<double>(0, 1)(random_);
      return time_.a + share * (time_.b - time_.a);
    }
    case PauseKind::exponential:
      return time_.a * exponential_(random_);
    case PauseKind::normal:
      return time_.a + time_.b * standard_(random_);
    case PauseKind::lognormal:
      return time_.a * std::exp(time_.b * standard_(random_));
  }
  return time_.a;
}

}  // namespace roofcast
