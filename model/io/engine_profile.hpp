// Engine profiles: files that `roofcast fit` writes and `--engine FILE.json` reads.
//   {"schema_version": 1, "kind": "engine", "name": "our-vllm", "preset": "vllm-0.19",
//    "host": {"graph_launch_s": 0.0004, "per_request_s": 0.006},
//    "source": "three runs of May, leave one out", "median_error": 0.021}
// Omitted host terms (model/engines/host_terms.hpp) are the preset's.
#pragma once

#include <string>

#include "model/engines/host_terms.hpp"

namespace roofcast {

/// Whether `engine` names a file rather than a preset: it ends in .json or contains a '/'.
bool is_engine_profile_path(const std::string& engine);

/// Throws Error: "engine profile FILE: ...". Does not check that the preset exists.
EngineProfile load_engine_profile(const std::string& path);
/// `where` is the file's name, for errors.
EngineProfile parse_engine_profile(const std::string& text, const std::string& where);

/// The profile as JSON that parse_engine_profile() reads back unchanged.
std::string write_engine_profile(const EngineProfile& profile);

}  // namespace roofcast
