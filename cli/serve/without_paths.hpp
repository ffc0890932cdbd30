// Answers that leave this machine say nothing of its folders: a path in any text of a document is
// cut down to its last name.
#pragma once

#include <string>
#include <string_view>

#include "reports/document.hpp"

namespace roofcast {

/// "--store /home/ana/runs.db" to "--store runs.db", and likewise "../x/y", "~/x" and "C:\x". What
/// holds "://" is a link and stays; so do units ("tokens/s") and names ("meta-llama/Llama-3.1-8B").
std::string without_paths(std::string_view text);

/// The same for every string of `json`, keys included.
Json without_paths_in(const Json& json);

}  // namespace roofcast
