// Arguments of the server that a measured run ran on, as engine options of a scenario.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/measured_run.hpp"

namespace roofcast {

/// "engine_options" of a scenario: the arguments of an SGLang or TensorRT-LLM server
/// (validate/server_arguments.hpp), and over them those under the keys of vLLM's configuration,
/// whether its file has them as numbers or, as tables and --metadata do, as texts. Words for "not
/// set" say nothing. Throws Error naming key and value for one that cannot be read.
nlohmann::json engine_options_of(const MeasuredSetting& setting);

/// The keys that engine_options_of looks at.
std::vector<std::string> engine_option_names();

/// Whether engine_options_of looks at the key.
bool is_engine_option(std::string_view key);

/// A switch as files and texts say it: true, "True", "1", 0; nothing for "None" and null. Throws
/// Error naming `key` for anything else.
std::optional<bool> switch_in(const std::string& key, const nlohmann::json& value);

}  // namespace roofcast
