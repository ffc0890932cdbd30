// Numbers as people type them: 80GB, 16k, 500ms, 90%, inf. The whole text must be a number with at
// most one unit. Independent of the locale.
//
// Counts and bytes share their prefixes with vLLM (vllm/engine/arg_utils.py, human_readable_int):
// small letters are decimal (16k is 16,000), capital letters alone and with "i" binary (16K and
// 16Ki are 16,384). With a "B" the usual meaning holds: 80GB is 80e9 bytes, 80GiB is 80 x 2^30.
//
// Functions named *_in return nullopt if the text is something else. Those named parse_* throw
// UsageError "NAME: 'TEXT' is not a WHAT (try EXAMPLES)" or "NAME: 'TEXT' must be BOUND", where
// NAME is the caller's flag or key.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.hpp"

namespace roofcast {

/// Parses the whole text as a finite decimal number in the range of Number: no blanks, no '+', no
/// unit. For int, std::int64_t, std::uint64_t and double.
template <class Number>
std::optional<Number> to_number(std::string_view text);

// ---- counts

/// 8192, 16k, 25.6k, 1e6, 16Ki, -3. The product must be whole: "1.2k" is 1200, "1.2345" is refused.
std::optional<std::int64_t> count_in(std::string_view text);

/// The same but may have a fraction, for averages: 1.5, 0.5k.
std::optional<double> amount_in(std::string_view text);

/// Removes an unsigned amount from the front of `text`. Returns nullopt and leaves `text` unchanged
/// if it does not start with one.
std::optional<double> take_amount(std::string_view& text);

/// The counts that a flag accepts.
struct CountRule {
  std::string what = "whole number";  // "number of tokens", for messages
  std::string examples = "8192, 16k";
  std::int64_t min = 0;
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
};

std::int64_t parse_count_by(const CountRule& rule, const std::string& text,
                            const std::string& name);

/// Any count from 0; any number of tokens from 0.
std::int64_t parse_count(const std::string& text, const std::string& name);
std::int64_t parse_token_count(const std::string& text, const std::string& name);

// ---- bytes

inline constexpr double kMiB = kGiB / 1024;

/// 80GB, 80GiB, 80G, 512MiB, a bare number of bytes. Not negative.
Bytes parse_bytes(const std::string& text, const std::string& name);

// ---- times

/// Seconds per unit: ns, us, ms, s, m or min, h, d, and words such as "seconds".
std::optional<double> time_unit_in(std::string_view name);

/// The unit of a number without one.
enum class BareTime { refused, seconds, milliseconds };

/// 500ms, 0.5s, 2us, 3m or 3min, 1h, 2d; may be negative.
std::optional<Seconds> time_in(std::string_view text, BareTime bare);

/// The times that a flag accepts; never negative.
struct TimeRule {
  BareTime bare = BareTime::seconds;
  bool allow_infinite = false;
};

/// The same, with inf if the rule allows it.
Seconds parse_time_by(const TimeRule& rule, const std::string& text, const std::string& name);

/// A finite time; a bare number is in seconds.
Seconds parse_time(const std::string& text, const std::string& name);

// ---- rates, numbers, shares

/// Per second: 10, 10/s, 600/min, 3600/h, inf. Must be above zero.
double parse_rate(const std::string& text, const std::string& name);

/// The plain numbers that a flag accepts.
struct NumberRule {
  std::string what = "number";
  std::string examples = "0.5, 2";
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool allow_infinite = false;
};

/// 1.5, -2, 1e3, and inf if the rule allows it.
double parse_number_by(const NumberRule& rule, const std::string& text, const std::string& name);

/// A share between 0 and 1: 0.9 or 90%.
double parse_share(const std::string& text, const std::string& name);

}  // namespace roofcast
