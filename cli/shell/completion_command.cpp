// roofcast completion SHELL: prints the script that completes roofcast in a shell. At every key the
// script runs `roofcast completion words -- WORD...`, which prints one "word<TAB>help" per line,
// and ":files" where file names are allowed.
#include <ostream>

#include "base/error.hpp"
#include "cli/options/arguments.hpp"
#include "cli/shell/completion_words.hpp"
#include "cli/shell/program_facts.hpp"
#include "embedded_completion.hpp"

namespace roofcast {
namespace {

/// One line: help texts of options may be wider than a terminal.
std::string first_words(const std::string& help) {
  constexpr std::size_t kWidest = 60;
  if (help.size() <= kWidest) return help;
  return help.substr(0, help.rfind(' ', kWidest)) + " ...";
}

/// The words are incomplete user input: there is always an answer, possibly an empty one.
int answer_shell(const CommandContext& context) {
  std::vector<std::string> words(context.arguments.begin() + 1, context.arguments.end());
  if (!words.empty() && words.front() == "--") words.erase(words.begin());
  const Offers found = offers(program_facts(), words);
  for (const Offer& offer : found.words) {
    context.out << offer.word << "\t" << first_words(offer.help) << "\n";
  }
  if (found.files) context.out << ":files\n";
  return kExitDone;
}

}  // namespace

int run_completion(CommandContext& context) {
  if (!context.arguments.empty() && context.arguments.front() == "words") {
    return answer_shell(context);
  }
  std::string shell;
  Usage usage{
      .synopsis = "roofcast completion bash|zsh|fish",
      .example = "roofcast completion bash > ~/.local/share/bash-completion/completions/roofcast",
      .options = option_group("Options"),
      .unlisted = {},
      .positional = {}};
  usage.options.add_options()("shell", po::value(&shell)->value_name("bash|zsh|fish"),
                              "for zsh as _roofcast in a folder of $fpath, for fish as "
                              "~/.config/fish/completions/roofcast.fish");
  usage.positional.add("shell", 1);
  if (!parse(context, usage)) return kExitDone;
  for (const EmbeddedFile& script : embedded_completion()) {
    if (script.name != shell) continue;
    context.out << script.text;
    return kExitDone;
  }
  throw UsageError("completion: '" + shell + "' is not bash, zsh or fish");
}

}  // namespace roofcast
