// The report of a stored run as a page of the server: that of `roofcast report ID --html` without
// the folders in it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "serve/serve_options.hpp"

namespace roofcast {

/// Nullopt if the store has no such run. Throws Error if `stopped` ends the simulations that it
/// needs. Precondition: the store exists.
std::optional<std::string> report_page(const std::string& store_path, std::int64_t id,
                                       const ApiLimits& limits,
                                       const std::function<bool()>& stopped);

}  // namespace roofcast
