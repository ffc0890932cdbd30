#include "model/io/module_patterns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/error.hpp"

namespace roofcast {

namespace {

constexpr std::array<std::string_view, 4> kPrefixes = {"model.", "language_model.", "backbone.",
                                                       "transformer."};
constexpr std::string_view kRegexMark = "re:";
constexpr std::size_t kLongestExpression = 500;

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

/// Without backtracking if the library supports it: a malicious pattern then takes polynomial time.
std::regex compile(const std::string& expression) {
#ifdef __GLIBCXX__
  return std::regex(expression,
                    std::regex_constants::ECMAScript | std::regex_constants::__polynomial);
#else
  return std::regex(expression, std::regex::ECMAScript);
#endif
}

/// Python's re.match: from the start, not necessarily to the end.
bool matches_from_start(const std::string& text, const std::regex& expression) {
  return std::regex_search(text, expression, std::regex_constants::match_continuous);
}

}  // namespace

std::string_view without_model_prefix(std::string_view module) {
  std::string_view rest = module;
  bool stripped = true;
  while (stripped) {
    stripped = false;
    for (const std::string_view prefix : kPrefixes) {
      if (!starts_with(rest, prefix)) continue;
      rest.remove_prefix(prefix.size());
      stripped = true;
    }
  }
  return rest;
}

bool glob_matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;  // last * seen, and where its match ends
  std::size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::string literal_in(std::string_view expression) {
  constexpr std::string_view kRepeats = "*+?{";
  std::string longest;
  std::string run;
  int groups = 0;  // open ones
  bool in_set = false;
  for (std::size_t at = 0; at < expression.size(); ++at) {
    char c = expression[at];
    const bool escaped = c == '\\' && at + 1 < expression.size();
    if (escaped) c = expression[++at];
    const auto letter = static_cast<unsigned char>(c);
    const bool is_itself =
        escaped ? std::ispunct(letter) != 0 : std::isalnum(letter) != 0 || c == '_' || c == '-';
    const bool repeats =
        at + 1 < expression.size() && kRepeats.find(expression[at + 1]) != std::string_view::npos;
    if (is_itself && groups == 0 && !in_set && !repeats) {
      run += c;
      if (run.size() > longest.size()) longest = run;
      continue;
    }
    run.clear();
    if (escaped) continue;
    if (c == '[' || c == ']') in_set = c == '[';
    if (in_set) continue;
    if (c == '|' && groups == 0) return "";  // either of two
    if (c == '(') ++groups;
    if (c == ')') --groups;
  }
  return longest;
}

bool matches_wherever(std::string_view expression, std::string_view literal) {
  constexpr std::string_view kAnything = ".*";
  if (literal.empty() || !expression.starts_with(kAnything)) return false;
  expression.remove_prefix(kAnything.size());
  if (expression.ends_with(kAnything)) expression.remove_suffix(kAnything.size());
  return expression == literal;
}

bool may_tell_numbers_apart(std::string_view glob) {
  return glob.find_first_of("?0123456789") != std::string_view::npos;
}

bool expression_may_tell_numbers_apart(std::string_view expression) {
  for (std::size_t at = 0; at < expression.size(); ++at) {
    const std::string_view two = expression.substr(at, 2);
    if (two == ".*" || two == "\\.") {
      ++at;
      continue;
    }
    const auto letter = static_cast<unsigned char>(expression[at]);
    const bool is_plain = std::isalpha(letter) != 0 ||
                          std::string_view("_-(|)").find(expression[at]) != std::string_view::npos;
    if (!is_plain) return true;
  }
  return false;
}

bool ModulePatterns::empty() const {
  return names_.empty() && parts_.empty() && globs_.empty() && expressions_.empty();
}

void ModulePatterns::add_expression(const std::string& expression, const std::string& where) {
  if (expression.size() > kLongestExpression) {
    throw Error(fmt::format("{}: a regular expression of {} characters is too long (at most {})",
                            where, expression.size(), kLongestExpression));
  }
  try {
    Expression entry{.literal = literal_in(expression), .regex = compile(expression)};
    // No alternative without ".*" (that has no literal), and nothing that asks for a place.
    entry.takes_any_start = expression.starts_with(".*") && !entry.literal.empty() &&
                            expression.find('^') == std::string::npos &&
                            expression.find("\\b") == std::string::npos &&
                            expression.find("\\B") == std::string::npos;
    entry.is_literal = matches_wherever(expression, entry.literal);
    expressions_.push_back(std::move(entry));
    tell_layers_apart_ = tell_layers_apart_ || expression_may_tell_numbers_apart(expression);
  } catch (const std::regex_error&) {
    throw Error(fmt::format("{}: '{}' is not a supported regular expression", where, expression));
  }
}

void ModulePatterns::add(const std::string& pattern, const std::string& where) {
  if (starts_with(pattern, kRegexMark)) {
    add_expression(pattern.substr(kRegexMark.size()), where);
    return;
  }
  const std::string name{without_model_prefix(pattern)};
  if (name.empty()) return;
  // A name of a layer has its number.
  tell_layers_apart_ = tell_layers_apart_ || may_tell_numbers_apart(name);
  if (name.find_first_of("*?") != std::string::npos) {
    globs_.push_back(name);
  } else if (starts_with(name, "layers.")) {
    names_.insert(name);
  } else {
    parts_.push_back("." + name + ".");
  }
}

bool ModulePatterns::matches(const std::string& module) const {
  for (std::string_view name = module; !name.empty();) {
    if (names_.find(name) != names_.end()) return true;
    const std::size_t dot = name.rfind('.');
    name = dot == std::string_view::npos ? std::string_view{} : name.substr(0, dot);
  }
  const std::string dotted = "." + module + ".";
  const auto is_part = [&](const std::string& part) {
    return dotted.find(part) != std::string::npos;
  };
  if (std::any_of(parts_.begin(), parts_.end(), is_part)) return true;
  const auto is_glob = [&](const std::string& glob) {
    return glob_matches(glob, module) || glob_matches(glob + ".*", module);
  };
  if (std::any_of(globs_.begin(), globs_.end(), is_glob)) return true;
  if (expressions_.empty()) return false;
  // The last is what ".*" takes in before the second, too.
  const std::array<std::string, 3> full_names = {
      "model.language_model." + module, "language_model.model." + module, "model." + module};
  return std::ranges::any_of(expressions_, [&](const Expression& expression) {
    const std::ptrdiff_t names = std::ssize(full_names) - (expression.takes_any_start ? 1 : 0);
    return std::any_of(
        full_names.begin(), full_names.begin() + names, [&](const std::string& name) {
          return name.find(expression.literal) != std::string::npos &&
                 (expression.is_literal || matches_from_start(name, expression.regex));
        });
  });
}

}  // namespace roofcast
