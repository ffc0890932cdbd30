#include "base/numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <string_view>

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

/// `digits`, a number without separators, times `factor`, with as many significant digits.
std::string scaled(const std::string& digits, double factor) {
  if (factor == 1) return digits;
  const std::size_t first = digits.find_first_not_of("-0.");
  const auto places =
      first == std::string::npos
          ? 1
          : std::count_if(digits.begin() + static_cast<std::ptrdiff_t>(first), digits.end(),
                          [](char c) { return c >= '0' && c <= '9'; });
  double value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const double product = value * factor;
  // Numbers of bytes are whole, and scientific notation would not help.
  const double size = std::abs(product);
  if (size >= 1000 && size < 1e15) return fmt::format("{:.0f}", product);
  return fmt::format("{:.{}g}", product, places);
}

/// A unit as it is printed, and its factor to that of its kind.
struct PrintedUnit {
  const char* printed = "";  // "ms"; empty: none
  const char* base = "";
  double factor = 1;
};

/// `value` units.
Printed in_unit(double value, int decimals, const PrintedUnit& unit) {
  Printed figure{fixed(value, decimals), "", unit.base};
  if (std::isfinite(value)) {
    std::string digits = figure.text;
    std::erase(digits, ',');
    figure.number = scaled(digits, unit.factor);
  }
  if (unit.printed[0] != '\0') figure.text += fmt::format(" {}", unit.printed);
  return figure;
}

constexpr double kKibi = 1024;
constexpr PrintedUnit kMib{"MiB", "B", kMiB};
constexpr PrintedUnit kTib{"TiB", "B", kKibi* kGiB};

/// A long time in two units, the smaller with two digits: "3 min 05 s".
Printed two_units(double time_s, const PrintedUnit& big, const PrintedUnit& small) {
  const auto smalls = std::llround(time_s / small.factor);
  const auto ratio = std::llround(big.factor / small.factor);
  return {fmt::format("{} {} {:02} {}", with_separators(smalls / ratio), big.printed,
                      smalls % ratio, small.printed),
          fmt::format("{:.0f}", static_cast<double>(smalls) * small.factor), "s"};
}

constexpr PrintedUnit kInSeconds{"s", "s", 1};
constexpr PrintedUnit kInMinutes{"min", "s", kMinute};
constexpr PrintedUnit kInHours{"h", "s", kHour};
constexpr PrintedUnit kInDays{"d", "s", kDay};

Printed positive_time(double time_s) {
  if (time_s == 0) return in_unit(0, 0, kInSeconds);
  if (shows_below(time_s * 1e9, 0, 1000)) return in_unit(time_s * 1e9, 0, {"ns", "s", 1e-9});
  if (shows_below(time_s * 1e6, 1, 1000)) return in_unit(time_s * 1e6, 1, {"us", "s", 1e-6});
  if (shows_below(time_s * 1e3, 1, 1000)) return in_unit(time_s * 1e3, 1, {"ms", "s", 1e-3});
  if (shows_below(time_s, 2, 100)) return in_unit(time_s, 2, kInSeconds);
  if (shows_below(time_s, 1, 2 * kMinute)) return in_unit(time_s, 1, kInSeconds);
  if (shows_below(time_s, 0, kHour)) return two_units(time_s, kInMinutes, kInSeconds);
  if (shows_below(time_s / kMinute, 0, kDay / kMinute))
    return two_units(time_s, kInHours, kInMinutes);
  return two_units(time_s, kInDays, kInHours);
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

namespace printed {

Printed count(std::int64_t count) { return {with_separators(count), std::to_string(count)}; }

Printed fixed(double value, int decimals) { return in_unit(value, decimals, {}); }

Printed gib(Bytes bytes) { return in_unit(bytes.value / kGiB, 2, {"GiB", "B", kGiB}); }

Printed bytes(Bytes bytes) {
  const double size = std::abs(bytes.value);
  if (shows_below(size, 0, kMiB)) return in_unit(bytes.value, 0, {"B", "B", 1});
  if (shows_below(size / kMiB, 2, 1024)) return in_unit(bytes.value / kMiB, 2, kMib);
  if (shows_below(size / kGiB, 2, 1024)) return gib(bytes);
  return in_unit(bytes.value / kTib.factor, 2, kTib);
}

Printed time(Seconds time) {
  if (std::isinf(time.value)) return time.value < 0 ? "-inf" : "inf";
  Printed figure = positive_time(std::abs(time.value));
  if (!(time.value < 0)) return figure;
  figure.text.insert(0, "-");
  figure.number.insert(0, "-");
  return figure;
}

Printed percent(double share, int decimals) { return in_unit(share * 100, decimals, {"%", "%"}); }

Printed probability(double probability) {
  constexpr double kNearly = 0.999;
  if (probability > kNearly) return {"over 99.9 %", "99.9", "%", "over"};
  if (probability < 1 - kNearly) return {"under 0.1 %", "0.1", "%", "under"};
  return percent(probability);
}

Printed rate(FlopsPerSecond rate) {
  constexpr PrintedUnit kGiga{"GFLOP/s", "FLOP/s", 1e9};
  constexpr PrintedUnit kTera{"TFLOP/s", "FLOP/s", 1e12};
  const PrintedUnit& unit = shows_below(rate.value / kGiga.factor, 1, 1000) ? kGiga : kTera;
  return in_unit(rate.value / unit.factor, 1, unit);
}

Printed rate(BytesPerSecond rate) {
  if (shows_below(rate.value / 1e6, 1, 1000)) {
    return in_unit(rate.value / 1e6, 1, {"MB/s", "B/s", 1e6});
  }
  if (shows_below(rate.value / 1e9, 1, 1000)) {
    return in_unit(rate.value / 1e9, 1, {"GB/s", "B/s", 1e9});
  }
  return in_unit(rate.value / 1e12, 2, {"TB/s", "B/s", 1e12});
}

Printed parameters(std::int64_t count) {
  constexpr std::array<PrintedUnit, 2> kScales{{{"M", "", 1e6}, {"B", "", 1e9}}};
  const auto size = static_cast<double>(count);
  if (shows_below(size, 0, 1e6)) return printed::count(count);
  for (const PrintedUnit& unit : kScales) {
    if (shows_below(size / unit.factor, 2, 1000)) return in_unit(size / unit.factor, 2, unit);
  }
  return in_unit(size / 1e12, 2, {"T", "", 1e12});
}

}  // namespace printed

std::string as_gib(Bytes bytes) { return printed::gib(bytes).text; }
std::string as_bytes(Bytes bytes) { return printed::bytes(bytes).text; }
std::string as_time(Seconds time) { return printed::time(time).text; }
std::string as_percent(double share, int decimals) {
  return printed::percent(share, decimals).text;
}
std::string as_probability(double probability) { return printed::probability(probability).text; }
std::string as_rate(FlopsPerSecond rate) { return printed::rate(rate).text; }
std::string as_rate(BytesPerSecond rate) { return printed::rate(rate).text; }

}  // namespace roofcast
