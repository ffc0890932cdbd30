// The JSON value of the program: objects keep the order in which they were written. Only its name:
// a source that touches one includes <nlohmann/json.hpp>.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace roofcast {

using Json = nlohmann::ordered_json;

}  // namespace roofcast
