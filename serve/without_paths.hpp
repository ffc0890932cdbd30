// Stored runs name files of whoever made them: traces, stores, models. What leaves this machine
// names no folder: a path in a text is cut down to its last name.
//
// Questions of clients need none of this, since they cannot name a file (serve/questions.hpp).
#pragma once

#include <string>
#include <string_view>

#include "base/json.hpp"

namespace roofcast {

/// "--store /home/ana/runs.db" becomes "--store runs.db"; "../x/runs.db", "~/x" and "C:\x" are cut
/// likewise, and relative files after a flag ("--store x/runs.db"). Links ("://"), units
/// ("tokens/s", "10 /s") and names ("meta-llama/Llama-3.1-8B") are kept.
std::string without_paths(std::string_view text);

/// The same for every string of `json`, including keys. A value that is only a path may have
/// spaces.
Json without_paths_in(const Json& json);

}  // namespace roofcast
