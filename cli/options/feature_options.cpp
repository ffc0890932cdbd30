#include "cli/options/feature_options.hpp"

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/io/shown.hpp"
#include "cli/options/flag_values.hpp"

namespace roofcast {
namespace {

DraftMethod parse_method(const std::string& text, const std::string& flag) {
  // vLLM's EAGLE-3 differs in the head, not in how it is scheduled.
  const auto method = parse_draft_method(text == "eagle3" ? "eagle" : text);
  if (method) return *method;
  throw UsageError(flag + ": '" + text + "' is not a method (" + kDraftMethods + ")");
}

SamplingKind parse_sampling_kind(const std::string& text, const std::string& flag) {
  if (const auto sampling = parse_sampling(text)) return *sampling;
  throw UsageError(flag + ": '" + text + "' is not one of " + kSamplings);
}

double parse_fraction(const std::string& text, const std::string& flag) {
  return parse_number_by({.what = "share", .examples = "0.7", .min = 0, .max = 1}, text, flag);
}

std::vector<double> parse_fractions(const std::string& text, const std::string& flag) {
  std::vector<double> values;
  std::istringstream stream(text);
  for (std::string one; std::getline(stream, one, ',');)
    values.push_back(parse_fraction(one, flag));
  return values;
}

BytesPerSecond parse_bandwidth(const std::string& text, const std::string& flag) {
  return BytesPerSecond{parse_bytes(text, flag).value};
}

/// vLLM's --speculative-config: what it says of method and number is taken; which model drafts and
/// how is not, as acceptance and time are stated by flags.
void take_speculative_config(EngineOverrides& knobs, const std::string& text) {
  const std::string flag = "--speculative-config";
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) {
    throw UsageError(
        flag + ": '" + shown(text) +
        "' is not JSON such as {\"method\": \"eagle\", \"num_speculative_tokens\": 3}");
  }
  const auto number = json.find("num_speculative_tokens");
  if (number == json.end() || !number->is_number_integer()) {
    throw UsageError(flag + ": num_speculative_tokens is missing, expected a whole number");
  }
  knobs.num_speculative_tokens = number->get<std::int64_t>();
  const auto method = json.find("method");
  if (method != json.end() && method->is_string()) {
    knobs.speculative_method = parse_method(method->get<std::string>(), flag + " method");
  } else if (json.contains("model")) {
    knobs.speculative_method = DraftMethod::draft_model;
  }
}

}  // namespace

po::options_description feature_options(EngineOverrides& knobs) {
  po::options_description options =
      option_group("Sampling, drafts, adapters, K and V in host memory (vLLM)");
  const auto add = [&](const char* name, auto& knob, auto convert, const char* unit,
                       const char* help) {
    options.add_options()(
        name, converted(knob, std::string("--") + name, convert)->value_name(unit), help);
  };
  add("sampling", knobs.sampling, parse_sampling_kind, "KIND",
      "plain, top_p or penalty (default: as the model asks)");
  options.add_options()("speculative-config",
                        po::value<std::string>()->value_name("JSON")->notifier(
                            [&knobs](const std::string& t) { take_speculative_config(knobs, t); }),
                        "its method and num_speculative_tokens are taken");
  add("num-speculative-tokens", knobs.num_speculative_tokens, parse_count, "K",
      "drafts that each decode verifies");
  add("speculative-method", knobs.speculative_method, parse_method, "METHOD",
      "ngram (default), eagle, mtp or draft_model");
  add("acceptance-rate", knobs.acceptance_rate, parse_fraction, "SHARE",
      "of each draft, those before it being accepted");
  add("acceptance-by-position", knobs.acceptance_by_position, parse_fractions, "A1,A2,...",
      "instead: share of decodes that accept so many");
  add("draft-pass-time", knobs.draft_pass_time, parse_time, "TIME",
      "the draft's time for one token (default: ngram none, eagle and mtp by weights)");
  add("max-loras", knobs.max_loras, parse_count, "N", "distinct adapters of a step (default 1)");
  add("lora-step-time", knobs.lora_step_time, parse_time, "TIME",
      "added to steps with adapters (default 0)");
  add("lora-adapter-time", knobs.lora_adapter_time, parse_time, "TIME",
      "and for each distinct adapter (default 0)");
  add("kv-offloading-size", knobs.kv_offloading_size, parse_bytes, "BYTES",
      "host memory for K and V, all ranks, as 64GiB");
  add("kv-offloading-bandwidth", knobs.kv_offloading_bandwidth, parse_bandwidth, "BYTES",
      "per second and GPU (default: its host link)");
  add("kv-offloading-latency", knobs.kv_offloading_latency, parse_time, "TIME",
      "of one request's load (default: its host link)");
  return options;
}

void take_features(EngineOverrides& knobs, const EngineOverrides& given) {
  take(knobs.sampling, given.sampling);
  take(knobs.num_speculative_tokens, given.num_speculative_tokens);
  take(knobs.speculative_method, given.speculative_method);
  take(knobs.acceptance_rate, given.acceptance_rate);
  take(knobs.acceptance_by_position, given.acceptance_by_position);
  take(knobs.draft_pass_time, given.draft_pass_time);
  take(knobs.max_loras, given.max_loras);
  take(knobs.lora_step_time, given.lora_step_time);
  take(knobs.lora_adapter_time, given.lora_adapter_time);
  take(knobs.kv_offloading_size, given.kv_offloading_size);
  take(knobs.kv_offloading_bandwidth, given.kv_offloading_bandwidth);
  take(knobs.kv_offloading_latency, given.kv_offloading_latency);
}

}  // namespace roofcast
