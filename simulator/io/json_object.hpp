// Typed reading of one JSON object whose keys are all known: every error names file and key and
// says what was expected.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace roofcast {

/// `most` of an integer without an upper bound.
inline constexpr std::int64_t kAnyInteger = std::numeric_limits<std::int64_t>::max();

class JsonObject {
 public:
  /// `where` names the file, `path` the object inside it ("" for the whole). Throws Error when
  /// `json` is not an object, or has a key that is not in `keys` (with the nearest that is).
  JsonObject(const nlohmann::json& json, std::string where, std::string path,
             std::span<const char* const> keys);

  std::optional<std::string> text(const char* key) const;
  std::optional<bool> boolean(const char* key) const;
  std::optional<std::int64_t> integer(const char* key, std::int64_t min, std::int64_t max) const;
  std::optional<std::uint64_t> unsigned_integer(const char* key) const;
  /// A finite number above `above`.
  std::optional<double> number(const char* key, double above) const;
  /// A number from 0 to 1.
  std::optional<double> fraction(const char* key) const;
  /// A positive number, or the text "inf".
  std::optional<double> number_or_infinity(const char* key) const;
  std::optional<JsonObject> object(const char* key, std::span<const char* const> keys) const;
  std::vector<JsonObject> objects(const char* key, std::span<const char* const> keys) const;

  /// The value of a key whose form the caller decides; null when absent.
  const nlohmann::json* find(const char* key) const;

  /// Throws the Error for a key: "FILE: path.key is VALUE, expected EXPECTED", or is missing.
  [[noreturn]] void fail(const char* key, const std::string& expected) const;
  /// Throws the Error for a key that must be there and is not.
  [[noreturn]] void fail_missing(const char* key, const std::string& expected) const;

 private:
  std::string path_of(const char* key) const;

  const nlohmann::json* json_;
  std::string where_;
  std::string path_;
};

}  // namespace roofcast
