// Server arguments stored in a benchmark's result, in the terms of SGLang and TensorRT-LLM.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "model/engines/engine.hpp"
#include "reports/measured_run.hpp"

namespace roofcast {

struct ServerArguments {
  EngineOverrides overrides{};
  /// Switched on or chosen, but not modelled: "enable_two_batch_overlap".
  std::vector<std::string> not_modelled{};
};

/// Arguments of a run on one of the two engines, from the setting's other keys and SGLang's
/// `server_info`, by the tables of launch flags (planner/launch); empty for other engines. A direct
/// key overrides the same one in `server_info`; words for "not set" are ignored. `server_info` has
/// arguments as resolved by the server: with data-parallel attention max_running_requests covers
/// all ranks, while chunked_prefill_size and schedule_conservativeness are per rank
/// (sglang/srt/server_args.py). Throws Error naming key and value if a value cannot be parsed.
ServerArguments server_arguments_of(const MeasuredSetting& setting);

/// Its overrides as "engine_options" of a scenario.
nlohmann::json server_options_of(const MeasuredSetting& setting);

/// Whether the name is an argument of SGLang or TensorRT-LLM that predictions use.
bool is_server_argument(std::string_view key);

}  // namespace roofcast
