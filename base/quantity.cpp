#include "base/quantity.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <concepts>
#include <span>
#include <system_error>

#include "base/error.hpp"

namespace roofcast {
namespace {

/// Multiplying or dividing by whole numbers makes 95% and 3ms the nearest doubles.
struct Unit {
  std::string_view name;
  double factor = 1;
  double divisor = 1;
};

constexpr double kKi = 1024;
constexpr double kMi = 1024 * kKi;
constexpr double kGi = 1024 * kMi;
constexpr double kTi = 1024 * kGi;

constexpr Unit kCountUnits[] = {{"", 1},     {"k", 1e3},  {"m", 1e6}, {"g", 1e9}, {"t", 1e12},
                                {"K", kKi},  {"M", kMi},  {"G", kGi}, {"T", kTi}, {"Ki", kKi},
                                {"Mi", kMi}, {"Gi", kGi}, {"Ti", kTi}};

// IEC 80000-13 names with a B; "Gb" is missing on purpose, since it means bits.
constexpr Unit kByteUnits[] = {{"", 1},      {"B", 1},     {"b", 1},     {"k", 1e3},   {"m", 1e6},
                               {"g", 1e9},   {"t", 1e12},  {"kB", 1e3},  {"KB", 1e3},  {"MB", 1e6},
                               {"GB", 1e9},  {"TB", 1e12}, {"kb", 1e3},  {"mb", 1e6},  {"gb", 1e9},
                               {"tb", 1e12}, {"K", kKi},   {"M", kMi},   {"G", kGi},   {"T", kTi},
                               {"Ki", kKi},  {"Mi", kMi},  {"Gi", kGi},  {"Ti", kTi},  {"KiB", kKi},
                               {"MiB", kMi}, {"GiB", kGi}, {"TiB", kTi}, {"kib", kKi}, {"mib", kMi},
                               {"gib", kGi}, {"tib", kTi}};

// Both ways to write the micro sign in UTF-8 (U+00B5, U+03BC).
constexpr Unit kTimeUnits[] = {{"ns", 1, 1e9},
                               {"nanoseconds", 1, 1e9},
                               {"us", 1, 1e6},
                               {"\xC2\xB5s", 1, 1e6},
                               {"\xCE\xBCs", 1, 1e6},
                               {"microseconds", 1, 1e6},
                               {"ms", 1, 1e3},
                               {"milliseconds", 1, 1e3},
                               {"s"},
                               {"sec"},
                               {"secs"},
                               {"second"},
                               {"seconds"},
                               {"m", 60},
                               {"min", 60},
                               {"h", 3600},
                               {"d", 86400}};

constexpr Unit kRateUnits[] = {{""}, {"/s"}, {"/min", 1, 60}, {"/m", 1, 60}, {"/h", 1, 3600}};

[[noreturn]] void refuse(const std::string& text, const std::string& name, std::string_view what,
                         std::string_view examples) {
  throw UsageError(fmt::format("{}: '{}' is not a {} (try {})", name, text, what, examples));
}

[[noreturn]] void refuse_range(const std::string& text, const std::string& name,
                               const std::string& bound) {
  throw UsageError(fmt::format("{}: '{}' must be {}", name, text, bound));
}

/// A number and the unit text after it.
struct Split {
  std::string_view digits;
  std::string_view unit;
  double value = 0;
};

/// Returns nullopt if `text` does not start with a finite decimal number in the range of double.
std::optional<Split> number_and_unit(std::string_view text) {
  const std::size_t digit = text.starts_with('-') ? 1 : 0;
  // from_chars would take "inf" and "nan" too; those are for the caller to allow.
  if (text.size() == digit || text.find_first_of("0123456789.") != digit) return std::nullopt;
  Split result;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, result.value);
  if (parsed.ec != std::errc{}) return std::nullopt;
  const auto length = static_cast<std::size_t>(parsed.ptr - text.data());
  result.digits = text.substr(0, length);
  result.unit = text.substr(length);
  return result;
}

const Unit* find_unit(std::string_view name, std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

/// Value times unit; nullopt if either is not understood.
std::optional<double> with_unit(std::string_view text, std::span<const Unit> units) {
  const auto parts = number_and_unit(text);
  if (!parts) return std::nullopt;
  const Unit* unit = find_unit(parts->unit, units);
  if (unit == nullptr) return std::nullopt;
  const double result = parts->value * unit->factor / unit->divisor;
  return std::isfinite(result) ? std::optional(result) : std::nullopt;
}

bool is_infinite(std::string_view text) {
  return text == "inf" || text == "Inf" || text == "INF" || text == "infinity";
}

/// "25" for 25.0, "0.5" for 0.5.
std::string plain(double value) { return fmt::format("{:g}", value); }

}  // namespace

template <class Number>
std::optional<Number> to_number(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [rest, failed] = std::from_chars(text.data(), end, number);
  if (failed != std::errc{} || rest != end) return std::nullopt;
  if constexpr (std::floating_point<Number>) {
    if (!std::isfinite(number)) return std::nullopt;
  }
  return number;
}

template std::optional<int> to_number(std::string_view text);
template std::optional<std::int64_t> to_number(std::string_view text);
template std::optional<std::uint64_t> to_number(std::string_view text);
template std::optional<double> to_number(std::string_view text);

std::optional<std::int64_t> count_in(std::string_view text) {
  const auto parts = number_and_unit(text);
  if (!parts) return std::nullopt;
  const Unit* unit = find_unit(parts->unit, kCountUnits);
  if (unit == nullptr) return std::nullopt;

  if (const auto integer = to_number<std::int64_t>(parts->digits)) {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(*integer, static_cast<std::int64_t>(unit->factor), &product)) {
      return std::nullopt;
    }
    return product;
  }
  // A product that is whole to within a double's last digits counts as whole: 25.6k is 25,600.
  constexpr double kExactIntegers = 9007199254740992.0;  // 2^53
  const double product = parts->value * unit->factor;
  const double rounded = std::round(product);
  if (!(std::abs(product) <= kExactIntegers)) return std::nullopt;
  if (std::abs(product - rounded) > 1e-12 * std::abs(product)) return std::nullopt;
  return static_cast<std::int64_t>(rounded);
}

std::optional<double> amount_in(std::string_view text) { return with_unit(text, kCountUnits); }

std::optional<double> take_amount(std::string_view& text) {
  const auto parts = number_and_unit(text);
  if (!parts || text.starts_with('-')) return std::nullopt;
  const Unit* unit = nullptr;  // the longest match; the first unit is the empty one
  for (const Unit& known : kCountUnits) {
    if (!parts->unit.starts_with(known.name)) continue;
    if (unit == nullptr || known.name.size() > unit->name.size()) unit = &known;
  }
  const double amount = parts->value * unit->factor;
  if (!std::isfinite(amount)) return std::nullopt;
  text.remove_prefix(parts->digits.size() + unit->name.size());
  return amount;
}

std::int64_t parse_count_by(const CountRule& rule, const std::string& text,
                            const std::string& name) {
  const auto count = count_in(text);
  if (!count) {
    const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
    if (digits) refuse_range(text, name, "less: it is too large");
    refuse(text, name, rule.what, rule.examples);
  }
  if (*count < rule.min) refuse_range(text, name, fmt::format("at least {}", rule.min));
  if (*count > rule.max) refuse_range(text, name, fmt::format("at most {}", rule.max));
  return *count;
}

std::int64_t parse_count(const std::string& text, const std::string& name) {
  return parse_count_by({}, text, name);
}

std::int64_t parse_token_count(const std::string& text, const std::string& name) {
  return parse_count_by({.what = "number of tokens"}, text, name);
}

Bytes parse_bytes(const std::string& text, const std::string& name) {
  const auto bytes = with_unit(text, kByteUnits);
  if (!bytes) refuse(text, name, "size", "80GB, 80GiB, 512MiB");
  if (*bytes < 0) refuse_range(text, name, "at least 0");
  return Bytes{*bytes};
}

std::optional<double> time_unit_in(std::string_view name) {
  const Unit* unit = find_unit(name, kTimeUnits);
  return unit == nullptr ? std::nullopt : std::optional(unit->factor / unit->divisor);
}

std::optional<Seconds> time_in(std::string_view text, BareTime bare) {
  const Unit without[] = {{"", 1, bare == BareTime::milliseconds ? 1e3 : 1}};
  auto time = with_unit(text, kTimeUnits);
  if (!time && bare != BareTime::refused) time = with_unit(text, without);
  return time ? std::optional(Seconds{*time}) : std::nullopt;
}

Seconds parse_time_by(const TimeRule& rule, const std::string& text, const std::string& name) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (rule.allow_infinite && is_infinite(text)) return Seconds{kInfinity};
  const auto time = time_in(text, rule.bare);
  if (!time) {
    refuse(text, name, "time",
           rule.bare == BareTime::milliseconds ? "500, 0.5s, 500ms" : "2, 0.5s, 500ms");
  }
  if (time->value < 0) refuse_range(text, name, "at least 0");
  return *time;
}

Seconds parse_time(const std::string& text, const std::string& name) {
  return parse_time_by({}, text, name);
}

double parse_rate(const std::string& text, const std::string& name) {
  if (is_infinite(text)) return std::numeric_limits<double>::infinity();
  const auto rate = with_unit(text, kRateUnits);
  if (!rate) refuse(text, name, "rate per second", "10, 600/min, inf");
  if (*rate <= 0) refuse_range(text, name, "above 0");
  return *rate;
}

double parse_number_by(const NumberRule& rule, const std::string& text, const std::string& name) {
  constexpr Unit kNone[] = {{""}};
  if (rule.allow_infinite && is_infinite(text)) return std::numeric_limits<double>::infinity();
  const auto number = with_unit(text, kNone);
  if (!number) refuse(text, name, rule.what, rule.examples);
  if (*number < rule.min) refuse_range(text, name, "at least " + plain(rule.min));
  if (*number > rule.max) refuse_range(text, name, "at most " + plain(rule.max));
  return *number;
}

double parse_share(const std::string& text, const std::string& name) {
  constexpr Unit kShareUnits[] = {{""}, {"%", 1, 100}};
  const auto share = with_unit(text, kShareUnits);
  if (!share) refuse(text, name, "share", "0.9, 90%");
  if (*share < 0 || *share > 1) refuse_range(text, name, "between 0 and 1, or 0% and 100%");
  return *share;
}

}  // namespace roofcast
