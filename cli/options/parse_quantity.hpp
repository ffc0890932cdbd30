// Numbers as people type them after a flag: 80GB, 16k, 500ms, 90%, inf. The whole text must be a
// number with at most one unit; no locale is asked. Every function throws UsageError that names the
// flag, the text and what was expected.
//
// Counts and bytes share their prefixes with vLLM: small letters are decimal (16k is 16,000),
// capital letters alone and with "i" binary (16K and 16Ki are 16,384). With a "B" the usual meaning
// holds: 80GB is 80e9 bytes, 80GiB is 80 x 2^30.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "base/units.hpp"

namespace roofcast {

/// What a flag takes when it counts something.
struct CountRule {
  std::string what = "whole number";  // "number of tokens", for messages
  std::string examples = "8192, 16k";
  std::int64_t min = 0;
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
};

/// 8192, 16k, 25.6k, 1e6, 16Ki. "1.2k" is 1200; "1.2345" is no whole number and refused.
std::int64_t parse_count_by(const CountRule& rule, const std::string& text,
                            const std::string& flag);

/// Any count from 0; any number of tokens from 0.
std::int64_t parse_count(const std::string& text, const std::string& flag);
std::int64_t parse_token_count(const std::string& text, const std::string& flag);

/// 80GB, 80GiB, 80G, 512MiB, a bare number of bytes. Not negative.
Bytes parse_bytes(const std::string& text, const std::string& flag);

enum class TimeUnit { seconds, milliseconds };

/// What a flag takes when it is a time; never negative.
struct TimeRule {
  TimeUnit bare = TimeUnit::seconds;  // of a number without a unit
  bool allow_infinite = false;
};

/// 500ms, 0.5s, 2us, 3m or 3min, 1h, 2d, inf where allowed.
Seconds parse_time_by(const TimeRule& rule, const std::string& text, const std::string& flag);

/// The same, a bare number in seconds, finite.
Seconds parse_time(const std::string& text, const std::string& flag);

/// Per second: 10, 10/s, 600/min, 3600/h, inf. Above zero.
double parse_rate(const std::string& text, const std::string& flag);

/// What a flag takes when it is a plain number or a share.
struct NumberRule {
  std::string what = "number";
  std::string examples = "0.5, 2";
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool allow_infinite = false;
};

/// 1.5, -2, 1e3, inf where allowed.
double parse_number_by(const NumberRule& rule, const std::string& text, const std::string& flag);

/// A share between 0 and 1: 0.9 or 90%.
double parse_share(const std::string& text, const std::string& flag);

}  // namespace roofcast
