// A flag as a row of a table. Loops over such rows register it on a command line, complete it, list
// it in the manual and set it in a what-if question.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace roofcast {

enum class FlagForm {
  value,     // --name VALUE
  on_off,    // --name, --name=off, --no-name
  toggle,    // --name, or not
  list,      // --name VALUE VALUE ...
  repeated,  // --name VALUE --name VALUE
};

using Aliases = std::vector<std::string_view>;

/// No aliases. A default of {} in the template below is an internal compiler error in GCC 12.
inline Aliases no_aliases() { return {}; }

/// A flag that sets something in a Target.
template <class Target>
struct Flag {
  std::string_view name{};         // without its dashes: "request-rate"
  std::string_view placeholder{};  // of the value, in help: "N"
  std::string_view help{};
  /// Sets the target from `text`: called once per value of a list, with "true" for a toggle. `flag`
  /// is its name in messages ("--request-rate"). Throws UsageError naming flag, text and what was
  /// expected.
  std::function<void(Target&, const std::string& text, const std::string& flag)> read{};
  FlagForm form = FlagForm::value;
  std::string_view place{};        // in a scenario file: "workload.request_rate"; empty: none
  Aliases aliases = no_aliases();  // other tools' spellings: "-tp", "--tp"
  bool required = false;           // the question makes no sense without it
};

template <class Target>
using Flags = std::vector<Flag<Target>>;

/// The flag with that name; null if there is none.
template <class Target>
const Flag<Target>* find_flag(const Flags<Target>& flags, std::string_view name) {
  const auto found = std::ranges::find(flags, name, &Flag<Target>::name);
  return found == flags.end() ? nullptr : &*found;
}

/// Appends flags of a part of Whole as flags of the whole. `part` is a member pointer, or a
/// function from Whole& to Part&.
template <class Whole, class Part, class PartOf>
void append(Flags<Whole>& all, const Flags<Part>& flags, PartOf part) {
  for (const Flag<Part>& flag : flags) {
    all.push_back(
        {.name = flag.name,
         .placeholder = flag.placeholder,
         .help = flag.help,
         .read = [read = flag.read, part](
                     Whole& whole, const std::string& text,
                     const std::string& name) { read(std::invoke(part, whole), text, name); },
         .form = flag.form,
         .place = flag.place,
         .aliases = flag.aliases,
         .required = flag.required});
  }
}

/// A reader that sets a member to `parse(text, flag)`.
template <class Target, class Member, class Parse>
auto into(Member Target::*member, Parse parse) {
  return [member, parse](Target& target, const std::string& text, const std::string& flag) {
    target.*member = parse(text, flag);
  };
}

/// A reader that adds the text to a list.
template <class Target>
auto added_to(std::vector<std::string> Target::*member) {
  return [member](Target& target, const std::string& text, const std::string&) {
    (target.*member).push_back(text);
  };
}

/// A reader that sets a member to `value`, whatever the text.
template <class Target, class Member>
auto set_to(Member Target::*member, bool value) {
  return [member, value](Target& target, const std::string&, const std::string&) {
    target.*member = value;
  };
}

}  // namespace roofcast
