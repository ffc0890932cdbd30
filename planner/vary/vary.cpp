#include "planner/vary/vary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/io/shown.hpp"
#include "base/joined.hpp"
#include "base/quantity.hpp"

namespace roofcast {
namespace {

constexpr std::size_t kLongestText = 10'000;  // characters per knob

/// Tolerance at the ends of a range: 0.1-0.3+0.1 has three values.
constexpr double kStepSlack = 1e-9;

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw UsageError(fmt::format("'{}' {}", shown(text), why));
}

struct Range {
  double low = 0;
  double high = 0;
  char operation = '+';  // or '*'
  double step = 0;
};

/// Nullopt if `value` is not a range of numbers.
std::optional<Range> range_in(const std::string& value, const std::string& text) {
  std::string_view rest = value;
  const std::optional<double> low = take_amount(rest);
  if (!low || !rest.starts_with('-')) return std::nullopt;
  rest.remove_prefix(1);
  const std::optional<double> high = take_amount(rest);
  if (!high) return std::nullopt;
  if (rest.empty()) {
    refuse(text,
           fmt::format("has a range without a step, expected for example {0}+1 or {0}*2", value));
  }
  const char operation = rest[0];
  if (operation != '+' && operation != '*') return std::nullopt;
  rest.remove_prefix(1);
  const std::optional<double> step = take_amount(rest);
  if (!step || !rest.empty()) refuse(text, "has a range whose step is not a number");
  return Range{.low = *low, .high = *high, .operation = operation, .step = *step};
}

/// The number of steps; rejects a range that would never end.
double steps_of(const Range& range, const std::string& text) {
  if (range.high < range.low) refuse(text, "has a range that runs backwards");
  if (range.operation == '+') {
    if (range.step <= 0) refuse(text, "has an endless range: its step is 0");
    return std::floor((range.high - range.low) / range.step + kStepSlack);
  }
  if (range.step <= 1) refuse(text, "has an endless range: its factor must be above 1");
  if (range.low <= 0) refuse(text, "has an endless range: it starts at 0");
  return std::floor(std::log(range.high / range.low) / std::log(range.step) + kStepSlack);
}

void refuse_many(const std::string& text) {
  refuse(text, fmt::format("has more than {} values", kMaxValues));
}

void add_range(const Range& range, const std::string& text, std::vector<std::string>& values) {
  const double steps = steps_of(range, text);
  if (!(steps < static_cast<double>(kMaxValues))) refuse_many(text);
  for (int i = 0; i <= static_cast<int>(steps); ++i) {
    const double value =
        range.operation == '+' ? range.low + i * range.step : range.low * std::pow(range.step, i);
    values.push_back(number_text(value));
  }
}

/// Commas within brackets or quotes belong to the value.
std::vector<std::string> split_values(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  bool quoted = false;
  for (const char letter : text) {
    if (letter == '"') quoted = !quoted;
    if (!quoted && (letter == '[' || letter == '{')) ++depth;
    if (!quoted && (letter == ']' || letter == '}')) --depth;
    if (letter == ',' && depth <= 0 && !quoted) {
      parts.emplace_back();
    } else {
      parts.back() += letter;
    }
  }
  return parts;
}

/// "--Max-num_seqs" to "max_num_seqs": a flag's or a scenario key's spelling.
std::string normalised(std::string key) {
  key.erase(0, std::min(key.find_first_not_of('-'), key.size()));
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

void refuse_repetition(const std::vector<std::string>& values, const std::string& text) {
  std::vector<std::string> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) {
    refuse(text, fmt::format("contains the value {} twice", shown(*twice)));
  }
}

void refuse_same_keys(const std::vector<Knob>& knobs) {
  for (std::size_t i = 0; i < knobs.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (knobs[i].key != knobs[j].key) continue;
      throw UsageError(fmt::format("`vary`: {} is given twice; put its values in one list",
                                   shown(knobs[i].key)));
    }
  }
}

void check_count(std::int64_t variants) {
  if (variants <= kMaxVariants) return;
  throw UsageError(fmt::format(
      "`vary`: more than {} combinations; use fewer values, or `one_at_a_time`", kMaxVariants));
}

void check_length(const std::string& text) {
  if (text.size() <= kLongestText) return;
  throw UsageError(
      fmt::format("{} characters given, expected at most {}", text.size(), kLongestText));
}

/// The values in `list`, which is all of `text` or the part after its key.
std::vector<std::string> read_values(const std::string& list, const std::string& text) {
  std::vector<std::string> values;
  for (const std::string& value : split_values(list)) {
    if (value.empty()) refuse(text, "has an empty value");
    if (const auto range = range_in(value, text)) {
      add_range(*range, text, values);
    } else {
      values.push_back(value);
    }
    if (std::ssize(values) > kMaxValues) refuse_many(text);
  }
  refuse_repetition(values, text);
  return values;
}

Knob read_knob(const std::string& text, const char* forms) {
  check_length(text);
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    refuse(text, std::string("is not of the form ") + forms);
  }
  Knob knob{.key = normalised(text.substr(0, equals)), .values = {}};
  if (knob.key.empty()) refuse(text, "has no key");
  knob.values = read_values(text.substr(equals + 1), text);
  return knob;
}

/// Adds `flag` to messages, which name only the text.
template <class Read>
auto naming(const std::string& flag, Read read) {
  try {
    return read();
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", flag, error.what()));
  }
}

}  // namespace

Knob parse_knob(const std::string& text, const std::string& flag, const char* forms) {
  return naming(flag, [&] { return read_knob(text, forms); });
}

std::vector<std::string> parse_values(const std::string& text, const std::string& flag) {
  return naming(flag, [&] {
    check_length(text);
    return read_values(text, text);
  });
}

std::optional<RelativeChange> relative_change(const std::string& value) {
  if (value.size() < 2) return std::nullopt;
  const char sign = value[0];
  if (sign != '+' && sign != '-' && sign != '*') return std::nullopt;
  std::string_view rest = std::string_view(value).substr(1);
  const std::optional<double> number = take_amount(rest);
  if (!number) return std::nullopt;
  const double signed_number = sign == '-' ? -*number : *number;
  using Kind = RelativeChange::Kind;
  if (rest == "%" && sign != '*') {
    const double factor = 1 + signed_number / 100;
    if (factor <= 0) return std::nullopt;
    return RelativeChange{.kind = Kind::multiply, .amount = factor};
  }
  if (!rest.empty()) return std::nullopt;
  if (sign != '*') return RelativeChange{.kind = Kind::add, .amount = signed_number};
  if (*number <= 0) return std::nullopt;
  return RelativeChange{.kind = Kind::multiply, .amount = *number};
}

double changed(double number, const RelativeChange& change) {
  return change.kind == RelativeChange::Kind::add ? number + change.amount : number * change.amount;
}

std::string number_text(double number) { return fmt::format("{:.12g}", number); }

std::string to_text(const Settings& settings) {
  return joined(settings, [](const Setting& setting) { return setting.key + "=" + setting.value; });
}

std::vector<Settings> grid_of(const std::vector<Knob>& knobs) {
  refuse_same_keys(knobs);
  std::vector<Settings> grid(1);
  for (const Knob& knob : knobs) {
    check_count(std::ssize(grid) * std::ssize(knob.values));
    std::vector<Settings> wider;
    for (const Settings& settings : grid) {
      for (const std::string& value : knob.values) {
        wider.push_back(settings);
        wider.back().push_back({knob.key, value});
      }
    }
    grid = std::move(wider);
  }
  return grid;
}

std::vector<Settings> one_at_a_time(const std::vector<Knob>& knobs) {
  refuse_same_keys(knobs);
  std::vector<Settings> all;
  for (const Knob& knob : knobs) {
    for (const std::string& value : knob.values) all.push_back({{knob.key, value}});
    check_count(std::ssize(all));
  }
  return all;
}

}  // namespace roofcast
