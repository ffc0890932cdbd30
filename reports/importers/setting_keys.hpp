// What keys of a setting are called: by `--metadata` of vLLM's benchmark, by the overrides that its
// sweeps merge into each result, by server arguments, and by `--meta` of this program.
#pragma once

#include <string>
#include <string_view>

#include "reports/importers/json_fields.hpp"
#include "reports/measured_run.hpp"

namespace roofcast {

/// Puts a value where the key's meaning has its place, else under `other`. Throws Error "WHERE: KEY
/// is ..." for a value that its meaning does not take.
void set_from_key(MeasuredSetting& setting, std::string_view key, const nlohmann::json& value,
                  const std::string& where);

/// Whether a key has a meaning here: "tp", "gpu", "tensor_parallel_size", ...
bool is_setting_key(std::string_view key);

/// "vllm", "sglang", "tensorrt-llm" when the text names one of them anywhere; else empty.
std::string engine_in(std::string_view text);

/// A value as `other` keeps it: JSON text.
std::string as_other(const nlohmann::json& value);

}  // namespace roofcast
