// The program as its own option tables describe it: what shell completion and the manual page are
// made from, so that a new command or flag is in them by itself.
#pragma once

#include <string>
#include <vector>

namespace roofcast {

struct OptionFacts {
  std::string name{};                  // "tensor-parallel-size"
  std::string short_name{};            // "o"; empty: none
  std::vector<std::string> aliases{};  // "--tp", "-tp": what other tools call it
  std::string placeholder{};           // "N", "NAME|FILE", "bash|zsh|fish"; empty: takes no value
  std::string help{};
  std::string group{};          // "Model and GPUs"
  bool needs_value = false;     // false: a switch, or one that may stand alone
  bool several_values = false;  // takes words up to the next flag
  bool listed = true;           // by --help; else by --help-all alone
};

struct CommandFacts {
  std::string name{};  // "memory", "runs import"
  std::string help{};  // one line
  std::string synopsis{}, example{};
  std::vector<OptionFacts> options{};
  std::vector<std::string> positional{};  // names of options, the last for all further words
};

/// All commands in the order of `roofcast --help`, each followed by its own ("runs import").
std::vector<CommandFacts> program_facts();

}  // namespace roofcast
