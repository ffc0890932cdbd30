#include "cli/shell/completion_words.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "base/text.hpp"
#include "cli/shell/option_values.hpp"
#include "model/engines/engine.hpp"
#include "model/io/gpu_reader.hpp"
#include "model/io/model_reader.hpp"
#include "planner/flags/scenario_flags.hpp"
#include "planner/vary/vary_scenario.hpp"

namespace roofcast {
namespace {

// ---- values of options

void add(Offers& offers, const std::string& word, const std::string& prefix,
         const std::string& help = "") {
  if (word.starts_with(prefix)) offers.words.push_back({.word = word, .help = help});
}

/// Names; if none has the prefix, other spellings ("meta-llama/Llama-3.1-8B").
void add_models(Offers& offers, const std::string& prefix) {
  const std::vector<CatalogueEntry> models = catalogue();
  for (const CatalogueEntry& model : models) add(offers, model.name, prefix);
  if (!offers.words.empty()) return;
  for (const CatalogueEntry& model : models) {
    for (const std::string& alias : model.aliases) add(offers, alias, prefix, model.name);
  }
}

/// As typed: "h100-sxm" for "H100 SXM".
std::string as_word(std::string name) {
  std::replace(name.begin(), name.end(), ' ', '-');
  return lower(name);
}

/// The shortest name of each profile; if none has the prefix, full names and other spellings.
void add_gpus(Offers& offers, const std::string& prefix) {
  std::vector<Offer> longer;
  for (const std::string& name : gpu_names()) {
    const Gpu gpu = load_gpu(name).gpu;
    const std::string first = gpu.aliases.empty() ? name : as_word(gpu.aliases.front());
    add(offers, first, prefix, name);
    longer.push_back({.word = name, .help = ""});
    for (const std::string& alias : gpu.aliases) {
      longer.push_back({.word = as_word(alias), .help = name});
    }
  }
  if (!offers.words.empty()) return;
  for (const Offer& one : longer) add(offers, one.word, prefix, one.help);
}

void add_engines(Offers& offers, const std::string& prefix) {
  for (const EnginePreset& preset : engine_presets())
    add(offers, preset.name, prefix, preset.summary);
}

/// Keys of --vary: the flags of simulate as keys, each with the "=" that follows.
void add_knobs(Offers& offers, const std::string& prefix) {
  if (prefix.find('=') != std::string::npos) return;
  std::vector<std::string> names = scenario_flag_names();
  names.insert(names.end(), kJointKeys.begin(), kJointKeys.end());
  for (std::string& name : names) {
    std::ranges::replace(name, '-', '_');
    add(offers, name + "=", prefix);
  }
}

/// The values in a placeholder like "bash|zsh|fish": lower-case words.
std::vector<std::string> words_of(const std::string& placeholder) {
  const auto is_word = [](unsigned char c) { return std::islower(c) != 0 || c == '|' || c == '-'; };
  const bool words = placeholder.find('|') != std::string::npos &&
                     std::all_of(placeholder.begin(), placeholder.end(), is_word);
  std::vector<std::string> result;
  for (std::size_t at = 0; words && at <= placeholder.size();) {
    const std::size_t end = std::min(placeholder.find('|', at), placeholder.size());
    result.push_back(placeholder.substr(at, end - at));
    at = end + 1;
  }
  return result;
}

/// Not "LINE|@FILE": there a file name starts with "@", which no shell completes.
bool names_files(const std::string& placeholder) {
  if (placeholder.find('@') != std::string::npos) return false;
  for (const char* word : {"FILE", "PATH", "FOLDER", "DIR"}) {
    if (placeholder.find(word) != std::string::npos) return true;
  }
  return false;
}

Offers values_of(const OptionFacts& option, const std::string& prefix) {
  Offers offers{.words = {}, .files = names_files(option.placeholder)};
  if (option.name == "model") add_models(offers, prefix);
  if (option.name == "gpu") add_gpus(offers, prefix);
  if (option.name == "engine") add_engines(offers, prefix);
  if (option.name == "what") {  // an argument of `report`
    add(offers, "ledger", prefix, "all validations of the store");
    add_gpus(offers, prefix);
  }
  if (option.name == "vary") add_knobs(offers, prefix);
  for (const std::string& value : option_values(option.name)) add(offers, value, prefix);
  for (const std::string& word : words_of(option.placeholder)) add(offers, word, prefix);
  if (option.name == "engine") offers.files = true;  // an engine profile
  return offers;
}

/// Values for the last element of a list ("h100,h2"), prefixed with `before`.
Offers values_behind(const OptionFacts& option, const std::string& before,
                     const std::string& value) {
  const std::size_t comma = value.rfind(',');
  const std::size_t start = comma == std::string::npos ? 0 : comma + 1;
  Offers offers = values_of(option, value.substr(start));
  for (Offer& offer : offers.words) offer.word = before + value.substr(0, start) + offer.word;
  return offers;
}

// ---- cursor position

const OptionFacts* option_named(const CommandFacts& command, const std::string& flag) {
  for (const OptionFacts& option : command.options) {
    const bool is_short = !option.short_name.empty() && flag == "-" + option.short_name;
    const bool is_alias =
        std::find(option.aliases.begin(), option.aliases.end(), flag) != option.aliases.end();
    if (flag == "--" + option.name || is_short || is_alias) return &option;
  }
  return nullptr;
}

bool is_positional(const CommandFacts& command, const OptionFacts& option) {
  const auto& names = command.positional;
  return std::find(names.begin(), names.end(), option.name) != names.end();
}

/// Our own spellings; if none has the prefix, those of other tools ("--tp").
Offers flags_of(const CommandFacts& command, const std::string& prefix) {
  Offers offers, aliases;
  for (const OptionFacts& option : command.options) {
    if (is_positional(command, option)) continue;
    add(offers, "--" + option.name, prefix, option.help);
    for (const std::string& alias : option.aliases) add(aliases, alias, prefix, option.help);
  }
  return offers.words.empty() ? aliases : offers;
}

struct Place {
  const OptionFacts* option = nullptr;  // whose value comes next; null: a positional word
  bool required = false;                // only a value is allowed
  std::size_t words = 0;                // positional words before the cursor
};

Place place_after(const CommandFacts& command, std::span<const std::string> before) {
  Place place;
  for (const std::string& word : before) {
    if (word.starts_with("-") && word.size() > 1) {
      const bool has_value = word.find('=') != std::string::npos;
      place.option = has_value ? nullptr : option_named(command, word);
      if (place.option != nullptr && !place.option->needs_value) place.option = nullptr;
      place.required = place.option != nullptr;
    } else if (place.option != nullptr) {
      if (!place.option->several_values) place.option = nullptr;
      place.required = false;
    } else {
      ++place.words;
    }
  }
  return place;
}

Offers offers_in(const CommandFacts& command, std::span<const std::string> words) {
  const std::string& current = words.back();
  const Place place = place_after(command, words.first(words.size() - 1));
  const std::size_t equals = current.find('=');
  if (current.starts_with("--") && equals != std::string::npos) {
    const OptionFacts* option = option_named(command, current.substr(0, equals));
    if (option == nullptr || option->placeholder.empty()) return {};
    return values_behind(*option, current.substr(0, equals + 1), current.substr(equals + 1));
  }
  if (current.starts_with("-") && !place.required) return flags_of(command, current);
  if (place.option != nullptr) return values_behind(*place.option, "", current);
  if (place.words < command.positional.size()) {
    const OptionFacts* option = option_named(command, "--" + command.positional[place.words]);
    if (option != nullptr) return values_of(*option, current);
  }
  return flags_of(command, current);
}

/// "import" for "runs import" if the cursor is on the second word.
void add_subcommands(Offers& offers, std::span<const CommandFacts> commands,
                     const std::vector<std::string>& words) {
  if (words.size() != 2) return;
  for (const CommandFacts& command : commands) {
    if (!command.name.starts_with(words[0] + " ")) continue;
    const std::string name = command.name.substr(words[0].size() + 1);
    const auto is_it = [&](const Offer& offer) { return offer.word == name; };
    if (std::ranges::none_of(offers.words, is_it)) add(offers, name, words[1]);
  }
}

const CommandFacts* command_named(std::span<const CommandFacts> commands, const std::string& name) {
  const auto found = std::find_if(commands.begin(), commands.end(),
                                  [&](const CommandFacts& one) { return one.name == name; });
  return found == commands.end() ? nullptr : &*found;
}

}  // namespace

Offers offers(std::span<const CommandFacts> commands, const std::vector<std::string>& words) {
  Offers result;
  if (words.empty()) return result;
  if (words.size() == 1) {
    for (const CommandFacts& command : commands) {
      const bool own = command.name.find(' ') == std::string::npos;
      if (own) add(result, command.name, words[0], command.help);
    }
    if (words[0].starts_with("-")) {
      add(result, "--help", words[0]);
      add(result, "--version", words[0]);
      add(result, "--licenses", words[0]);
    }
    return result;
  }
  const std::span<const std::string> all(words);
  if (words.size() > 2) {
    const CommandFacts* sub = command_named(commands, words[0] + " " + words[1]);
    if (sub != nullptr) return offers_in(*sub, all.subspan(2));
  }
  const CommandFacts* command = command_named(commands, words[0]);
  if (command == nullptr) return result;
  result = offers_in(*command, all.subspan(1));
  add_subcommands(result, commands, words);
  return result;
}

}  // namespace roofcast
