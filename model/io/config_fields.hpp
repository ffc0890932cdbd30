// A config.json as families read it: the first key that is present among several synonyms, within
// limits. A null counts as absent.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/io/json_reader.hpp"

namespace roofcast {

using Names = std::initializer_list<std::string_view>;

// Beyond any model; larger numbers are mistakes or malicious.
constexpr std::int64_t kMaxLayers = 10'000;
constexpr std::int64_t kMaxHeads = 100'000;
constexpr std::int64_t kMaxExperts = 1'000'000;
constexpr std::int64_t kWidest = 1'000'000;       // hidden size, head dimension, ranks
constexpr std::int64_t kWidestFfn = 100'000'000;  // feed-forward width
constexpr std::int64_t kLargestVocabulary = 100'000'000;
constexpr std::int64_t kLongestContext = 1'000'000'000'000;

/// Refers to a JSON value that must outlive it.
class Fields : private JsonReader {
 public:
  /// Throws Error if `object` is not an object.
  Fields(const nlohmann::json& object, std::string where);

  using JsonReader::has;
  using JsonReader::where;
  bool has_any(Names names) const { return first_of(names).has_value(); }

  /// Required whole number from 1 to `largest`.
  std::int64_t size(Names names, std::int64_t largest = kWidest) const;
  /// The same, or `fallback` when absent.
  std::int64_t size_or(Names names, std::int64_t fallback, std::int64_t largest = kWidest) const;
  /// Whole number from 0 to `largest`; nullopt if absent.
  std::optional<std::int64_t> count(Names names, std::int64_t largest = kWidest) const;
  std::int64_t count_or(Names names, std::int64_t fallback, std::int64_t largest = kWidest) const;
  std::optional<double> number(Names names) const;  // finite
  bool flag(Names names, bool fallback) const;
  std::string text(Names names, std::string fallback = {}) const;

  /// Lists; empty if absent. An element of another type is an error.
  std::vector<std::int64_t> counts(std::string_view key) const;
  std::vector<std::string> texts(std::string_view key) const;
  std::vector<Fields> objects(std::string_view key) const;

  bool is_object(std::string_view key) const;
  bool is_list(std::string_view key) const;
  bool is_text(std::string_view key) const;
  std::optional<Fields> object(std::string_view key) const;  // absent: nullopt; else Error
  /// All members that are objects, sorted by name.
  std::vector<std::pair<std::string, Fields>> members() const;

  /// Throws Error "WHERE: 'KEY' REASON".
  using JsonReader::fail;

 private:
  std::optional<std::string_view> first_of(Names names) const;
  std::optional<std::int64_t> integer(Names names, std::int64_t min, std::int64_t max) const;
  std::string inside(std::string_view key) const;
};

}  // namespace roofcast
