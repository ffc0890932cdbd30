// Parses JSON with limits that nlohmann's parser does not have. nlohmann::json writes and copies
// values recursively, so a text nested some ten thousand levels deep would exhaust the stack; and
// of a repeated key it silently keeps the last. Checking either in its parser's callback takes time
// quadratic in the number of an object's members.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace roofcast {

/// More than any config, profile or scenario needs.
inline constexpr std::size_t kDeepestJson = 64;

enum class RepeatedKeys { last_wins, refused };

/// SAX handler for nlohmann's parser: builds the value from its events.
template <class Json>
class BoundedJson {
 public:
  BoundedJson(Json& root, std::string where, RepeatedKeys repeated)
      : root_(root), where_(std::move(where)), repeated_(repeated) {}

  bool null() { return put(nullptr); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(typename Json::number_integer_t value) { return put(value); }
  bool number_unsigned(typename Json::number_unsigned_t value) { return put(value); }
  bool number_float(typename Json::number_float_t value, const std::string& /*text*/) {
    return put(value);
  }
  bool string(std::string& value) { return put(std::move(value)); }
  bool binary(typename Json::binary_t& value) { return put(std::move(value)); }

  bool start_object(std::size_t /*elements*/) { return open(Json::value_t::object); }
  bool start_array(std::size_t /*elements*/) { return open(Json::value_t::array); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string& key) {
    check_depth();
    const auto [member, is_new] = open_.back()->emplace(key, nullptr);
    if (!is_new && repeated_ == RepeatedKeys::refused) refuse_second(key);
    member_ = &*member;
    return true;
  }

  template <class Exception>
  bool parse_error(std::size_t /*place*/, const std::string& /*token*/, const Exception& error) {
    throw error;
  }

 private:
  void check_depth() const {
    if (open_.size() > kDeepestJson) {
      throw Error(fmt::format("{}: nested deeper than {} levels", where_, kDeepestJson));
    }
  }

  [[noreturn]] void refuse_second(const std::string& key) const {
    constexpr std::size_t kShownCharacters = 40;
    std::string shown = key.substr(0, kShownCharacters);
    std::replace_if(
        shown.begin(), shown.end(), [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
    throw Error(fmt::format("{}: key '{}' is given twice in one object", where_, shown));
  }

  /// Where the next value goes: the root, the end of the open array or the open object's current
  /// key.
  Json& place() {
    if (open_.empty()) return root_;
    if (open_.back()->is_object()) return *member_;
    open_.back()->push_back(nullptr);
    return open_.back()->back();
  }

  template <class Value>
  bool put(Value&& value) {
    check_depth();
    place() = Json(std::forward<Value>(value));
    return true;
  }

  bool open(typename Json::value_t kind) {
    check_depth();
    Json& container = place();
    container = Json(kind);
    open_.push_back(&container);
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  Json& root_;
  std::string where_;
  RepeatedKeys repeated_;
  std::vector<Json*> open_;  // objects and arrays around the next value, outermost first
  Json* member_ = nullptr;   // the open object's key that awaits its value
};

/// Json::parse of a text or stream, with its exceptions. Also throws Error "WHERE: ..." at the
/// first value nested deeper than kDeepestJson levels and, if `repeated` refuses them, at a
/// repeated key within one object.
template <class Json, class Input>
Json parse_bounded(Input&& input, const std::string& where,
                   RepeatedKeys repeated = RepeatedKeys::last_wins, bool ignores_comments = false) {
  Json root;
  BoundedJson<Json> events(root, where, repeated);
  constexpr bool kToTheEnd = true;
  Json::sax_parse(std::forward<Input>(input), &events, Json::input_format_t::json, kToTheEnd,
                  ignores_comments);
  return root;
}

}  // namespace roofcast
