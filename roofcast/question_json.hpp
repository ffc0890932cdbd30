// Questions as JSON objects: {"model": "llama-3.1-8b", "tp": 2} to a struct, by its table of flags.
// A key is the name of a flag or an alias of it, with '_' or '-'. A list is as many values of a
// flag that takes several, and the values with commas between of one that takes a text: {"gpu":
// ["h100", "l40s"]} is {"gpu": "h100,l40s"}.
//
// All functions throw UsageError naming the key as `max_model_len` is spelled in JSON.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "base/text.hpp"
#include "planner/flags/flag.hpp"
#include "reports/document.hpp"

namespace roofcast {

/// A value as text, under the name of its flag; empty for a toggle.
struct NamedText {
  std::string_view flag{};
  std::string text{};
};

/// Bounds on values, where not everything that a flag reads is allowed.
struct ValueRules {
  std::size_t max_size = std::numeric_limits<std::size_t>::max();    // letters of a value
  std::size_t max_values = std::numeric_limits<std::size_t>::max();  // of a list
  /// Called with the key and each value; throws UsageError for what is not allowed.
  void (*check)(const std::string& key, const std::string& text) = nullptr;
};

/// "max_model_len" for "max-model-len".
std::string key_of(std::string_view flag);

namespace question_json_detail {

void check_object(const Json& body);
/// The keys of the object, in its order.
std::vector<std::string> keys_in(const Json& body);
const Json& value_in(const Json& body, const std::string& key);
/// false: the key is there and says no.
bool is_on(const std::string& key, const Json& value);
/// The texts of a value: one, or several of a list if the flag takes several.
std::vector<std::string> texts_of(const std::string& key, const Json& value, bool is_list,
                                  const ValueRules& rules);
[[noreturn]] void throw_unknown(const std::string& key, const std::vector<std::string>& names);
[[noreturn]] void throw_twice(std::string_view flag);
[[noreturn]] void throw_missing(std::string_view flag);

template <class Target>
const Flag<Target>& flag_named(const Flags<Target>& flags, const std::string& key) {
  const std::string name = with_dashes(key);
  // A name before an alias: plan has a --price of its own, elsewhere that is --prices.
  const auto named = std::ranges::find(flags, name, &Flag<Target>::name);
  if (named != flags.end()) return *named;
  const auto also_named = std::ranges::find_if(flags, [&](const Flag<Target>& flag) {
    return std::ranges::find(flag.aliases, "--" + name) != flag.aliases.end();
  });
  if (also_named != flags.end()) return *also_named;
  std::vector<std::string> names;
  for (const Flag<Target>& flag : flags) names.emplace_back(flag.name);
  throw_unknown(key, names);
}

template <class Target>
void read_value(Target& target, const Flag<Target>& flag, const Json& value,
                const ValueRules& rules, std::vector<NamedText>& given) {
  const std::string key = key_of(flag.name);
  if (flag.form == FlagForm::toggle) {
    if (!is_on(key, value)) return;
    flag.read(target, "true", key);
    given.push_back({flag.name});
    return;
  }
  const bool is_list = flag.form == FlagForm::list || flag.form == FlagForm::repeated;
  for (std::string& text : texts_of(key, value, is_list, rules)) {
    flag.read(target, text, key);
    given.push_back({flag.name, std::move(text)});
  }
}

}  // namespace question_json_detail

/// Sets `target` from the keys of `body`; returns what was given, in its order.
template <class Target>
std::vector<NamedText> read_question(Target& target, const Flags<Target>& flags, const Json& body,
                                     const ValueRules& rules = {}) {
  using namespace question_json_detail;
  check_object(body);
  std::vector<NamedText> given;
  std::set<std::string_view> names;
  for (const std::string& key : keys_in(body)) {
    const Flag<Target>& flag = flag_named(flags, key);
    if (!names.insert(flag.name).second) throw_twice(flag.name);
    read_value(target, flag, value_in(body, key), rules, given);
  }
  for (const Flag<Target>& flag : flags) {
    if (flag.required && !names.contains(flag.name)) throw_missing(flag.name);
  }
  return given;
}

/// Keys and flags of a message as JSON spells them: "`max_num_seqs`" and "--max-num-seqs" become
/// "max_num_seqs". Command lines ("roofcast runs --store FILE") stay.
std::string with_json_keys(const std::string& message);

/// The document as tables and lines of text, its keys and flags spelled likewise.
std::string text_with_json_keys(Document document);

// ---- tables of flags as JSON Schemas

/// A flag without the target that it sets: what help, signatures and schemas list.
struct Argument {
  std::string_view name{};  // of the flag, without dashes
  std::string_view placeholder{};
  std::string_view help{};
  FlagForm form = FlagForm::value;
  Aliases aliases = no_aliases();
  bool required = false;
};

/// Aliases that are other flags' names are left out.
template <class Target>
std::vector<Argument> arguments_of(const Flags<Target>& flags) {
  std::vector<Argument> arguments;
  const auto is_name = [&](std::string_view alias) {
    return alias.starts_with("--") &&
           std::ranges::find(flags, alias.substr(2), &Flag<Target>::name) != flags.end();
  };
  for (const Flag<Target>& flag : flags) {
    Aliases aliases = flag.aliases;
    std::erase_if(aliases, is_name);
    arguments.push_back({.name = flag.name,
                         .placeholder = flag.placeholder,
                         .help = flag.help,
                         .form = flag.form,
                         .aliases = std::move(aliases),
                         .required = flag.required});
  }
  return arguments;
}

/// Whether several values may be given, as a list: of a flag that is repeated or takes several
/// words, and of one whose value has commas between ("N,...").
bool takes_list(const Argument& argument);

/// JSON Schema (draft 2020-12) of the objects that read_question() takes with those flags, under
/// the flags' own names; aliases are named in the descriptions.
Json arguments_schema(const std::vector<Argument>& arguments);

}  // namespace roofcast
