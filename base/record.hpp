// A record is a struct whose members are listed once, by a function `members` next to it:
//
//   struct Term { std::string name; Bytes bytes; std::optional<double> share; };
//   template <class Visitor>
//   void members(Visitor& visit, Term& term) {
//     visit("name", term.name, "part of the memory, as weights.attention");
//     visit("bytes", term.bytes, "on one GPU");
//     visit("share", term.share, "of the GPU's memory; null where it is not known");
//   }
//
// Its JSON (record_to_json), the way back (record_from_json) and its JSON Schema (record_schema,
// draft 2020-12) are all made from that list. A member may be a bool, a whole number, a double, a
// string, a Quantity (written as its SI value, so the key names the unit), an optional (null when
// unset), a vector, a map from strings (a vector of pairs with the string first is an object that
// keeps their order), a record, Json itself, or a shared_ptr to const Json for headers that do not
// include it. `visit.if_set` lists an optional whose key is omitted when it is unset.
// `visit.part_if_set` lists an optional record whose members are flattened into the enclosing
// record, all or none. `members(visit, outer.inner)` flattens a record that is always present.
//
// Only the list of a record is compiled: a `MemberVisitor` gets the address of each member and the
// `ValueType` that knows how to write, read and describe it, and base/record.cpp does the rest. It
// includes nlohmann/json: include it in sources, not in headers.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/units.hpp"

namespace roofcast {

// ---- enumerations

/// How the enumerators of `Enum` are written: specialise it with a `static constexpr` array or
/// vector `values` of pairs {enumerator, text}.
template <class Enum>
struct EnumNames;

/// Such pairs for an enumeration whose texts a function `name_of` returns.
template <class Enum, class... More>
std::array<std::pair<Enum, std::string_view>, 1 + sizeof...(More)> names_of(Enum first,
                                                                            More... more) {
  return {{{first, name_of(first)}, {more, name_of(more)}...}};
}

template <class Enum>
std::string_view enum_name(Enum value) {
  for (const auto& [one, name] : EnumNames<Enum>::values) {
    if (one == value) return name;
  }
  return {};
}

// ---- members

/// The three operations on a value of which only the address is known.
struct ValueType {
  Json (*to_json)(const void* value);
  /// Throws Error with the place (`path`: "terms.3.bytes") and what was expected.
  void (*from_json)(const Json& json, void* value, const std::string& path);
  Json (*schema)();
};

struct OptionalType {
  void* (*find)(void* optional);  // the value; null: unset
  void* (*emplace)(void* optional);
  void (*reset)(void* optional);
};

class MemberVisitor;
using VisitMembers = void (*)(MemberVisitor& visit, void* record);

template <class T>
const ValueType& value_type();
template <class T>
const OptionalType& optional_type();
template <class T>
void visit_members(MemberVisitor& visit, void* record);

struct Member {
  const char* key = nullptr;
  const char* meaning = nullptr;
  void* address = nullptr;                 // of the value, or of the optional
  const ValueType& type;                   // of the value, or of what the optional holds
  const OptionalType* optional = nullptr;  // set: `address` is an optional's
  VisitMembers part = nullptr;             // set: of a record that is flattened
};

/// The visitor that the `members` of a record are called with.
class MemberVisitor {
 public:
  explicit MemberVisitor(std::function<void(const Member&)> visit) : visit_(std::move(visit)) {}

  template <class T>
  void operator()(const char* key, T& member, const char* meaning) {
    visit_({key, meaning, &member, value_type<T>()});
  }
  template <class T>
  void if_set(const char* key, std::optional<T>& member, const char* meaning) {
    visit_({key, meaning, &member, value_type<T>(), &optional_type<T>()});
  }
  template <class T>
  void part_if_set(const char* first_key, std::optional<T>& part, const char* meaning) {
    visit_({first_key, meaning, &part, value_type<T>(), &optional_type<T>(), visit_members<T>});
  }

 private:
  std::function<void(const Member&)> visit_;
};

/// Fills `object` and only reads the record.
MemberVisitor record_writer(Json& object);

/// Reads `object`, whose place in its document is `path`. Unknown keys are ignored.
MemberVisitor record_reader(const Json& object, const std::string& path);

struct RecordDescription {
  Json properties = Json::object();
  Json required = Json::array();
};

/// Describes members; may set optional ones.
MemberVisitor record_describer(RecordDescription& description);

// ---- values. Specialise the three for a type that is neither a record nor one of those above.

template <class T>
Json value_to_json(const T& value);

/// Throws Error with the place (`path`: "terms.3.bytes") and what was expected.
template <class T>
void value_from_json(const Json& json, T& value, const std::string& path);

template <class T>
Json value_schema();

namespace record_detail {

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsTextMap : std::false_type {};
template <class T>
struct IsTextMap<std::map<std::string, T>> : std::true_type {};
template <class T>
struct IsTextPairs : std::false_type {};
template <class T>
struct IsTextPairs<std::vector<std::pair<std::string, T>>> : std::true_type {};
template <class T>
struct IsQuantity : std::false_type {};
template <class Tag>
struct IsQuantity<Quantity<Tag>> : std::true_type {};

using SharedJson = std::shared_ptr<const Json>;

// Whatever needs no type, compiled once.

[[noreturn]] void refuse(const std::string& path, const std::string& expected);

Json null();
Json copied(const Json& json);
Json of_bool(bool value);
Json of_signed(std::int64_t value);
Json of_unsigned(std::uint64_t value);
Json of_double(double value);
Json of_text(std::string_view text);
Json of_list(const void* first, std::size_t count, std::size_t size, const ValueType& type);
Json of_record(VisitMembers visit, const void* record);
Json empty_object();
void put(Json& object, const std::string& key, Json value);

bool is_null(const Json& json);
void read_bool(const Json& json, bool& value, const std::string& path);
/// A whole number from `min` to `max`, which are 64 bits of a signed or an unsigned type.
std::int64_t read_signed(const Json& json, std::int64_t min, std::int64_t max,
                         const std::string& path);
std::uint64_t read_unsigned(const Json& json, std::uint64_t max, const std::string& path);
double read_double(const Json& json, const std::string& path);  // null: NaN
void read_text(const Json& json, std::string& value, const std::string& path);
/// The place of the text in `names`.
std::size_t read_name(const Json& json, const std::vector<std::string_view>& names,
                      const std::string& path);
/// `resize(list, count)` makes a list of new elements and returns the address of the first.
void read_list(const Json& json, void* list, void* (*resize)(void* list, std::size_t count),
               std::size_t size, const ValueType& type, const std::string& path);
/// `add(map, key)` returns the address of a new value.
void read_map(const Json& json, void* map, void* (*add)(void* map, const std::string& key),
              const ValueType& type, const std::string& path);
void read_record(const Json& json, VisitMembers visit, void* record, const std::string& path);

Json named_type(const char* name);
Json number_schema();
Json names_schema(const std::vector<std::string_view>& names);
Json or_null(Json schema);
Json list_of(Json schema);
Json map_of(Json schema);
Json schema_of(VisitMembers visit, void* record);
Json document_of(const std::string& title, Json schema);

template <class Enum>
const std::vector<std::string_view>& names() {
  static const std::vector<std::string_view> all = [] {
    std::vector<std::string_view> list;
    for (const auto& [one, name] : EnumNames<Enum>::values) list.emplace_back(name);
    return list;
  }();
  return all;
}

}  // namespace record_detail

template <class T>
Json value_to_json(const T& value) {
  using namespace record_detail;
  if constexpr (std::same_as<T, Json>) {
    return copied(value);
  } else if constexpr (std::same_as<T, bool>) {
    return of_bool(value);
  } else if constexpr (std::signed_integral<T>) {
    return of_signed(value);
  } else if constexpr (std::integral<T>) {
    return of_unsigned(value);
  } else if constexpr (std::same_as<T, std::string>) {
    return of_text(value);
  } else if constexpr (std::floating_point<T>) {
    return of_double(value);
  } else if constexpr (std::is_enum_v<T>) {
    return of_text(enum_name(value));
  } else if constexpr (IsQuantity<T>::value) {
    return of_double(value.value);
  } else if constexpr (IsOptional<T>::value) {
    return value ? value_to_json(*value) : null();
  } else if constexpr (std::same_as<T, SharedJson>) {
    return value ? copied(*value) : null();
  } else if constexpr (IsTextPairs<T>::value || IsTextMap<T>::value) {
    Json object = empty_object();
    for (const auto& [key, one] : value) put(object, key, value_to_json(one));
    return object;
  } else if constexpr (IsVector<T>::value) {
    using Element = typename T::value_type;
    return of_list(value.data(), value.size(), sizeof(Element), value_type<Element>());
  } else {
    return of_record(visit_members<T>, &value);
  }
}

template <class T>
void value_from_json(const Json& json, T& value, const std::string& path) {
  using namespace record_detail;
  if constexpr (std::same_as<T, Json>) {
    value = json;
  } else if constexpr (std::same_as<T, bool>) {
    read_bool(json, value, path);
  } else if constexpr (std::signed_integral<T>) {
    value = static_cast<T>(
        read_signed(json, std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), path));
  } else if constexpr (std::integral<T>) {
    value = static_cast<T>(read_unsigned(json, std::numeric_limits<T>::max(), path));
  } else if constexpr (std::floating_point<T>) {
    value = static_cast<T>(read_double(json, path));
  } else if constexpr (std::same_as<T, std::string>) {
    read_text(json, value, path);
  } else if constexpr (std::is_enum_v<T>) {
    value = (std::begin(EnumNames<T>::values) + read_name(json, names<T>(), path))->first;
  } else if constexpr (IsQuantity<T>::value) {
    value.value = read_double(json, path);
  } else if constexpr (IsOptional<T>::value) {
    value.reset();
    if (!is_null(json)) value_from_json(json, value.emplace(), path);
  } else if constexpr (std::same_as<T, SharedJson>) {
    value = std::make_shared<const Json>(json);
  } else if constexpr (IsTextPairs<T>::value) {
    using Value = typename T::value_type::second_type;
    value.clear();
    const auto add = [](void* map, const std::string& key) -> void* {
      return &static_cast<T*>(map)->emplace_back(key, Value{}).second;
    };
    read_map(json, &value, add, value_type<Value>(), path);
  } else if constexpr (IsTextMap<T>::value) {
    value.clear();
    const auto add = [](void* map, const std::string& key) -> void* {
      return &(*static_cast<T*>(map))[key];
    };
    read_map(json, &value, add, value_type<typename T::mapped_type>(), path);
  } else if constexpr (IsVector<T>::value) {
    using Element = typename T::value_type;
    const auto resize = [](void* list, std::size_t count) -> void* {
      T& elements = *static_cast<T*>(list);
      elements.clear();
      elements.resize(count);
      return elements.data();
    };
    read_list(json, &value, resize, sizeof(Element), value_type<Element>(), path);
  } else {
    read_record(json, visit_members<T>, &value, path);
  }
}

template <class T>
Json value_schema() {
  using namespace record_detail;
  if constexpr (std::same_as<T, Json> || std::same_as<T, SharedJson>) {
    return empty_object();
  } else if constexpr (std::same_as<T, bool>) {
    return named_type("boolean");
  } else if constexpr (std::integral<T>) {
    return named_type("integer");
  } else if constexpr (std::floating_point<T> || IsQuantity<T>::value) {
    return number_schema();
  } else if constexpr (std::same_as<T, std::string>) {
    return named_type("string");
  } else if constexpr (std::is_enum_v<T>) {
    return names_schema(names<T>());
  } else if constexpr (IsOptional<T>::value) {
    return or_null(value_schema<typename T::value_type>());
  } else if constexpr (IsTextPairs<T>::value) {
    return map_of(value_schema<typename T::value_type::second_type>());
  } else if constexpr (IsTextMap<T>::value) {
    return map_of(value_schema<typename T::mapped_type>());
  } else if constexpr (IsVector<T>::value) {
    return list_of(value_schema<typename T::value_type>());
  } else {
    T record{};
    return schema_of(visit_members<T>, &record);
  }
}

template <class T>
const ValueType& value_type() {
  static constexpr ValueType type = {
      [](const void* value) { return value_to_json(*static_cast<const T*>(value)); },
      [](const Json& json, void* value, const std::string& path) {
        value_from_json(json, *static_cast<T*>(value), path);
      },
      [] { return value_schema<T>(); }};
  return type;
}

template <class T>
const OptionalType& optional_type() {
  using Optional = std::optional<T>;
  static constexpr OptionalType type = {
      [](void* optional) -> void* {
        auto& value = *static_cast<Optional*>(optional);
        return value ? &*value : nullptr;
      },
      [](void* optional) -> void* { return &static_cast<Optional*>(optional)->emplace(); },
      [](void* optional) { static_cast<Optional*>(optional)->reset(); }};
  return type;
}

template <class T>
void visit_members(MemberVisitor& visit, void* record) {
  members(visit, *static_cast<T*>(record));
}

// ---- records

/// The members in the order of their list. Non-finite numbers are written as null.
template <class T>
Json record_to_json(const T& record) {
  return record_detail::of_record(visit_members<T>, &record);
}

/// Reads a record back from record_to_json's output. Throws Error naming the key and what was
/// expected.
template <class T>
T record_from_json(const Json& json) {
  T record{};
  record_detail::read_record(json, visit_members<T>, &record, "");
  return record;
}

/// {"type": "object", "properties": ..., "required": [...]}, each property with its description. If
/// the members depend on the record's values, the schema of records like `record`.
template <class T>
Json record_schema(T record) {
  return record_detail::schema_of(visit_members<T>, &record);
}

template <class T>
Json record_schema() {
  return record_schema(T{});
}

/// The schema as a standalone document.
template <class T>
Json schema_document(const std::string& title) {
  return record_detail::document_of(title, record_schema<T>());
}

}  // namespace roofcast
