// Answers that leave this machine say nothing of its folders: a path in any text of a document is
// cut down to its last name.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/document.hpp"

namespace roofcast {

/// Paths that the program knows to the letter, with what they are called instead: the longest
/// first. Only these are found whole where names have spaces, or where a path is relative.
using KnownPaths = std::vector<std::pair<std::string, std::string>>;

/// Of the file at `path`: itself as given and absolute, its folder, the current folder and $HOME.
KnownPaths known_paths(const std::string& path);

/// "--store /home/ana/runs.db" to "--store runs.db", and likewise "../x/y", "~/x" and "C:\x". What
/// holds "://" is a link and stays; so do units ("tokens/s", "10 /s") and names
/// ("meta-llama/Llama-3.1-8B").
std::string without_paths(std::string_view text, const KnownPaths& known = {});

/// The same for every string of `json`, keys included. A value that is a path and nothing else may
/// have spaces.
Json without_paths_in(const Json& json, const KnownPaths& known = {});

}  // namespace roofcast
