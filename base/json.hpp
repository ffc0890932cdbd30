// The JSON value of the program: objects keep the order in which they were written. Only its name:
// a source that touches one includes <nlohmann/json.hpp>.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace roofcast {

using Json = nlohmann::ordered_json;

/// A JSON value as its text: what a struct in a header holds where it only hands a value on.
struct JsonText {
  std::string text = "null";
};

}  // namespace roofcast
