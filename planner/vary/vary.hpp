// Knobs to vary, as a user writes them: `request_rate=1-8*2`, `gpu=h100,l40s`, `replicas=-1`. Here
// a key is any word and a value any text; other code interprets them for a scenario.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace roofcast {

/// The accepted forms, for messages.
inline constexpr const char* kKnobForms = "KEY=A,B,C, KEY=LOW-HIGH+STEP or KEY=LOW-HIGH*FACTOR";
inline constexpr const char* kVaryForms =
    "KEY=A,B,C, KEY=LOW-HIGH+STEP, KEY=LOW-HIGH*FACTOR, or against the baseline KEY=+1, -1, +20% "
    "or *2";

/// Maximum values per knob, and combinations in all: a longer answer is not readable.
inline constexpr std::int64_t kMaxValues = 1'000;
inline constexpr std::int64_t kMaxVariants = 10'000;

struct Knob {
  std::string key{};
  std::vector<std::string> values{};  // at least one, no duplicates
};

/// Reads the text after `flag` ("--vary"). Values are separated by commas outside brackets and
/// quotes; each is a range or a literal. A range of amounts (base/quantity.hpp: 1k, 1Ki) starts at
/// LOW and ends at or before HIGH. Throws UsageError naming flag and text, with the accepted
/// `forms` if the text has another one.
Knob parse_knob(const std::string& text, const std::string& flag, const char* forms = kVaryForms);

/// The values alone, without a key: the text after `flag`. Throws UsageError as parse_knob does.
std::vector<std::string> parse_values(const std::string& text, const std::string& flag);

/// A value relative to the baseline's number.
struct RelativeChange {
  enum class Kind { add, multiply };
  Kind kind = Kind::add;
  double amount = 0;  // multiply: above 0

  bool operator==(const RelativeChange&) const = default;
};

/// "+1", "-1", "+20%", "-5%", "*2"; nullopt for any other text.
std::optional<RelativeChange> relative_change(const std::string& value);

double changed(double number, const RelativeChange& change);

/// A number as text with 12 significant digits: 0.1 + 0.2 is "0.3".
std::string number_text(double number);

/// One knob with one of its values.
struct Setting {
  std::string key{};
  std::string value{};

  bool operator==(const Setting&) const = default;
};

/// One combination of settings, in the order of the knobs.
using Settings = std::vector<Setting>;

/// "tp=2, request_rate=8"
std::string to_text(const Settings& settings);

/// Every combination of values, the last knob's changing fastest. Throws UsageError for more than
/// kMaxVariants or a duplicate key.
std::vector<Settings> grid_of(const std::vector<Knob>& knobs);

/// Every value of every knob by itself. Throws UsageError as grid_of does.
std::vector<Settings> one_at_a_time(const std::vector<Knob>& knobs);

}  // namespace roofcast
