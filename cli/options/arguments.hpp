// Command lines as people type them: engine spellings of flags (underscores, -tp, --no-...), one
// parse with suggestions for unknown options, and help that fits a screen.
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

/// What every command has: --output and --help.
struct CommonOptions {
  OutputFormat output = OutputFormat::table;
};

/// Options under a heading, in lines of at most 100 characters.
po::options_description option_group(const std::string& heading);

/// A command's own description of itself.
struct Usage {
  std::string synopsis;  // "roofcast memory --model M --gpu G [options]"
  std::string example;   // a line that runs
  po::options_description options;
  po::options_description unlisted;  // listed by --help-all alone
  po::positional_options_description positional;
  std::string more{};                      // what --help-all adds, in a line
  std::vector<std::string> subcommands{};  // first words that choose a usage of their own
};

/// Spellings of other tools brought to ours: `--max_num_seqs` to `--max-num-seqs`, `-tp 2` and
/// `--tp 2` to `--tensor-parallel-size 2`, `--isl` to `--input-len`, and `--no-x` to `--x=false`
/// where `options` has an x but no no-x. A switch takes the next argument as its value only when
/// that is one (true, off ...): `--enforce-eager s.json` is `--enforce-eager=true s.json`.
std::vector<std::string> normalise(const std::vector<std::string>& arguments,
                                   const po::options_description& options);

/// Parses and notifies. Nothing: --help or --help-all was asked for and printed, or a description
/// and handed over. Throws UsageError with the nearest options for one that is not known.
std::optional<CommonOptions> parse(CommandContext& context, const Usage& usage);

/// An option that sets `target` through `convert(text, flag)`.
template <class Target, class Convert>
po::typed_value<std::string>* converted(Target& target, const std::string& flag, Convert convert) {
  return po::value<std::string>()->notifier(
      [&target, flag, convert](const std::string& text) { target = convert(text, flag); });
}

}  // namespace roofcast
