#include "cli/options/arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <ostream>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/suggest.hpp"
#include "base/text.hpp"
#include "planner/flags/scenario_flags.hpp"
#include "planner/scenario/prices.hpp"
#include "roofcast/search_flags.hpp"

namespace roofcast {
namespace {

/// Dashes for underscores, and the option's name for an alias of one that the command has; not of
/// an option of its own (--price of plan is not --prices).
std::string normalise_name(std::string name, const po::options_description& options) {
  if (name.starts_with("--")) {
    name = with_dashes(std::move(name));
    if (options.find_nothrow(name.substr(2), false) != nullptr) return name;
  }
  std::string_view ours = flag_with_alias(name);
  for (const auto& flag : plan_flags()) {
    const bool is_alias = std::ranges::find(flag.aliases, name) != flag.aliases.end();
    if (is_alias && options.find_nothrow(std::string(flag.name), false) != nullptr)
      ours = flag.name;
  }
  return ours.empty() ? name : "--" + std::string(ours);
}

/// Checks the `value` of --price, which stands for a --prices without a file. Throws UsageError
/// naming the flag as it was typed; without a "=" the value would be taken for the file's name.
void check_price(const std::string& value) {
  if (value.empty() || value.starts_with('-')) return;  // its value is missing
  const bool is_file = value.find('=') != std::string::npos && !states_prices(value);
  if (!is_file) stated_prices(value, "--price");
}

std::vector<std::string> option_names(const po::options_description& options) {
  std::vector<std::string> names;
  for (const auto& option : options.options()) names.push_back("--" + option->long_name());
  return names;
}

/// "--no-x" for a switch x that has no "off" spelling of its own. Throws UsageError if x takes a
/// value ("false" would be read as one, such as the name of a file) or can only be switched on.
bool is_negation(const std::string& name, const po::options_description& options) {
  if (!name.starts_with("--no-")) return false;
  if (options.find_nothrow(name.substr(2), false) != nullptr) return false;
  const auto* option = options.find_nothrow(name.substr(5), false);
  if (option == nullptr) return false;
  if (option->semantic()->max_tokens() == 0) {
    throw UsageError(fmt::format(
        "unknown option '{}': --{} is off unless it is given; leave it out", name, name.substr(5)));
  }
  if (option->semantic()->min_tokens() == 0) return true;
  throw UsageError(
      fmt::format("unknown option '{}': --{} takes a value, it is not a switch; leave it out", name,
                  name.substr(5)));
}

/// Whether an option may appear without a value.
bool is_switch(const std::string& name, const po::options_description& options) {
  if (!name.starts_with("--")) return false;
  const auto* option = options.find_nothrow(name.substr(2), false);
  return option != nullptr && option->semantic()->min_tokens() == 0 &&
         option->semantic()->max_tokens() == 1;
}

/// "maybe" of "--enforce-eager maybe": a word that can only be meant as the switch's value, since
/// it is not a file, and the command's own arguments are files.
bool is_meant_as_value(const std::string& word) {
  if (word.empty() || word.starts_with('-')) return false;
  const bool plain =
      std::ranges::all_of(word, [](unsigned char c) { return std::isalpha(c) != 0; });
  std::error_code failure;
  return plain && !std::filesystem::exists(word, failure);
}

/// Both name the store: one of them would change nothing.
void refuse_store_and_none(const po::variables_map& values) {
  const auto none = values.find("no-store");
  const auto store = values.find("store");
  if (none == values.end() || store == values.end()) return;
  const bool* off = boost::any_cast<bool>(&none->second.value());
  if (off == nullptr || !*off || store->second.defaulted()) return;
  throw UsageError("--store names a store, and --no-store stores nothing: give one of them");
}

void print_usage(const Usage& usage, const po::options_description& options, std::ostream& out) {
  out << "usage: " << usage.synopsis << "\n\nexample: " << usage.example << "\n" << options;
}

/// Prints a pointer to --help-all.
void print_more(const Usage& usage, const std::string& command, std::ostream& out) {
  if (usage.more.empty()) return;
  out << "\n" << usage.more << ": " << command << " --help-all\n";
}

/// What other programs call it, and what it is here.
struct Elsewhere {
  std::string_view theirs{}, ours{};
};

constexpr std::string_view kDrafts =
    "--speculative-config METHOD:DRAFTS:RATE (such as eagle:3:0.7)";

constexpr Elsewhere kElsewhere[] = {
    {"--num-gpus", "--tensor-parallel-size N (GPUs of a replica), --replicas N"},
    {"--gpus", "--tensor-parallel-size N (GPUs of a replica), --replicas N"},
    {"--gpu-count", "--tensor-parallel-size N (GPUs of a replica), --replicas N"},
    {"--n-gpus", "--tensor-parallel-size N (GPUs of a replica), --replicas N"},
    {"--batch-size", "--batch N, --max-num-seqs N"},
    {"--precision", "--quantization FORMAT, --dtype DTYPE"},
    {"--users", "--max-concurrency N"},
    {"--qps", "--request-rate N"},
    {"--rps", "--request-rate N"},
    {"--speculative", kDrafts},
    {"--speculation", kDrafts},
    {"--speculative-decoding", kDrafts},
    {"--draft-tokens", kDrafts},
};

/// "; here that is --request-rate N" if the command has it.
std::string ours_for(const std::string& option, const po::options_description& options) {
  const auto* const found = std::ranges::find(kElsewhere, option, &Elsewhere::theirs);
  if (found == std::end(kElsewhere)) return "";
  std::vector<std::string> ours;
  for (const std::string_view one : split(found->ours, ',')) {
    const std::string_view flag = trimmed(one);
    const std::string name(flag.substr(2, flag.find(' ') - 2));
    if (options.find_nothrow(name, false) != nullptr) ours.emplace_back(flag);
  }
  return ours.empty() ? "" : "; here it is " + joined(ours, " and ");
}

[[noreturn]] void refuse_unknown(const std::string& option, const po::options_description& options,
                                 const std::string& command) {
  const std::string ours = ours_for(option, options);
  throw UsageError("unknown option '" + option + "'" +
                   (ours.empty() ? did_you_mean(option, option_names(options)) : ours) + " (" +
                   command + " --help lists them)");
}

/// Names the command's flags for a model and a GPU that were typed as bare words, unless it takes
/// words.
[[noreturn]] void refuse_words(const std::vector<std::string>& arguments, const Usage& usage,
                               const po::options_description& options, const std::string& command) {
  const auto end = std::ranges::find_if(
      arguments, [](const std::string& argument) { return argument.starts_with('-'); });
  std::vector<std::string> words;
  if (usage.positional.max_total_count() == 0) words.assign(arguments.begin(), end);
  std::string flags;
  for (std::size_t i = 0; i < words.size(); ++i) {
    constexpr std::array kFlags{"model", "gpu"};
    if (i == kFlags.size() || options.find_nothrow(kFlags[i], false) == nullptr) {
      flags.clear();
      break;
    }
    flags += fmt::format(" --{} {}", kFlags[i], shell_quoted(words[i]));
  }
  throw UsageError(
      fmt::format("too many arguments ({})",
                  flags.empty() ? command + " --help shows its arguments" : "meant" + flags + "?"));
}

/// The library's "the argument ('abc') for option '--id' is invalid" in our words, and by the
/// command for an argument that has no flag as it was typed.
[[noreturn]] void refuse_value(const po::invalid_option_value& error, const Usage& usage,
                               const po::options_description& options, const std::string& command) {
  const std::string option = error.get_option_name();
  const std::string text = error.what();
  const std::size_t start = text.find("('");
  const std::size_t end = text.find("')");
  if (!option.starts_with("--") || start == std::string::npos || end == std::string::npos) throw;
  const auto* description = options.find_nothrow(option.substr(2), false);
  if (description == nullptr) throw;
  const bool named = usage.positional.max_total_count() == 0 ||
                     usage.positional.name_for_position(0) != option.substr(2);
  throw UsageError(
      fmt::format("{}: '{}' is not a valid {}",
                  named ? option : command.substr(std::string_view("roofcast ").size()),
                  text.substr(start + 2, end - start - 2), description->format_parameter()));
}

}  // namespace

po::options_description option_group(const std::string& heading) {
  constexpr unsigned kWidth = 100;
  constexpr unsigned kDescriptionWidth = 60;
  return po::options_description(heading, kWidth, kDescriptionWidth);
}

std::vector<std::string> normalise(const std::vector<std::string>& arguments,
                                   const po::options_description& options, bool takes_words) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (!argument.starts_with("-")) {
      result.push_back(argument);
      continue;
    }
    const auto equals = argument.find('=');
    const std::string name = normalise_name(argument.substr(0, equals), options);
    const std::string value = equals == std::string::npos ? "" : argument.substr(equals);
    if (argument.substr(0, equals) == "--price" && name == "--prices") {
      const bool apart = value.empty() && i + 1 < arguments.size();
      check_price(apart ? arguments[i + 1] : value.substr(value.empty() ? 0 : 1));
    }
    const bool valued =
        i + 1 < arguments.size() && (switch_named(arguments[i + 1]).has_value() ||
                                     (!takes_words && is_meant_as_value(arguments[i + 1])));
    if (is_negation(name, options) && value.empty()) {
      result.push_back("--" + name.substr(5) + "=false");
    } else if (is_switch(name, options) && value.empty() && !valued) {
      result.push_back(name + "=true");
    } else {
      result.push_back(name + value);
    }
  }
  return result;
}

std::optional<CommonOptions> parse(CommandContext& context, const Usage& usage) {
  CommonOptions common;
  po::options_description general = option_group("Output");
  general.add_options()("output,o",
                        converted(common.output, "--output",
                                  [](const std::string& text, const std::string&) {
                                    return parse_output_format(text);
                                  })
                            ->value_name("FORMAT"),
                        "table, json, jsonl, csv or md (default table)")(
      "help,h", "show this help")("help-all", "show every option");
  ColourChoice colour = ColourChoice::automatic;
  po::options_description rare = option_group("Terminal");
  rare.add_options()("color",
                     converted(colour, "--color",
                               [](const std::string& text, const std::string&) {
                                 return parse_colour_choice(text);
                               })
                         ->value_name("WHEN"),
                     "auto, always or never (default auto: on a terminal, unless NO_COLOR is set)");
  if (context.describe) {
    Usage described = usage;
    described.options.add(general).add(rare);
    context.describe(described);
    return std::nullopt;
  }
  po::options_description listed = option_group("");
  listed.add(usage.options).add(general);
  po::options_description all = option_group("");
  all.add(usage.options).add(usage.unlisted).add(general).add(rare);

  const std::vector<std::string> arguments =
      normalise(context.arguments, all, !usage.subcommands.empty());
  po::variables_map values;
  const std::string command = usage.synopsis.substr(0, usage.synopsis.find(' ', 9));
  namespace style = po::command_line_style;
  try {
    po::store(po::command_line_parser(arguments)
                  .options(all)
                  .positional(usage.positional)
                  .style(style::unix_style & ~style::allow_guessing)
                  .run(),
              values);
  } catch (const po::unknown_option& error) {
    refuse_unknown(error.get_option_name(), all, command);
  } catch (const po::invalid_command_line_syntax& error) {
    if (error.kind() != po::invalid_syntax::empty_adjacent_parameter) throw;
    throw UsageError(error.get_option_name() + ": a value is missing after '='");
  } catch (const po::invalid_option_value& error) {
    refuse_value(error, usage, all, command);
  } catch (const po::too_many_positional_options_error&) {
    refuse_words(arguments, usage, all, command);
  }
  if (values.contains("help-all")) {
    print_usage(usage, all, context.out);
    return std::nullopt;
  }
  if (values.contains("help")) {
    print_usage(usage, listed, context.out);
    print_more(usage, command, context.out);
    return std::nullopt;
  }
  refuse_store_and_none(values);
  po::notify(values);
  if (colour != ColourChoice::automatic) {
    context.terminal.colour = colour == ColourChoice::always;
  }
  return common;
}

}  // namespace roofcast
