// A table of flags (planner/flags) as options of a command.
#pragma once

#include <string>
#include <vector>

#include "cli/options/arguments.hpp"
#include "planner/flags/flag.hpp"

namespace roofcast {

/// Boost's value semantics for a flag. `target` must outlive the parse.
template <class Target>
po::value_semantic* value_of(const Flag<Target>& flag, Target& target) {
  const auto read = [&flag, &target](const std::string& text) {
    flag.read(target, text, "--" + std::string(flag.name));
  };
  if (flag.form == FlagForm::toggle) {
    return po::bool_switch()->notifier([read](bool on) {
      if (on) read("true");
    });
  }
  const std::string placeholder(flag.placeholder);
  if (flag.form == FlagForm::list) {
    return po::value<std::vector<std::string>>()
        ->multitoken()
        ->value_name(placeholder)
        ->notifier([read](const std::vector<std::string>& texts) {
          for (const std::string& text : texts) read(text);
        });
  }
  if (flag.form == FlagForm::repeated) {
    return po::value<std::vector<std::string>>()
        ->composing()
        ->value_name(placeholder)
        ->notifier([read](const std::vector<std::string>& texts) {
          for (const std::string& text : texts) read(text);
        });
  }
  auto* value = po::value<std::string>()->value_name(placeholder)->notifier(read);
  if (flag.required) value->required();
  return flag.form == FlagForm::on_off ? value->implicit_value("true", "") : value;
}

/// Adds `flags`. Both `flags` and `target` must outlive the parse.
template <class Target>
void add_flags(po::options_description& options, const Flags<Target>& flags, Target& target) {
  for (const Flag<Target>& flag : flags) {
    options.add_options()(std::string(flag.name).c_str(), value_of(flag, target),
                          std::string(flag.help).c_str());
  }
}

/// The same under a separate heading.
template <class Target>
po::options_description flag_options(const std::string& heading, const Flags<Target>& flags,
                                     Target& target) {
  po::options_description options = option_group(heading);
  add_flags(options, flags, target);
  return options;
}

}  // namespace roofcast
