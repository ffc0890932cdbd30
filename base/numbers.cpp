#include "base/numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/quantity.hpp"

namespace roofcast {
namespace {

constexpr double kMinute = 60;
constexpr double kHour = 60 * kMinute;
constexpr double kDay = 24 * kHour;

/// "1234567" to "1,234,567"; `digits` must contain only digits.
std::string separated(const std::string& digits) {
  std::string result;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) result += ',';
    result += digits[i];
  }
  return result;
}

std::string with_sign(bool negative, const std::string& magnitude) {
  return fmt::format("{}{}", negative ? "-" : "", magnitude);
}

/// Whether `value` prints as less than `limit` with `decimals` decimals: 999.96 does not with one.
bool shows_below(double value, int decimals, double limit) {
  const double scale = std::pow(10.0, decimals);
  return std::round(value * scale) < limit * scale;
}

/// A long time in two units, the smaller with two digits: "3 min 05 s".
std::string two_units(double time_s, double big_s, double small_s, const char* big,
                      const char* small) {
  const auto smalls = std::llround(time_s / small_s);
  const auto ratio = std::llround(big_s / small_s);
  return fmt::format("{} {} {:02} {}", with_separators(smalls / ratio), big, smalls % ratio, small);
}

std::string positive_time(double time_s) {
  if (time_s == 0) return "0 s";
  if (shows_below(time_s * 1e9, 0, 1000)) return fixed(time_s * 1e9, 0) + " ns";
  if (shows_below(time_s * 1e6, 1, 1000)) return fixed(time_s * 1e6, 1) + " us";
  if (shows_below(time_s * 1e3, 1, 1000)) return fixed(time_s * 1e3, 1) + " ms";
  if (shows_below(time_s, 2, 100)) return fixed(time_s, 2) + " s";
  if (shows_below(time_s, 1, 2 * kMinute)) return fixed(time_s, 1) + " s";
  if (shows_below(time_s, 0, kHour)) return two_units(time_s, kMinute, 1, "min", "s");
  if (shows_below(time_s / kMinute, 0, kDay / kMinute)) {
    return two_units(time_s, kHour, kMinute, "h", "min");
  }
  return two_units(time_s, kDay, kHour, "d", "h");
}

}  // namespace

std::string with_separators(std::int64_t count) {
  const std::string text = std::to_string(count);
  return with_sign(count < 0, separated(count < 0 ? text.substr(1) : text));
}

std::string fixed(double value, int decimals) {
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{:.{}f}", std::abs(value), decimals);
  const auto whole = text.find('.');
  const std::string fraction = whole == std::string::npos ? "" : text.substr(whole);
  text = separated(text.substr(0, whole)) + fraction;
  const bool shows_zero = text.find_first_not_of("0.") == std::string::npos;
  return with_sign(value < 0 && !shows_zero, text);
}

std::string as_gib(Bytes bytes) { return fixed(bytes.value / kGiB, 2) + " GiB"; }

std::string as_bytes(Bytes bytes) {
  const double size = std::abs(bytes.value);
  if (shows_below(size, 0, kMiB)) return fixed(bytes.value, 0) + " B";
  if (shows_below(size / kMiB, 2, 1024)) return fixed(bytes.value / kMiB, 2) + " MiB";
  if (shows_below(size / kGiB, 2, 1024)) return as_gib(bytes);
  return fixed(bytes.value / (1024 * kGiB), 2) + " TiB";
}

std::string as_time(Seconds time) {
  if (std::isinf(time.value)) return time.value < 0 ? "-inf" : "inf";
  return with_sign(time.value < 0, positive_time(std::abs(time.value)));
}

std::string as_time_range(Seconds low, Seconds high, Seconds like) {
  struct Unit {
    std::string_view name;
    double seconds;
    int decimals;
  };
  constexpr std::array<Unit, 4> kUnits = {
      {{"ns", 1e-9, 0}, {"us", 1e-6, 1}, {"ms", 1e-3, 1}, {"s", 1, 2}}};
  const std::string text = as_time(like);
  const auto* unit =
      std::ranges::find(kUnits, std::string_view(text).substr(text.rfind(' ') + 1), &Unit::name);
  if (unit == kUnits.end() || std::ranges::count(text, ' ') > 1) {
    return as_time(low) + "-" + as_time(high);
  }
  return fixed(low.value / unit->seconds, unit->decimals) + "-" +
         fixed(high.value / unit->seconds, unit->decimals);
}

std::string as_percent(double share, int decimals) { return fixed(share * 100, decimals) + " %"; }

std::string as_probability(double probability) {
  constexpr double kNearly = 0.999;
  if (probability > kNearly) return "over 99.9 %";
  if (probability < 1 - kNearly) return "under 0.1 %";
  return as_percent(probability);
}

std::string as_rate(FlopsPerSecond rate) {
  if (shows_below(rate.value / 1e9, 1, 1000)) return fixed(rate.value / 1e9, 1) + " GFLOP/s";
  return fixed(rate.value / 1e12, 1) + " TFLOP/s";
}

std::string as_rate(BytesPerSecond rate) {
  if (shows_below(rate.value / 1e6, 1, 1000)) return fixed(rate.value / 1e6, 1) + " MB/s";
  if (shows_below(rate.value / 1e9, 1, 1000)) return fixed(rate.value / 1e9, 1) + " GB/s";
  return fixed(rate.value / 1e12, 2) + " TB/s";
}

std::string as_parameters(std::int64_t count) {
  constexpr std::array<std::pair<double, const char*>, 2> kScales{{{1e6, " M"}, {1e9, " B"}}};
  const auto size = static_cast<double>(count);
  if (shows_below(size, 0, 1e6)) return with_separators(count);
  for (const auto& [scale, unit] : kScales) {
    if (shows_below(size / scale, 2, 1000)) return fixed(size / scale, 2) + unit;
  }
  return fixed(size / 1e12, 2) + " T";
}

}  // namespace roofcast
