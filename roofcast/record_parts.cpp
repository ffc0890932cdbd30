#include "roofcast/record_parts.hpp"

#include "simulator/io/scenario_reader.hpp"

namespace roofcast {

template <>
Json value_to_json<Scenario>(const Scenario& value) {
  return Json::parse(to_json(value));
}

template <>
void value_from_json<Scenario>(const Json& json, Scenario& value, const std::string& path) {
  value = parse_scenario(json.dump(), path);
}

template <>
Json value_schema<Scenario>() {
  return {{"type", "object"}};
}

}  // namespace roofcast
