// Numbers formatted for people: digits, thousands separators and the unit that fits. Independent of
// the locale, so the same on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/units.hpp"

namespace roofcast {

std::string with_separators(std::int64_t count);  // 1,234,567

/// 12.35, with separators in the whole part; never "-0.00"; infinity is "inf".
std::string fixed(double value, int decimals);

std::string as_gib(Bytes bytes);    // "15.27 GiB"
std::string as_bytes(Bytes bytes);  // best fit: "131,072 B", "12.50 MiB", "2.46 GiB", "1.10 TiB"
std::string as_time(Seconds time);  // "4.2 us", "31.7 ms", "1.24 s", "3 min 05 s", "1 h 02 min"
std::string as_time_range(Seconds low, Seconds high,
                          Seconds like);  // in the unit of `like`, which it leaves out: "39.1-44.0"
std::string as_percent(double share, int decimals = 1);  // 0.123 -> "12.3 %"

/// "97.3 %", "over 99.9 %". Never "100 %": the error of a computed probability is larger than the
/// remainder.
std::string as_probability(double probability);

std::string as_rate(FlopsPerSecond rate);  // "989.4 TFLOP/s"
std::string as_rate(BytesPerSecond rate);  // "4.80 TB/s"

/// Text to print in one place; for a number also the same digits for programs, in the base unit of
/// its kind.
struct Printed {
  std::string text{};    // "41.5 ms", "over 99.9 %", "never"
  std::string number{};  // "0.0415", "99.9"; may be in scientific notation; empty: not a number
  std::string unit{};    // "s", "B", "%", "FLOP/s", "B/s"; empty: a count or a ratio
  std::string remark{};  // what else the text says: "over"

  Printed() = default;
  Printed(const char* words) : text(words) {}
  Printed(std::string words) : text(std::move(words)) {}
  Printed(std::string words, std::string digits, std::string of = {}, std::string also = {})
      : text(std::move(words)),
        number(std::move(digits)),
        unit(std::move(of)),
        remark(std::move(also)) {}
};

/// Each prints as the function above of that name.
namespace printed {
Printed count(std::int64_t count);
Printed fixed(double value, int decimals);
Printed gib(Bytes bytes);
Printed bytes(Bytes bytes);
Printed time(Seconds time);
Printed percent(double share, int decimals = 1);
Printed probability(double probability);
Printed rate(FlopsPerSecond rate);
Printed rate(BytesPerSecond rate);
Printed parameters(std::int64_t count);
}  // namespace printed

}  // namespace roofcast
