// Command-line parsing: engine spellings of flags (underscores, -tp, --no-...), one parser with
// suggestions for unknown options, and help that fits a screen.
#pragma once

#include <boost/program_options.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "planner/flags/flag_values.hpp"
#include "reports/document.hpp"

namespace roofcast {

namespace po = boost::program_options;

/// Options of every command: --output and --help.
struct CommonOptions {
  OutputFormat output = OutputFormat::table;
};

/// Options under a heading, in lines of at most 100 characters.
po::options_description option_group(const std::string& heading);

/// A command's description for help and parsing.
struct Usage {
  std::string synopsis;  // "roofcast memory --model M --gpu G [options]"
  std::string example;   // a line that runs
  po::options_description options;
  po::options_description unlisted;  // only listed by --help-all
  po::positional_options_description positional;
  std::string more{};                      // one line that --help-all adds
  std::vector<std::string> subcommands{};  // first words with a usage of their own
};

/// Converts spellings of other tools: `--max_num_seqs` to `--max-num-seqs`, `-tp 2` and `--tp 2` to
/// `--tensor-parallel-size 2`, `--isl` to `--input-len`, and `--no-x` to `--x=false` if `options`
/// has a switch x but not no-x; throws UsageError if x takes a value. A switch takes the next
/// argument as its value only if that is one (true, off ...): `--enforce-eager s.json` becomes
/// `--enforce-eager=true s.json`. A single word that is not a file counts as a value too, to be
/// refused, unless the command `takes_words` as arguments.
std::vector<std::string> normalise(const std::vector<std::string>& arguments,
                                   const po::options_description& options, bool takes_words = true);

/// Parses and notifies. Returns nullopt after printing --help or --help-all, or passing the
/// description to context.describe. Throws UsageError for an unknown option, suggesting the
/// nearest.
std::optional<CommonOptions> parse(CommandContext& context, const Usage& usage);

/// An option that sets `target` to `convert(text, flag)`.
template <class Target, class Convert>
po::typed_value<std::string>* converted(Target& target, const std::string& flag, Convert convert) {
  return po::value<std::string>()->notifier(
      [&target, flag, convert](const std::string& text) { target = convert(text, flag); });
}

}  // namespace roofcast
