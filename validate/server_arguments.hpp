// Arguments of a server that a benchmark's result carries, in the words of SGLang and TensorRT-LLM.
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
  /// What was on or chosen and is not modelled: "enable_two_batch_overlap".
  std::vector<std::string> not_modelled{};
};

/// What the setting's other keys and SGLang's `server_info` say of a run on one of the two engines,
/// by the tables of launch flags (planner/launch); nothing of other engines. A key of its own goes
/// before the same one in `server_info`, and words for "not set" say nothing. `server_info` has
/// arguments as the server resolved them: with data-parallel attention max_running_requests is of
/// all ranks, chunked_prefill_size and schedule_conservativeness are of one already
/// (sglang/srt/server_args.py). Throws Error naming key and value for one that cannot be read.
ServerArguments server_arguments_of(const MeasuredSetting& setting);

/// Its overrides as "engine_options" of a scenario.
nlohmann::json server_options_of(const MeasuredSetting& setting);

/// Whether SGLang or TensorRT-LLM knows an argument of that name that is predicted with.
bool is_server_argument(std::string_view key);

}  // namespace roofcast
