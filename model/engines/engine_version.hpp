// Versions of engines: how names state them, which of them a preset's values are from, and how
// answers name the one they stand for. Pure.
//
// Versions are ordered over 0.x, 1.x, 2.x; one stated in part ("0.5") means the newest that it may
// be.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/engines/engine.hpp"

namespace roofcast {

/// A warning if `name` states a version that no preset's values were compared with, so that the
/// nearest version answers; nullopt if they were, or if none is stated. Precondition:
/// find_preset() finds it.
std::optional<std::string> uncompared_version(std::string_view name);

/// Whether uncompared_version() has nothing to say of an engine's version; also for names that are
/// no engine's.
bool is_compared_version(std::string_view engine);

/// The name of the newest version of the same engine: "trtllm-1.3" of "trtllm-1.1"; the same name
/// for an engine without versions.
std::string newest_version(std::string_view engine);

/// How answers name an engine: the version asked for ("sglang-0.5.7"), of a fitted profile its own
/// name.
std::string engine_title(std::string_view name, std::string_view version);
std::string engine_title(const Engine& engine);

}  // namespace roofcast
