#include "planner/vary/scenario_path.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "base/io/shown.hpp"
#include "base/json.hpp"
#include "base/quantity.hpp"
#include "simulator/io/scenario_reader.hpp"

namespace roofcast {
namespace {

constexpr const char* kWhere = "the scenario";

std::vector<std::string> split_at_dots(const std::string& path) {
  std::vector<std::string> parts(1);
  for (const char letter : path) {
    if (letter == '.') {
      parts.emplace_back();
    } else {
      parts.back() += letter;
    }
  }
  return parts;
}

/// The child of `json` named `part`; null if there is none.
Json* child_of(Json& json, const std::string& part) {
  if (json.is_array()) {
    const auto position = to_number<std::uint64_t>(part);
    return position && *position < json.size() ? &json[*position] : nullptr;
  }
  if (!json.is_object()) return nullptr;
  const auto found = json.find(part);
  return found == json.end() ? nullptr : &*found;
}

/// The object or list that holds the last part of the path. Creates a missing object: the
/// scenario's reader checks whether it is allowed there.
Json& parent_of(Json& top, const std::vector<std::string>& parts) {
  Json* json = &top;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    Json* child = child_of(*json, parts[i]);
    if (child == nullptr && json->is_object()) {
      child = &((*json)[parts[i]] = Json::object());
    }
    if (child == nullptr) throw UsageError(fmt::format("the scenario has no {}", shown(parts[i])));
    json = child;
  }
  return *json;
}

Scenario scenario_with(Json json, const std::vector<std::string>& parts, const Json& value) {
  Json& parent = parent_of(json, parts);
  if (Json* there = child_of(parent, parts.back())) {
    *there = value;
  } else if (parent.is_object()) {
    parent[parts.back()] = value;
  } else {
    throw UsageError(fmt::format("the scenario has no {} there", shown(parts.back())));
  }
  return parse_scenario(json.dump(-1, ' ', false, Json::error_handler_t::replace), kWhere);
}

}  // namespace

Scenario with_value_at(const Scenario& scenario, const std::string& path,
                       const std::string& value) {
  const Json json = Json::parse(to_json(scenario));
  const std::vector<std::string> parts = split_at_dots(path);
  const auto with_json_at = [&scenario](const Json& base, const std::vector<std::string>& at,
                                        const Json& given) {
    Scenario changed = scenario_with(base, at, given);
    const auto* before = std::get_if<TraceWorkload>(&scenario.workload);
    auto* after = std::get_if<TraceWorkload>(&changed.workload);
    // JSON has no bytes of a trace.
    if (before && after && after->path == before->path) after->bytes = before->bytes;
    return changed;
  };
  const Json read = Json::parse(value, nullptr, false);
  if (read.is_discarded()) return with_json_at(json, parts, value);
  try {
    return with_json_at(json, parts, read);
  } catch (const UsageError&) {
    throw;
  } catch (const Error& as_json) {
    try {
      return with_json_at(json, parts, value);  // "4090" is a GPU
    } catch (const Error&) {
      throw Error(as_json.what());
    }
  }
}

std::optional<double> number_at(const Scenario& scenario, const std::string& path) {
  Json json = Json::parse(to_json(scenario));
  Json* place = &json;
  for (const std::string& part : split_at_dots(path)) {
    place = child_of(*place, part);
    if (place == nullptr) return std::nullopt;
  }
  if (!place->is_number()) return std::nullopt;
  return place->get<double>();
}

}  // namespace roofcast
