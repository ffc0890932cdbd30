// Completions for a shell at the cursor.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/shell/program_facts.hpp"

namespace roofcast {

struct Offer {
  std::string word{};
  std::string help{};  // may be empty
};

struct Offers {
  std::vector<Offer> words{};  // all start with the word at the cursor
  bool files = false;          // also file names
};

/// `words` are those after the program's name, ending with the one at the cursor, which may be
/// empty or incomplete ("--gpu=h").
Offers offers(std::span<const CommandFacts> commands, const std::vector<std::string>& words);

}  // namespace roofcast
