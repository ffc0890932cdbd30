// A JSON object of a scenario or manifest with a fixed set of keys. Every error names file and key
// and says what was expected.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/io/json_reader.hpp"

namespace roofcast {

class JsonObject {
 public:
  /// `where` names the file, `path` the object inside it ("" for the root). Throws Error if `json`
  /// is not an object or has a key that is not in `keys` (suggesting the nearest one).
  JsonObject(const nlohmann::json& json, const std::string& where, const std::string& path,
             std::span<const char* const> keys);

  std::optional<std::string> text(const char* key) const { return reader_.text(key); }
  std::optional<bool> boolean(const char* key) const { return reader_.flag(key); }
  std::optional<std::int64_t> integer(const char* key, std::int64_t min, std::int64_t max) const {
    return reader_.integer(key, min, max);
  }
  std::optional<std::uint64_t> unsigned_integer(const char* key) const;
  /// A finite number greater than `above`.
  std::optional<double> number(const char* key, double above) const;
  /// A number from 0 to 1.
  std::optional<double> fraction(const char* key) const;
  /// A positive number, or the text "inf".
  std::optional<double> number_or_infinity(const char* key) const;
  std::optional<JsonObject> object(const char* key, std::span<const char* const> keys) const;
  std::vector<JsonObject> objects(const char* key, std::span<const char* const> keys) const;

  /// The value of a key that the caller parses itself; nullptr if absent.
  const nlohmann::json* find(const char* key) const { return reader_.find(key); }

  /// Throws Error for a key: "FILE: path.key is VALUE, expected EXPECTED", or that it is missing.
  [[noreturn]] void fail(const char* key, const std::string& expected) const {
    reader_.refuse(key, expected);
  }
  /// Throws Error for a required key that is missing.
  [[noreturn]] void fail_missing(const char* key, const std::string& expected) const {
    reader_.fail_missing(key, expected);
  }

 private:
  JsonReader reader_;
};

}  // namespace roofcast
