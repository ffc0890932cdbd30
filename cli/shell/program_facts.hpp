// The program as described by its own option tables. Shell completion and the manual page are
// generated from it, so that they include new commands and flags automatically.
#pragma once

#include <string>
#include <vector>

namespace roofcast {

struct OptionFacts {
  std::string name{};                  // "tensor-parallel-size"
  std::string short_name{};            // "o"; empty: none
  std::vector<std::string> aliases{};  // "--tp", "-tp": spellings of other tools
  std::string placeholder{};           // "N", "NAME|FILE", "bash|zsh|fish"; empty: takes no value
  std::string help{};
  std::string group{};          // "Model and GPUs"
  bool needs_value = false;     // false: a switch, or an option with an optional value
  bool several_values = false;  // takes all words up to the next flag
  bool listed = true;           // by --help; else only by --help-all
};

struct CommandFacts {
  std::string name{};  // "memory", "runs import"
  std::string help{};  // one line
  std::string synopsis{}, example{};
  std::vector<OptionFacts> options{};
  std::vector<std::string> positional{};  // names of options; the last stands for all further words
};

/// All commands in the order of `roofcast --help`, each followed by its subcommands ("runs
/// import").
std::vector<CommandFacts> program_facts();

}  // namespace roofcast
