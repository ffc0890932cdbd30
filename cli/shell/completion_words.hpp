// What a shell offers where the cursor stands.
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
  std::vector<Offer> words{};  // all begin with the word at the cursor
  bool files = false;          // names of files as well
};

/// `words` are those after the program's name up to the cursor's, which comes last and may be empty
/// or half a word ("--gpu=h").
Offers offers(std::span<const CommandFacts> commands, const std::vector<std::string>& words);

}  // namespace roofcast
