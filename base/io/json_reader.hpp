// One object of a JSON document, read key by key: typed values within limits, and errors that say
// which file, which key, what is there and what was expected. Each kind of document has a dialect:
// whether null counts as absent, whether numbers may be texts, and how its errors are worded.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace roofcast {

/// The texts are formats of fmt with the named arguments in braces.
struct JsonDialect {
  const char* place = "{where}: {path}{key} ";  // before what is wrong
  const char* refusal = "is {value}, expected {expected}";
  const char* missing = "is missing, expected {expected}";
  std::size_t max_shown = 40;    // characters of a value that an error repeats
  bool shows_structure = false;  // of lists and objects; otherwise only that it is one
  char quote = '"';              // around texts that an error repeats
  bool null_is_absent = true;
  bool numbers_in_texts = false;  // "2", "inf"; a NaN, as in JSON of Python, counts as absent
};

/// As benchmark tools write their results.
inline constexpr JsonDialect kLenientJson{.quote = '\'', .numbers_in_texts = true};

/// A number as texts say it: "2", "1e-3", "inf", "Infinity", "NaN"; nothing for anything else.
std::optional<double> number_in(std::string_view text);

/// The same of a JSON number or text.
std::optional<double> number_in(const nlohmann::json& value);

inline constexpr std::int64_t kAnyInteger = std::numeric_limits<std::int64_t>::max();

/// Refers to a value and a dialect that must outlive it. Getters of what may be absent answer with
/// nothing then, and throw Error where something else is there.
class JsonReader {
 public:
  /// `where` names the document; `path` is the object inside it, "" or ending as in "pools[0].".
  /// Precondition: `object` is an object.
  JsonReader(const nlohmann::json& object, std::string where, const JsonDialect& dialect,
             std::string path = {});

  const nlohmann::json& value() const { return *object_; }
  const std::string& where() const { return where_; }
  const std::string& path() const { return path_; }

  /// Null when absent.
  const nlohmann::json* find(std::string_view key) const;
  bool has(std::string_view key) const { return find(key) != nullptr; }
  /// Throws Error when absent.
  const nlohmann::json& required(std::string_view key, std::string_view expected = {}) const;

  /// A whole number from `min` to `max`.
  std::optional<std::int64_t> integer(std::string_view key, std::int64_t min,
                                      std::int64_t max = kAnyInteger) const;
  /// A whole number from 0 to 2^53, of which doubles hold every one; it may be written 2.0.
  std::optional<std::int64_t> count(std::string_view key) const;
  /// A number; infinite ones only in dialects that read numbers in texts.
  std::optional<double> number(std::string_view key) const;
  std::optional<bool> flag(std::string_view key) const;
  std::optional<std::string> text(std::string_view key) const;
  std::optional<JsonReader> object(std::string_view key) const;
  /// The same, an empty object when absent.
  JsonReader part(std::string_view key) const;
  /// Lists. An element of another kind is an error.
  std::vector<JsonReader> objects(std::string_view key) const;  // none when absent
  std::optional<std::vector<double>> numbers(std::string_view key) const;
  /// Null when absent.
  const nlohmann::json* list(std::string_view key, std::string_view expected = "a list") const;

  /// The whole number that `value`, at `key` or inside it, has to be.
  std::int64_t integer_at(std::string_view key, const nlohmann::json& value, std::int64_t min,
                          std::int64_t max) const;

  /// Throws Error for a key that is not among `known`: "KEY" and `complaint`, with the nearest.
  void check_keys(const std::vector<std::string>& known, std::string_view complaint) const;

  /// Throws Error: the key's place and `reason`.
  [[noreturn]] void fail(std::string_view key, std::string_view reason) const;
  /// Throws Error: the key's place, and that it is missing or is something else than `expected`.
  [[noreturn]] void refuse(std::string_view key, std::string_view expected) const;
  /// Throws Error: the key's place, and that it is missing, though something of no use may be there.
  [[noreturn]] void fail_missing(std::string_view key, std::string_view expected) const;
  /// As refuse(), of `value`, which is at `key` or inside it.
  [[noreturn]] void refuse(std::string_view key, const nlohmann::json& value,
                           std::string_view expected) const;

  /// A value as an error shows it: short, on one line, whatever bytes it holds.
  std::string shown_value(const nlohmann::json& value) const;

 private:
  std::string path_of(std::string_view key) const;

  const nlohmann::json* object_;
  std::string where_;
  std::string path_;
  const JsonDialect* dialect_;
};

}  // namespace roofcast
