// Reads one object of a JSON document key by key: typed values within limits, and errors that name
// the file, the key, the value and what was expected. Each kind of document has a dialect: whether
// null counts as absent, whether numbers may be strings, and how errors are worded.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace roofcast {

/// The strings are fmt formats with the named arguments in braces.
struct JsonDialect {
  const char* place = "{where}: {path}{key} ";  // precedes the reason
  const char* refusal = "is {value}, expected {expected}";
  const char* missing = "is missing, expected {expected}";
  std::size_t max_shown = 40;    // characters of a value quoted in an error
  bool shows_structure = false;  // print lists and objects in errors; otherwise only their kind
  char quote = '"';              // around strings quoted in an error
  bool null_is_absent = true;
  bool numbers_in_texts = false;  // "2", "inf"; a NaN, as Python's JSON has, counts as absent
};

/// How benchmark tools write their results.
inline constexpr JsonDialect kLenientJson{.quote = '\'', .numbers_in_texts = true};

/// A number written as text: "2", "1e-3", "inf", "Infinity", "NaN". Returns nullopt for anything
/// else.
std::optional<double> number_in(std::string_view text);

/// The same for a JSON number or string.
std::optional<double> number_in(const nlohmann::json& value);

inline constexpr std::int64_t kAnyInteger = std::numeric_limits<std::int64_t>::max();

/// Refers to a value and a dialect that must outlive it. Getters of optional keys return nullopt if
/// the key is absent and throw Error if the value has the wrong type.
class JsonReader {
 public:
  /// `where` names the document in errors; `path` is the object inside it, "" or ending in a dot as
  /// in "pools[0].". Precondition: `object` is an object.
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
  /// A whole number from 0 to 2^53, the range in which doubles are exact; may be written 2.0.
  std::optional<std::int64_t> count(std::string_view key) const;
  /// A number; infinite only in dialects that read numbers from strings.
  std::optional<double> number(std::string_view key) const;
  std::optional<bool> flag(std::string_view key) const;
  std::optional<std::string> text(std::string_view key) const;
  std::optional<JsonReader> object(std::string_view key) const;
  /// The same; an empty object if absent.
  JsonReader part(std::string_view key) const;
  /// Lists. An element of another type is an error.
  std::vector<JsonReader> objects(std::string_view key) const;  // empty if absent
  std::optional<std::vector<double>> numbers(std::string_view key) const;
  /// Null when absent.
  const nlohmann::json* list(std::string_view key, std::string_view expected = "a list") const;

  /// `value`, found at `key` or inside it, as a whole number. Throws Error if it is not one.
  std::int64_t integer_at(std::string_view key, const nlohmann::json& value, std::int64_t min,
                          std::int64_t max) const;

  /// Throws Error at a key that is not in `known`: "KEY" and `complaint`, with the nearest known
  /// key.
  void check_keys(const std::vector<std::string>& known, std::string_view complaint) const;

  /// Throws Error: the key's place and `reason`.
  [[noreturn]] void fail(std::string_view key, std::string_view reason) const;
  /// Throws Error: the key's place, and that it is missing or is not `expected`.
  [[noreturn]] void refuse(std::string_view key, std::string_view expected) const;
  /// Throws Error: the key's place, and that it is missing, even if an unusable value is present.
  [[noreturn]] void fail_missing(std::string_view key, std::string_view expected) const;
  /// Like refuse() above, for `value`, which is at `key` or inside it.
  [[noreturn]] void refuse(std::string_view key, const nlohmann::json& value,
                           std::string_view expected) const;

  /// A value as errors show it: short and on one line, whatever bytes it holds.
  std::string shown_value(const nlohmann::json& value) const;

 private:
  std::string path_of(std::string_view key) const;

  const nlohmann::json* object_;
  std::string where_;
  std::string path_;
  const JsonDialect* dialect_;
};

}  // namespace roofcast
