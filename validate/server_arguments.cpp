#include "validate/server_arguments.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "base/error.hpp"
#include "base/io/json_reader.hpp"
#include "base/text.hpp"
#include "planner/launch/serve_command_line.hpp"
#include "planner/launch/serve_flags.hpp"
#include "simulator/io/engine_options.hpp"

namespace roofcast {
namespace {

using nlohmann::json;

/// A value as written on a command line; nullopt if it is not set or not a plain value.
std::optional<std::string> argument_text(const json& value) {
  if (value.is_null() || value.is_structured()) return std::nullopt;
  std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  const std::string word = lower(text);
  if (word.empty() || word == "none" || word == "null" || word == "auto") return std::nullopt;
  return text;
}

/// The arguments of the run by name; direct keys override those of server_info.
std::map<std::string, std::string> arguments_of(const MeasuredSetting& setting) {
  std::map<std::string, std::string> arguments;
  const auto put = [&](const std::string& key, const json& value) {
    if (const auto text = argument_text(value)) arguments[key] = *text;
  };
  const auto server = setting.other.find("server_info");
  if (server != setting.other.end()) {
    const json object = json::parse(server->second, nullptr, false);
    if (object.is_object()) {
      for (const auto& [key, value] : object.items()) put(key, value);
    }
  }
  for (const auto& [key, value] : setting.other) put(key, json::parse(value, nullptr, false));
  return arguments;
}

/// Engines whose terms differ from ours, which are vLLM's.
constexpr std::array kEngines = {ServeEngine::sglang, ServeEngine::tensorrt_llm};

/// Name that trtllm-bench's report uses for a configuration key or flag.
struct Alias {
  std::string_view reported;
  std::string_view key;
};

constexpr std::array kTensorrtAliases = {
    Alias{"kv_cache_dtype", "kv_cache_config.dtype"},
    Alias{"scheduling_policy", "scheduler_config.capacity_scheduler_policy"},
    Alias{"kv_cache_percentage", "kv_cache_config.free_gpu_memory_fraction"},
    Alias{"max_sequence_length", "max_seq_len"},
};

/// The flag or configuration key of that name; nullptr if no table lists it.
const ServeFlag* find_row(ServeEngine engine, std::string name) {
  const ServeFlags& table = serve_flags(engine);
  if (engine == ServeEngine::tensorrt_llm) {
    for (const Alias& alias : kTensorrtAliases) {
      if (alias.reported == name) name = alias.key;
    }
    for (const ServeFlag& row : table.keys) {
      if (row.spelling == name) return &row;
    }
  }
  const std::string flag = "--" + with_dashes(std::move(name));
  for (const ServeFlag& row : table.flags) {
    if (is_called(row, flag)) return &row;
  }
  return nullptr;
}

/// Whether the knob belongs to the deployment, which the importers read themselves.
bool is_of_deployment(const ServeKnob& knob) {
  constexpr std::array<std::string_view, 9> kNames = {
      "model",  "quantization",           "dtype", "engine", "tensor", "pipeline", "data",
      "expert", "data_parallel_attention"};
  return std::find(kNames.begin(), kNames.end(), knob.name) != kNames.end();
}

/// TensorRT-LLM reports a memory share in percent, a policy as separate words, and formats in
/// capitals.
std::string as_flag_value(const ServeKnob& knob, std::string text) {
  if (knob.name == "gpu_memory_utilization") {
    const auto share = number_in(std::string_view(text));
    if (share && *share > 1) return json(*share / 100).dump();
  }
  if (knob.name == "capacity_scheduler_policy") std::replace(text.begin(), text.end(), ' ', '_');
  if (knob.name == "kv_cache_dtype") return lower(std::move(text));
  return text;
}

void read_argument(const ServeFlag& row, const std::string& name, const std::string& value,
                   ServeWords& words) {
  const bool is_switch = row.takes == Takes::nothing;
  if (row.knob == nullptr) {
    // Values of unmodelled arguments may mean nothing; a switch that is on is certain.
    const std::string word = lower(value);
    const bool on = word == "true" || word == "1";
    if (is_switch && on && row.effect == Effect::possible) words.not_modelled.push_back(name);
    return;
  }
  if (is_of_deployment(*row.knob)) return;
  if (is_switch) {
    const bool says = row.says != "false";
    row.knob->read(words, read_serve_switch(value, name) == says ? "true" : "false", name);
  } else {
    row.knob->read(words, as_flag_value(*row.knob, value), name);
  }
}

/// Converts KV pool tokens to blocks, and requests to those of one rank.
EngineOverrides overrides_of(ServeEngine engine, const ServeWords& words,
                             const MeasuredSetting& setting, bool shares_attention) {
  EngineOverrides knobs = words.overrides;
  if (words.kv_tokens) {
    const std::int64_t block = knobs.block_size.value_or(default_block(engine));
    knobs.num_gpu_blocks_override = *words.kv_tokens / std::max<std::int64_t>(1, block);
  }
  const std::int64_t ranks = std::max<std::int64_t>(1, setting.data.value_or(1));
  if (engine == ServeEngine::sglang && shares_attention && knobs.max_num_seqs) {
    knobs.max_num_seqs = std::max<std::int64_t>(1, *knobs.max_num_seqs / ranks);
  }
  return knobs;
}

}  // namespace

ServerArguments server_arguments_of(const MeasuredSetting& setting) {
  const auto engine = serve_engine_of(setting.engine);
  if (!engine || *engine == ServeEngine::vllm) return {};
  const std::map<std::string, std::string> arguments = arguments_of(setting);
  ServeWords words;
  for (const auto& [name, value] : arguments) {
    const ServeFlag* row = find_row(*engine, name);
    if (row == nullptr) continue;
    try {
      read_argument(*row, name, value, words);
    } catch (const UsageError& error) {
      throw Error(error.what());  // in a file, not in a flag
    }
  }
  const auto shared = arguments.find("enable_dp_attention");
  const bool shares_attention = shared != arguments.end() && lower(shared->second) == "true";
  return {.overrides = overrides_of(*engine, words, setting, shares_attention),
          .not_modelled = words.not_modelled};
}

bool is_server_argument(std::string_view key) {
  return std::any_of(kEngines.begin(), kEngines.end(), [&](ServeEngine engine) {
    const ServeFlag* row = find_row(engine, std::string(key));
    return row != nullptr && row->knob != nullptr && !is_of_deployment(*row->knob);
  });
}

nlohmann::json server_options_of(const MeasuredSetting& setting) {
  const EngineOverrides overrides = server_arguments_of(setting).overrides;
  return json::parse(engine_options_json(overrides).dump());
}

}  // namespace roofcast
