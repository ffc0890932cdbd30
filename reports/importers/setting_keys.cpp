#include "reports/importers/setting_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <variant>

#include "base/error.hpp"
#include "base/text.hpp"

namespace roofcast {
namespace {

using nlohmann::json;
using Setting = MeasuredSetting;

/// The member of a setting that a key sets.
using Member = std::variant<std::string Setting::*, std::optional<std::int64_t> Setting::*,
                            std::optional<double> Setting::*>;

struct SettingKey {
  std::string_view name;
  Member member;
};

const std::array kKeys = {
    SettingKey{"model", &Setting::model},
    SettingKey{"model_id", &Setting::model},
    SettingKey{"model_name", &Setting::model},
    SettingKey{"model_path", &Setting::model},
    SettingKey{"gpu", &Setting::gpu},
    SettingKey{"hw", &Setting::gpu},
    SettingKey{"hardware", &Setting::gpu},
    SettingKey{"accelerator", &Setting::gpu},
    SettingKey{"engine", &Setting::engine},
    SettingKey{"framework", &Setting::engine},
    SettingKey{"engine_version", &Setting::engine_version},
    SettingKey{"framework_version", &Setting::engine_version},
    SettingKey{"vllm_version", &Setting::engine_version},
    SettingKey{"sglang_version", &Setting::engine_version},
    SettingKey{"quantization", &Setting::quantization},
    SettingKey{"precision", &Setting::quantization},
    SettingKey{"tp", &Setting::tensor},
    SettingKey{"tp_size", &Setting::tensor},
    SettingKey{"tensor_parallel", &Setting::tensor},
    SettingKey{"tensor_parallel_size", &Setting::tensor},
    SettingKey{"pp", &Setting::pipeline},
    SettingKey{"pp_size", &Setting::pipeline},
    SettingKey{"pipeline_parallel", &Setting::pipeline},
    SettingKey{"pipeline_parallel_size", &Setting::pipeline},
    SettingKey{"dp", &Setting::data},
    SettingKey{"dp_size", &Setting::data},
    SettingKey{"data_parallel", &Setting::data},
    SettingKey{"data_parallel_size", &Setting::data},
    SettingKey{"gpus", &Setting::gpus},
    SettingKey{"num_gpus", &Setting::gpus},
    SettingKey{"gpu_count", &Setting::gpus},
    SettingKey{"hardware_count", &Setting::gpus},
    SettingKey{"request_rate", &Setting::request_rate_per_s},
    SettingKey{"max_concurrency", &Setting::max_concurrency},
    SettingKey{"concurrency", &Setting::max_concurrency},
    SettingKey{"num_prompts", &Setting::requests},
    SettingKey{"num_requests", &Setting::requests},
    SettingKey{"requests", &Setting::requests},
    SettingKey{"input_len", &Setting::mean_input_tokens},
    SettingKey{"isl", &Setting::mean_input_tokens},
    SettingKey{"output_len", &Setting::mean_output_tokens},
    SettingKey{"osl", &Setting::mean_output_tokens},
};

/// "dtype" is the format of activations; it describes weights only if it names a narrower format.
constexpr std::string_view kDtype = "dtype";

const SettingKey* find_key(std::string_view name) {
  const auto* found = std::find_if(kKeys.begin(), kKeys.end(),
                                   [&](const SettingKey& key) { return key.name == name; });
  return found == kKeys.end() ? nullptr : found;
}

}  // namespace

bool is_activation_format(std::string_view format) {
  constexpr std::string_view kModule = "torch.";
  if (format.starts_with(kModule)) format.remove_prefix(kModule.size());
  constexpr std::array<std::string_view, 13> kWords = {
      "",        "auto", "none",  "null",  "bfloat16", "bf16", "half",
      "float16", "fp16", "16bit", "float", "float32",  "fp32"};
  const std::string word = lower(format);
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

std::string as_other(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

bool is_setting_key(std::string_view key) { return key == kDtype || find_key(key) != nullptr; }

void set_from_key(MeasuredSetting& setting, std::string_view key, const json& value,
                  const std::string& where) {
  const SettingKey* known = find_key(key);
  const bool is_word = value.is_string() && !number_in(value);
  if (known != nullptr && is_word &&
      !std::holds_alternative<std::string Setting::*>(known->member)) {
    setting.other[std::string(key)] = as_other(value);
    return;
  }
  set_strictly(setting, key, value, where);
}

void set_strictly(MeasuredSetting& setting, std::string_view key, const json& value,
                  const std::string& where) {
  if (value.is_null()) return;
  if (key == kDtype && value.is_string() && setting.quantization.empty() &&
      !is_activation_format(value.get_ref<const std::string&>())) {
    setting.quantization = value.get<std::string>();
    return;
  }
  const SettingKey* known = find_key(key);
  if (known == nullptr) {
    setting.other[std::string(key)] = as_other(value);
    return;
  }
  const json holder = {{std::string(key), value}};
  const JsonReader fields(holder, where, kLenientJson);
  if (const auto* text = std::get_if<std::string Setting::*>(&known->member)) {
    setting.** text = value.is_string() ? value.get<std::string>() : as_other(value);
  } else if (const auto* count =
                 std::get_if<std::optional<std::int64_t> Setting::*>(&known->member)) {
    setting.** count = fields.count(key);
  } else {
    setting.*std::get<std::optional<double> Setting::*>(known->member) = fields.number(key);
  }
}

void set_lengths(MeasuredSetting& setting, const JsonReader& input, const JsonReader& output) {
  const auto either = [](const JsonReader& lengths, const char* key, const char* other) {
    return lengths.has(key) ? lengths.number(key) : lengths.number(other);
  };
  setting.mean_input_tokens = either(input, "mean", "avg");
  setting.mean_output_tokens = either(output, "mean", "avg");
  if (const auto std = either(input, "std_dev", "std")) {
    setting.other["input_tokens_std"] = as_other(*std);
  }
  if (const auto std = either(output, "std_dev", "std")) {
    setting.other["output_tokens_std"] = as_other(*std);
  }
}

void share_attention(MeasuredSetting& setting, const std::string& where) {
  const auto is_on = [&](const char* key) {
    const auto found = setting.other.find(key);
    return found != setting.other.end() && lower(found->second).find("true") != std::string::npos;
  };
  if (!is_on("enable_dp_attention") && !is_on("dp_attention")) return;
  const std::int64_t ranks = setting.tensor.value_or(1);
  const std::int64_t data = setting.data.value_or(ranks);
  if (data < 1 || ranks % data != 0) {
    throw Error(fmt::format("{}: DP attention over {} of {} ranks, expected a divisor", where, data,
                            ranks));
  }
  setting.tensor = ranks / data;
  setting.data = data;
}

std::string engine_in(std::string_view text) {
  const std::string word = lower(text);
  struct Name {
    std::string_view part, engine;
  };
  constexpr std::array<Name, 4> kNames = {{{"vllm", "vllm"},
                                           {"sglang", "sglang"},
                                           {"trt", "tensorrt-llm"},
                                           {"tensorrt", "tensorrt-llm"}}};
  for (const Name& name : kNames) {
    if (word.find(name.part) != std::string::npos) return std::string(name.engine);
  }
  return {};
}

}  // namespace roofcast
