// Matches module names against a quantisation list: exact names, names of parents or parts, shell
// wildcards, and regular expressions marked "re:".
#pragma once

#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace roofcast {

/// A module name without the prefixes before "layers.": "model.language_model.layers.3.mlp" becomes
/// "layers.3.mlp". Names of other parts (vision towers, draft layers) are unchanged.
std::string_view without_model_prefix(std::string_view module);

/// Shell matching of the whole text, with * and ? only.
bool glob_matches(std::string_view pattern, std::string_view text);

/// The longest text that whatever matches the regular expression contains; may be empty.
/// "mlp." of ".*mlp\\.(gate|up)_proj.*".
std::string literal_in(std::string_view expression);

/// Whether `expression` matches every name that contains `literal`, its literal_in(), from the
/// name's start: ".*self_attn.*".
bool matches_wherever(std::string_view expression, std::string_view literal);

/// Whether a wildcard or a regular expression (as text) that matches a name may fail to match the
/// name with another number in it: it has a digit, or something that stands for one letter, an
/// edge or a count. Letters, alternatives and what stands for any text (* or .*) do not.
bool may_tell_numbers_apart(std::string_view glob);
bool expression_may_tell_numbers_apart(std::string_view expression);

class ModulePatterns {
 public:
  bool empty() const;

  /// Throws Error for a regular expression that is too long or invalid; `where` names the list.
  void add(const std::string& pattern, const std::string& where);

  /// `module` is a name without prefixes ("layers.3.self_attn.q_proj", "lm_head"). A pattern that
  /// names a parent matches its children; one that is part of a name ("gate") matches modules with
  /// that component.
  bool matches(const std::string& module) const;

  /// Whether some pattern may tell one layer from another: false only if a module matches in all
  /// layers or in none.
  bool tell_layers_apart() const { return tell_layers_apart_; }

 private:
  /// A regular expression, which is slow: `literal` is a text that every match contains, so that
  /// names without it need no search.
  struct Expression {
    std::string literal{};
    std::regex regex{};
    bool is_literal = false;       // whatever contains `literal` matches
    bool takes_any_start = false;  // what it matches, it matches after anything else, too
  };

  void add_expression(const std::string& expression, const std::string& where);

  std::set<std::string, std::less<>> names_;  // start with "layers."
  std::vector<std::string> parts_;            // ".self_attn.", compared with ".NAME."
  std::vector<std::string> globs_;
  std::vector<Expression> expressions_;
  bool tell_layers_apart_ = false;
};

}  // namespace roofcast
