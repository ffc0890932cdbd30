#include "cli/shell/program_facts.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "cli/command.hpp"
#include "cli/options/arguments.hpp"
#include "planner/flags/scenario_flags.hpp"

namespace roofcast {
namespace {

/// Headings by option, parsed from Boost's help, which does not expose them: unindented lines are
/// headings, others start with an option ("  -o [ --output ] FORMAT ...").
std::map<std::string, std::string> groups_of(const po::options_description& options) {
  std::ostringstream printed;
  printed << options;
  std::istringstream lines(printed.str());
  std::map<std::string, std::string> groups;
  std::string heading;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    if (line.front() != ' ') {
      heading = line.substr(0, line.rfind(':'));
      continue;
    }
    const std::string first = line.substr(0, line.find_first_not_of(' ') + 1);
    const auto dashes = line.find("--");
    const bool names = first.ends_with('-') && dashes != std::string::npos;
    if (names)
      groups.emplace(line.substr(dashes + 2, line.find(' ', dashes) - dashes - 2), heading);
  }
  return groups;
}

OptionFacts facts_of(const po::option_description& option) {
  const auto semantic = option.semantic();
  // "-o" if the option has a short name, else "--name".
  const std::string shown =
      option.canonical_display_name(po::command_line_style::allow_dash_for_short);
  return {.name = option.long_name(),
          .short_name = shown.size() == 2 ? shown.substr(1) : "",
          .aliases = aliases_of_flag(option.long_name()),
          .placeholder = semantic->max_tokens() == 0 ? "" : semantic->name(),
          .help = option.description(),
          .needs_value = semantic->min_tokens() > 0,
          .several_values = semantic->max_tokens() > 1};
}

void add_options(const po::options_description& options, bool listed,
                 std::vector<OptionFacts>& all) {
  const auto groups = groups_of(options);
  for (const auto& option : options.options()) {
    OptionFacts facts = facts_of(*option);
    const auto group = groups.find(facts.name);
    if (group != groups.end()) facts.group = group->second;
    facts.listed = listed;
    all.push_back(std::move(facts));
  }
}

/// Names of positional arguments: the last one stands for all further ones if unlimited.
std::vector<std::string> positional_of(const po::positional_options_description& positional) {
  constexpr unsigned kEndless = 16;  // more than any command has
  std::vector<std::string> names;
  for (unsigned i = 0; i < std::min(positional.max_total_count(), kEndless); ++i) {
    names.push_back(positional.name_for_position(i));
  }
  return names;
}

CommandFacts facts_of(const std::string& name, const std::string& help, const Usage& usage) {
  CommandFacts facts{.name = name,
                     .help = help,
                     .synopsis = usage.synopsis,
                     .example = usage.example,
                     .options = {},
                     .positional = positional_of(usage.positional)};
  add_options(usage.options, true, facts.options);
  add_options(usage.unlisted, false, facts.options);
  return facts;
}

/// The description that the command passes to parse(), which every command calls first.
std::optional<Usage> usage_of(const Command& command, const std::vector<std::string>& arguments) {
  std::optional<Usage> found;
  std::ostringstream nowhere;
  CommandContext context{arguments, "", nowhere, nowhere};
  context.describe = [&found](const Usage& usage) { found.emplace(usage); };
  command.run(context);
  return found;
}

}  // namespace

std::vector<CommandFacts> program_facts() {
  std::vector<CommandFacts> all;
  for (const Command& command : commands()) {
    const auto usage = usage_of(command, {});
    if (!usage) continue;
    all.push_back(facts_of(command.name, command.help, *usage));
    for (const std::string& name : usage->subcommands) {
      const auto sub = usage_of(command, {name});
      if (sub) all.push_back(facts_of(std::string(command.name) + " " + name, "", *sub));
    }
  }
  return all;
}

}  // namespace roofcast
