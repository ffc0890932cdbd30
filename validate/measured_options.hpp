// Converts server arguments of a measured run to engine options of a scenario.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/measured_run.hpp"

namespace roofcast {

/// "engine_options" of a scenario: the arguments of an SGLang or TensorRT-LLM server
/// (validate/server_arguments.hpp), overridden by keys of engine knobs
/// (model/engines/knobs.hpp), given as numbers or (in tables and --metadata) as texts. Words for
/// "not set" are ignored. Throws Error naming key and value if a value cannot be parsed.
nlohmann::json engine_options_of(const MeasuredSetting& setting);

/// The keys that engine_options_of uses.
std::vector<std::string> engine_option_names();

/// Whether engine_options_of uses the key.
bool is_engine_option(std::string_view key);

/// The JSON of an argument that no member of MeasuredSetting holds; null if it was not given,
/// discarded if it is not JSON.
nlohmann::json value_of(const MeasuredSetting& setting, const std::string& key);

/// Parses a switch: true, "True", "1", 0; nullopt for "None" and null. Throws Error naming `key`
/// for anything else.
std::optional<bool> switch_in(const std::string& key, const nlohmann::json& value);

}  // namespace roofcast
