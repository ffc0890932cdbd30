// roofcast man: prints the manual page for man(1).
#include <fmt/format.h>

#include <ostream>
#include <span>
#include <string>

#include "base/version.hpp"
#include "cli/options/arguments.hpp"
#include "cli/shell/program_facts.hpp"
#include "roofcast/glossary.hpp"

namespace roofcast {
namespace {

/// Escapes text for roff: backslashes and dashes are commands, as are dots and quotes at the start
/// of a line.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      result += ' ';
    } else {
      result += c;
    }
  }
  if (result.starts_with('.') || result.starts_with('\'')) result.insert(0, "\\&");
  return result;
}

std::string bold(const std::string& text) { return "\\fB" + escaped(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + escaped(text) + "\\fR"; }

void add_line(std::string& page, const std::string& text) { page += text + "\n"; }

/// A quoted macro argument.
std::string argument(const std::string& text) {
  std::string result = "\"";
  for (const char c : escaped(text)) result += c == '"' ? std::string("\\(dq") : std::string(1, c);
  return result + "\"";
}

// ---- options

std::string tag_of(const OptionFacts& option) {
  std::string tag;
  if (!option.short_name.empty()) tag += bold("-" + option.short_name) + ", ";
  tag += bold("--" + option.name);
  if (!option.placeholder.empty()) {
    tag += (option.placeholder.starts_with('[') ? "" : " ") + italic(option.placeholder);
  }
  return tag;
}

bool is_common(const OptionFacts& option) { return option.group == "Output"; }

void add_option(std::string& page, const OptionFacts& option) {
  add_line(page, ".TP");
  add_line(page, tag_of(option));
  add_line(page, escaped(option.help));
}

void add_options(std::string& page, const CommandFacts& command) {
  std::string group;
  for (const OptionFacts& option : command.options) {
    if (is_common(option)) continue;
    if (option.group != group && !option.group.empty()) {
      group = option.group;
      add_line(page, ".PP");
      add_line(page, italic(group));
    }
    add_option(page, option);
  }
}

// ---- sections

void add_head(std::string& page) {
  add_line(page, ".\\\" Made by `roofcast man` from the program's option tables.");
  add_line(page,
           fmt::format(".TH ROOFCAST 1 {} {} {}", fmt::format("\"{}\"", kReleaseDate),
                       argument(fmt::format("roofcast {}", kVersion)), argument("User Commands")));
  add_line(page, ".SH NAME");
  add_line(
      page,
      "roofcast \\- whether a model fits on a GPU, what a token costs, whether the SLO is met");
  add_line(page, ".SH SYNOPSIS");
  add_line(page, bold("roofcast") + " " + italic("COMMAND") + " [" + italic("options") + "]");
  add_line(page, ".br");
  add_line(page, bold("roofcast") + " " + italic("COMMAND") + " " + bold("--help"));
  add_line(page, ".br");
  add_line(page, bold("roofcast") + " " + bold("--version") + " | " + bold("--licenses"));
  add_line(page, ".SH DESCRIPTION");
  add_line(
      page,
      escaped(
          "Roofcast answers questions about serving large language models before you buy or "
          "configure a GPU: the memory of a model on a GPU term by term, time and cost of a token "
          "from the roofline, latencies under a load from a simulation of the serving engine's "
          "scheduler, and the cheapest deployment that meets a service level objective (SLO)."));
  add_line(page, escaped("Every answer states the source of its numbers."));
  add_line(page, escaped("It works offline and needs no GPU."));
  add_line(page, ".PP");
  add_line(page, escaped("Flags are spelled as in vLLM, SGLang and TensorRT-LLM; underscores and "
                         "dashes are equivalent, and --no-x turns a switch x off."));
  add_line(page, escaped("Numbers accept units: 32k tokens, 40GiB, 50ms."));
}

void add_commands(std::string& page, std::span<const CommandFacts> commands) {
  add_line(page, ".SH COMMANDS");
  for (const CommandFacts& command : commands) {
    add_line(page, ".SS " + argument("roofcast " + command.name));
    if (!command.help.empty()) add_line(page, escaped(command.help + "."));
    if (!command.help.empty()) add_line(page, ".PP");
    add_line(page, bold(command.synopsis));
    add_options(page, command);
  }
}

void add_common(std::string& page, const CommandFacts& command) {
  add_line(page, ".SH COMMON OPTIONS");
  add_line(page, "All commands accept:");
  for (const OptionFacts& option : command.options) {
    if (is_common(option)) add_option(page, option);
  }
}

struct Entry {
  const char* tag;
  const char* text;
};

void add_entries(std::string& page, const char* heading, std::span<const Entry> entries) {
  add_line(page, fmt::format(".SH {}", heading));
  for (const Entry& entry : entries) {
    add_line(page, ".TP");
    add_line(page, bold(entry.tag));
    add_line(page, escaped(entry.text));
  }
}

constexpr Entry kExitCodes[] = {
    {"0", "done"},
    {"1", "failure: a file, a store or a device; one line on standard error states the reason"},
    {"2", "usage error: an unknown flag or an invalid value"},
    {"3", "the answer is \"no\": it does not fit, or the SLO is not met"}};

constexpr Entry kFiles[] = {
    {"roofcast.db",
     "the store, in the working directory unless --store is given: a SQLite file of all runs; "
     "store.md in the documentation describes its tables, roofcast runs --sql queries it"},
    {"*.json", "your own scenarios, hardware profiles and engine profiles"}};

void add_glossary(std::string& page) {
  add_line(page, ".SH GLOSSARY");
  for (const GlossaryTerm& term : glossary()) {
    add_line(page, ".TP");
    add_line(page, bold(term.term));
    add_line(page, escaped(term.meaning));
    add_line(page, escaped("See: " + term.where));
  }
}

void add_examples(std::string& page, std::span<const CommandFacts> commands) {
  add_line(page, ".SH EXAMPLES");
  add_line(page, ".EX");
  for (const CommandFacts& command : commands) add_line(page, escaped(command.example));
  add_line(page, ".EE");
}

std::string manual_page(std::span<const CommandFacts> commands) {
  std::string page;
  add_head(page);
  add_commands(page, commands);
  if (!commands.empty()) add_common(page, commands.front());
  add_entries(page, "EXIT STATUS", kExitCodes);
  add_entries(page, "FILES", kFiles);
  add_glossary(page);
  add_examples(page, commands);
  add_line(page, ".SH SEE ALSO");
  add_line(page, ".BR sqlite3 (1)");
  return page;
}

}  // namespace

int run_man(CommandContext& context) {
  const Usage usage{.synopsis = "roofcast man",
                    .example = "roofcast man | man -l -",
                    .options = option_group(""),
                    .unlisted = {},
                    .positional = {}};
  if (!parse(context, usage)) return kExitDone;
  context.out << manual_page(program_facts());
  return kExitDone;
}

}  // namespace roofcast
