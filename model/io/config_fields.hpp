// A config.json as families read it: the first key that is present among several synonyms, within
// limits. A null counts as absent.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
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

/// Refers to a JSON value that must outlive it. Copies share which keys were asked for.
class Fields : private JsonReader {
 public:
  /// Throws Error if `object` is not an object.
  Fields(const nlohmann::json& object, std::string where);

  using JsonReader::where;
  bool has(std::string_view key) const;
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

  /// Counts keys as asked for that bear on no shape of this model.
  void pass_over(Names names) const;

  /// Throws Error naming a key that no family code read, under any of its names, and that states a
  /// size: heads, ranks, widths, dimensions, layers or experts, as a whole number above 1 or a list
  /// with one. `family` names the model in the error. Keys that bear on no shape are passed over.
  void check_sizes_understood(std::string_view family) const;

  /// Throws Error "WHERE: 'KEY' REASON".
  using JsonReader::fail;

 private:
  void note(std::string_view key) const {
    if (!asked_->contains(key)) asked_->emplace(key);
  }
  std::optional<std::string_view> first_of(Names names) const;
  std::optional<std::int64_t> integer(Names names, std::int64_t min, std::int64_t max) const;
  std::string inside(std::string_view key) const;

  std::shared_ptr<std::set<std::string, std::less<>>> asked_ =
      std::make_shared<std::set<std::string, std::less<>>>();
};

}  // namespace roofcast
