// Reading the objects of a result as lenient as tools write them: keys may be absent or null, a
// number may be a text ("2", "inf"), further keys do not matter. What is there but is something
// else is an Error naming file and key.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace roofcast {

class JsonFields {
 public:
  /// `json` is an object and must outlive this; `where` names the file and what of it.
  JsonFields(const nlohmann::json& json, std::string where)
      : json_(&json), where_(std::move(where)) {}

  /// Whether the key is there and not null.
  bool has(std::string_view key) const { return find(key) != nullptr; }

  /// A number, which may be infinite; nothing for NaN.
  std::optional<double> number(std::string_view key) const;
  /// A whole number of which doubles hold every one, from 0 on.
  std::optional<std::int64_t> count(std::string_view key) const;
  std::optional<std::string> text(std::string_view key) const;
  /// An object; empty when absent.
  JsonFields object(std::string_view key) const;
  /// A list of objects; empty when absent.
  std::vector<JsonFields> objects(std::string_view key) const;
  /// A list of numbers; nothing when absent.
  std::optional<std::vector<double>> numbers(std::string_view key) const;

  const nlohmann::json& value() const { return *json_; }
  const std::string& where() const { return where_; }

  /// Throws "WHERE: KEY is VALUE, expected EXPECTED".
  [[noreturn]] void fail(std::string_view key, std::string_view expected) const;

 private:
  const nlohmann::json* find(std::string_view key) const;
  std::string path_of(std::string_view key) const;

  const nlohmann::json* json_;
  std::string where_;
  std::string path_{};  // of this object inside the document, with a full stop behind
};

/// A number as texts say it: "2", "1e-3", "inf", "Infinity", "NaN"; nothing for anything else.
std::optional<double> number_in(std::string_view text);

/// The same of a JSON number or text.
std::optional<double> number_in(const nlohmann::json& value);

}  // namespace roofcast
