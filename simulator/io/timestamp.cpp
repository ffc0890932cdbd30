#include "simulator/io/timestamp.hpp"

#include <charconv>

#include "base/dates.hpp"

namespace roofcast {
namespace {

constexpr double kMaxSeconds = 7e9;
Nanoseconds length_of(TraceTimeUnit unit) {
  switch (unit) {
    case TraceTimeUnit::seconds:
      break;
    case TraceTimeUnit::milliseconds:
      return 1'000'000;
    case TraceTimeUnit::microseconds:
      return 1'000;
    case TraceTimeUnit::nanoseconds:
      return 1;
  }
  return kSecond;
}

}  // namespace

std::optional<Nanoseconds> parse_date_time(std::string_view text) { return parse_instant(text); }

std::optional<Nanoseconds> parse_duration(std::string_view text, TraceTimeUnit unit) {
  const Nanoseconds unit_length = length_of(unit);
  const double unit_seconds = to_seconds(unit_length).value;
  double approximate = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, approximate);
  approximate *= unit_seconds;
  const bool in_range = approximate >= 0 && approximate <= kMaxSeconds;  // also false for NaN
  if (error != std::errc{} || rest != end || !in_range) return std::nullopt;
  std::int64_t whole = 0;
  const auto [after_whole, whole_error] = std::from_chars(text.data(), end, whole);
  std::string_view left(after_whole, static_cast<std::size_t>(end - after_whole));
  const auto billionths = take_fraction(left);  // of the unit
  if (whole_error != std::errc{} || !billionths || !left.empty()) {
    return to_nanoseconds(Seconds{approximate});
  }
  const Nanoseconds per_billion = kSecond / unit_length;
  return whole * unit_length + (*billionths + per_billion / 2) / per_billion;
}

std::optional<Nanoseconds> parse_seconds(std::string_view text) {
  return parse_duration(text, TraceTimeUnit::seconds);
}

}  // namespace roofcast
