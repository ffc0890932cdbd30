#include "simulator/io/engine_features.hpp"

#include <algorithm>
#include <cmath>

#include "simulator/io/optional_keys.hpp"

namespace roofcast {
namespace {

constexpr std::int64_t kMaxAdapters = 1'000'000;

std::optional<Seconds> read_time(const JsonObject& object, const char* key) {
  const auto* value = object.find(key);
  if (value == nullptr) return std::nullopt;
  const double seconds = value->is_number() ? value->get<double>() : -1;
  if (!(seconds >= 0 && std::isfinite(seconds))) object.fail(key, "a number of seconds, 0 or more");
  return Seconds{seconds};
}

std::optional<std::vector<double>> read_fractions(const JsonObject& object, const char* key) {
  const auto* value = object.find(key);
  if (value == nullptr) return std::nullopt;
  const auto is_fraction = [](const nlohmann::json& one) {
    return one.is_number() && one.get<double>() >= 0 && one.get<double>() <= 1;
  };
  if (!value->is_array() || !std::all_of(value->begin(), value->end(), is_fraction)) {
    object.fail(key, "an array of numbers from 0 to 1");
  }
  return value->get<std::vector<double>>();
}

std::optional<DraftMethod> read_method(const JsonObject& object, const char* key) {
  const auto text = object.text(key);
  if (!text) return std::nullopt;
  const auto method = parse_draft_method(*text);
  if (!method) object.fail(key, kDraftMethods);
  return method;
}

std::optional<SamplingKind> read_sampling(const JsonObject& object, const char* key) {
  const auto text = object.text(key);
  if (!text) return std::nullopt;
  const auto sampling = parse_sampling(*text);
  if (!sampling) object.fail(key, kSamplings);
  return sampling;
}

}  // namespace

void read_engine_features(const JsonObject& object, EngineOverrides& options) {
  options.sampling = read_sampling(object, "sampling");
  options.num_speculative_tokens = object.integer("num_speculative_tokens", 1, kMaxDrafts);
  options.speculative_method = read_method(object, "speculative_method");
  options.acceptance_rate = object.fraction("acceptance_rate");
  options.acceptance_by_position = read_fractions(object, "acceptance_by_position");
  options.draft_pass_time = read_time(object, "draft_pass_time_s");
  options.max_loras = object.integer("max_loras", 1, kMaxAdapters);
  options.lora_step_time = read_time(object, "lora_step_time_s");
  options.lora_adapter_time = read_time(object, "lora_adapter_time_s");
  if (const auto bytes = object.number("kv_offloading_size_bytes", 0)) {
    options.kv_offloading_size = Bytes{*bytes};
  }
  if (const auto rate = object.number("kv_offloading_bandwidth_bytes_per_s", 0)) {
    options.kv_offloading_bandwidth = BytesPerSecond{*rate};
  }
  options.kv_offloading_latency = read_time(object, "kv_offloading_latency_s");
}

void write_engine_features(const EngineOverrides& options, nlohmann::ordered_json& json) {
  if (options.sampling) json["sampling"] = name_of(*options.sampling);
  put(json, "num_speculative_tokens", options.num_speculative_tokens);
  if (options.speculative_method) json["speculative_method"] = name_of(*options.speculative_method);
  put(json, "acceptance_rate", options.acceptance_rate);
  put(json, "acceptance_by_position", options.acceptance_by_position);
  put(json, "draft_pass_time_s", options.draft_pass_time);
  put(json, "max_loras", options.max_loras);
  put(json, "lora_step_time_s", options.lora_step_time);
  put(json, "lora_adapter_time_s", options.lora_adapter_time);
  put(json, "kv_offloading_size_bytes", options.kv_offloading_size);
  put(json, "kv_offloading_bandwidth_bytes_per_s", options.kv_offloading_bandwidth);
  put(json, "kv_offloading_latency_s", options.kv_offloading_latency);
}

}  // namespace roofcast
