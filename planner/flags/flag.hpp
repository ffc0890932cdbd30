// A flag as a row of a table: what registers it on a command line, completes it, lists it in the
// manual and sets it in a what-if question are loops over such rows.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace roofcast {

enum class FlagForm {
  value,   // --name VALUE
  on_off,  // --name, --name=off, --no-name
  toggle,  // --name, or not
  list,    // --name VALUE VALUE ...
};

using Aliases = std::vector<std::string_view>;

/// None. A default of {} in the template below ends GCC 12 with an internal error.
inline Aliases no_aliases() { return {}; }

/// A flag that sets something in a Target.
template <class Target>
struct Flag {
  std::string_view name{};         // without its dashes: "request-rate"
  std::string_view placeholder{};  // of a value, in help: "N"
  std::string_view help{};
  /// Puts what `text` says: each value of a list by itself, "true" for a toggle. `flag` is what
  /// messages call it ("--request-rate"). Throws UsageError naming flag, text and what was
  /// expected.
  std::function<void(Target&, const std::string& text, const std::string& flag)> read{};
  FlagForm form = FlagForm::value;
  std::string_view place{};        // in a scenario file, as "workload.request_rate"; empty: nowhere
  Aliases aliases = no_aliases();  // other tools' spellings: "-tp", "--tp"
};

template <class Target>
using Flags = std::vector<Flag<Target>>;

/// A reader that sets a member to what `parse(text, flag)` gives.
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
