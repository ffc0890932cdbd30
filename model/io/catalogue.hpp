// The models that the program knows by name: facts of their config.json, embedded at build time
// from model/catalogue/*.json and read by the same reader as a user's file.
#pragma once

#include <string>

#include "model/architecture/transformer.hpp"

namespace roofcast {

/// The entry with this name or alias; case and separators do not matter, nor does the organisation
/// before the slash. Throws Error with the nearest names when there is none.
Transformer load_catalogue_model(const std::string& name);

}  // namespace roofcast
