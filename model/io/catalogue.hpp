// The built-in models: the contents of their config.json, embedded at build time from
// model/catalogue/*.json and read by the same reader as a user's file.
#pragma once

#include <string>

#include "model/architecture/transformer.hpp"

namespace roofcast {

/// The entry with this name or alias, ignoring case, separators and the organisation before the
/// slash. Throws Error with the nearest names if there is none.
Transformer load_catalogue_model(const std::string& name);

}  // namespace roofcast
