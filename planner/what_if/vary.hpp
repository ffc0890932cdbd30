// Knobs to vary, as a user writes them: `request_rate=1-8*2`, `gpu=h100,l40s`, `replicas=-1`. Here
// a key is any word and a value any text: what they mean to a scenario is for others to say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace roofcast {

/// What the values look like, for messages.
inline constexpr const char* kKnobForms = "KEY=A,B,C, KEY=LOW-HIGH+STEP or KEY=LOW-HIGH*FACTOR";
inline constexpr const char* kVaryForms =
    "KEY=A,B,C, KEY=LOW-HIGH+STEP, KEY=LOW-HIGH*FACTOR, or against the baseline KEY=+1, -1, +20% "
    "or *2";

/// Values of one knob at most, and combinations of all: beyond that nobody reads the answer.
inline constexpr std::int64_t kMaxValues = 1'000;
inline constexpr std::int64_t kMaxVariants = 10'000;

struct Knob {
  std::string key{};
  std::vector<std::string> values{};  // one at least, no two alike
};

/// Reads what follows `flag`, as "--vary". Values are split at commas outside of brackets and
/// quotes; each is a range or stands for itself. A range of amounts
/// (base/quantity.hpp: 1k, 1Ki) begins at LOW and ends at or before HIGH. Throws UsageError naming
/// flag and text; one of another form is told `forms`, those that the flag takes.
Knob parse_knob(const std::string& text, const std::string& flag, const char* forms = kVaryForms);

/// A value that says how far from the baseline's number.
struct RelativeChange {
  enum class Kind { add, multiply };
  Kind kind = Kind::add;
  double amount = 0;  // multiply: above 0

  bool operator==(const RelativeChange&) const = default;
};

/// "+1", "-1", "+20%", "-5%", "*2"; nothing for any other text.
std::optional<RelativeChange> relative_change(const std::string& value);

double changed(double number, const RelativeChange& change);

/// A number as a text that reads back to it within 12 digits: 0.1 + 0.2 is "0.3".
std::string number_text(double number);

/// One knob at one of its values.
struct Setting {
  std::string key{};
  std::string value{};

  bool operator==(const Setting&) const = default;
};

/// One way to set the knobs. Keys in the order of the knobs.
using Settings = std::vector<Setting>;

/// "tp=2, request_rate=8"
std::string to_text(const Settings& settings);

/// Every combination of values, the last knob's changing fastest. Throws UsageError when there are
/// more than kMaxVariants or a key is named twice.
std::vector<Settings> grid_of(const std::vector<Knob>& knobs);

/// Every value of every knob by itself. Throws UsageError as grid_of.
std::vector<Settings> one_at_a_time(const std::vector<Knob>& knobs);

}  // namespace roofcast
