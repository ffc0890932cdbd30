// The description of the web API (OpenAPI 3.1), made from the tables of flags and the schemas of
// answers that also read the requests and write the answers.
#pragma once

#include "base/json.hpp"
#include "serve/serve_options.hpp"

namespace roofcast {

/// `needs_token`: requests need a bearer token.
Json openapi(const ApiLimits& limits, bool needs_token);

}  // namespace roofcast
