// Reads and writes the objects of a scenario file from one list of their members:
//
//   void members(auto& visit, RampUp& ramp) {
//     visit("strategy", ramp.strategy, Choice{kStrategies});
//     visit("start_rps", ramp.start, Required{AboveZero{}, "requests per second at first"});
//   }
//
// A rule says which values a key may have: its `read` returns nullopt if the key is absent and
// throws Error naming file, key and what is expected, its `write` gives the JSON. A member whose
// key is absent keeps its value. An optional is written if it is set, other members if `written` is
// true. `visit.reading` calls its function with the object only when reading: for checks of several
// members, and for values that depend on others.
//
// base/record.hpp, for answers, has no ranges, no defaults for absent keys, and ignores unknown
// ones.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/json.hpp"
#include "base/names.hpp"
#include "simulator/io/json_object.hpp"
#include "simulator/time.hpp"
#include "simulator/workload/limits.hpp"

namespace roofcast::scenario_json {

// ---- visitors

/// Sets a member, an optional or a quantity to a value.
template <class Member, class Value>
void assign(Member& member, Value value) {
  if constexpr (std::is_same_v<Member, Value>) {
    member = std::move(value);
  } else if constexpr (requires { member.reset(); }) {
    assign(member.emplace(), std::move(value));
  } else if constexpr (requires { member.value; }) {
    member = Member{value};
  } else {
    member = static_cast<Member>(std::move(value));
  }
}

struct MemberReader {
  const JsonObject& object;

  void operator()(const char* key, auto& member, const auto& rule, bool = true) {
    if (auto value = rule.read(object, key)) assign(member, std::move(*value));
  }
  void reading(const auto& function) { function(object); }
};

struct MemberWriter {
  Json& json;

  void operator()(const char* key, const auto& member, const auto& rule, bool written = true) {
    if constexpr (requires { member.has_value(); }) {
      if (member) json[key] = rule.write(*member);
    } else {
      if (written) json[key] = rule.write(member);
    }
  }
  void reading(const auto&) {}
};

struct KeyList {
  std::vector<const char*> keys{};

  void operator()(const char* key, const auto&, const auto&, bool = true) { keys.push_back(key); }
  void reading(const auto&) {}
};

/// The list that a type has: members(visit, object).
struct ItsMembers {
  void operator()(auto& visit, auto& object) const { members(visit, object); }
};

/// The keys that an object with this list may have.
template <class T, class List = ItsMembers>
std::vector<const char*> keys_of(const List& list = {}) {
  T object{};
  KeyList visit;
  list(visit, object);
  return visit.keys;
}

// ---- rules

struct JsonOf {
  template <class T>
  Json operator()(const T& value) const {
    if constexpr (requires { value.value; }) {
      return value.value;  // a quantity
    } else if constexpr (std::is_floating_point_v<T>) {
      return std::isinf(value) ? Json("inf") : Json(value);
    } else {
      return value;
    }
  }
};

/// A value that `kRead` reads and `kWrite` writes.
template <auto kRead, auto kWrite = JsonOf{}>
struct Value {
  auto read(const JsonObject& object, const char* key) const {
    return std::invoke(kRead, object, key);
  }
  Json write(const auto& value) const { return kWrite(value); }
};

using Text = Value<&JsonObject::text>;
using Flag = Value<&JsonObject::boolean>;
using Share = Value<&JsonObject::fraction>;
using MaybeInfinite = Value<&JsonObject::number_or_infinity>;  // above zero, or "inf"
using Unsigned = Value<&JsonObject::unsigned_integer>;
inline std::optional<double> read_above_zero(const JsonObject& object, const char* key) {
  return object.number(key, 0);
}
using AboveZero = Value<read_above_zero>;

struct Whole {
  std::int64_t min = 0;
  std::int64_t max = kAnyInteger;

  std::optional<std::int64_t> read(const JsonObject& object, const char* key) const {
    return object.integer(key, min, max);
  }
  Json write(std::int64_t number) const { return number; }
};

/// Simulated time, in seconds.
struct Time {
  std::optional<Nanoseconds> read(const JsonObject& object, const char* key) const {
    const auto* value = object.find(key);
    if (value == nullptr) return std::nullopt;
    const double seconds = value->is_number() ? value->get<double>() : -1;
    if (!(seconds >= 0 && seconds <= to_seconds(kLongestSpan).value)) {
      object.fail(key, "seconds, from 0 to ten years");
    }
    return to_nanoseconds(Seconds{seconds});
  }
  Json write(Nanoseconds time) const { return to_seconds(time).value; }
};

/// A rule for a key that must be there.
template <class Rule>
struct Required {
  Rule rule;
  const char* what;

  auto read(const JsonObject& object, const char* key) const {
    if (object.find(key) == nullptr) object.fail_missing(key, what);
    return rule.read(object, key);
  }
  Json write(const auto& value) const { return rule.write(value); }
};
template <class Rule>
Required(Rule, const char*) -> Required<Rule>;

/// One of the table's names.
template <class Enum, std::size_t kCount>
struct Choice {
  const NameTable<Enum, kCount>& names;

  std::optional<Enum> read(const JsonObject& object, const char* key) const {
    const auto text = object.text(key);
    if (!text) return std::nullopt;
    if (const auto value = value_in(names, *text)) return value;
    std::string expected;
    for (std::size_t i = 0; i < kCount; ++i) {
      if (i > 0) expected += i + 1 == kCount ? " or " : ", ";
      expected += names[i].second;
    }
    object.fail(key, expected);
  }
  Json write(Enum value) const { return std::string(name_in(names, value)); }
};
template <class Enum, std::size_t kCount>
Choice(const NameTable<Enum, kCount>&) -> Choice<Enum, kCount>;

/// A name that `parse` knows and name_of() gives.
template <class Enum>
struct Named {
  std::optional<Enum> (*parse)(std::string_view);
  std::string expected;

  std::optional<Enum> read(const JsonObject& object, const char* key) const {
    const auto text = object.text(key);
    if (!text) return std::nullopt;
    const auto value = parse(*text);
    if (!value) object.fail(key, expected);
    return value;
  }
  Json write(Enum value) const { return std::string(name_of(value)); }
};

/// An object with members of its own.
template <class T, class List = ItsMembers>
struct Object {
  List list{};

  T read(const JsonObject& object) const {
    T value{};
    MemberReader visit{object};
    list(visit, value);
    return value;
  }
  std::optional<T> read(const JsonObject& object, const char* key) const {
    const auto inner = object.object(key, keys_of<T>(list));
    return inner ? std::optional(read(*inner)) : std::nullopt;
  }
  Json write(const T& value) const {
    Json json = Json::object();
    MemberWriter visit{json};
    list(visit, const_cast<T&>(value));  // one list for both directions; the writer only reads
    return json;
  }
};

/// An array of such objects. Those read so far are appended to `items`, which the list may look at.
template <class T, class List = ItsMembers>
struct Objects {
  std::vector<T>* items = nullptr;
  List list{};

  std::optional<std::vector<T>> read(const JsonObject& object, const char* key) const {
    if (object.find(key) == nullptr) return std::nullopt;
    std::vector<T> read;
    std::vector<T>& all = items != nullptr ? *items : read;
    all.clear();
    for (const JsonObject& one : object.objects(key, keys_of<T>(list))) {
      all.push_back(Object<T, List>{list}.read(one));
    }
    return all;
  }
  Json write(const std::vector<T>& all) const {
    Json json = Json::array();
    for (const T& one : all) json.push_back(Object<T, List>{list}.write(one));
    return json;
  }
};

/// One alternative of a variant.
template <class T, class Rule>
struct Alternative {
  Rule rule{};

  auto read(const JsonObject& object, const char* key) const { return rule.read(object, key); }
  Json write(const auto& variant) const { return rule.write(std::get<T>(variant)); }
};

}  // namespace roofcast::scenario_json
