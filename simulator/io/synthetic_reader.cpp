#include "simulator/io/synthetic_reader.hpp"

#include <fmt/format.h>

#include <array>

#include "base/error.hpp"
#include "simulator/io/optional_keys.hpp"
#include "simulator/io/scenario_keys.hpp"

namespace roofcast {
namespace {

/// A number of tokens, or a distribution as text.
std::optional<LengthDistribution> read_lengths(const JsonObject& object, const char* key) {
  const auto* value = object.find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_number()) return fixed_length(*object.integer(key, 1, kMaxTokens));
  const auto text = object.text(key);
  try {
    return parse_length_distribution(*text);
  } catch (const Error&) {
    object.fail(key, std::string("a number of tokens, or a text ") + kLengthForms);
  }
}

/// Seconds, or a distribution as text.
std::optional<ThinkTime> read_think_time(const JsonObject& object, const char* key) {
  const auto* value = object.find(key);
  if (value == nullptr) return std::nullopt;
  try {
    return parse_think_time(value->is_string() ? value->get<std::string>() : value->dump());
  } catch (const Error&) {
    object.fail(key,
                "seconds, or a text uniform:LOW:HIGH, exponential:MEAN, normal:MEAN:SD or "
                "lognormal:MEDIAN:SIGMA");
  }
}

double required_number(const JsonObject& object, const char* key, const char* what) {
  const auto number = object.number(key, 0);
  if (!number) object.fail_missing(key, what);
  return *number;
}

/// A rate that may be 0.
double required_rate(const JsonObject& object, const char* key) {
  const auto* value = object.find(key);
  if (value == nullptr) object.fail_missing(key, "requests per second");
  if (!value->is_number() || !(value->get<double>() >= 0)) {
    object.fail(key, "a number of at least 0");
  }
  return value->get<double>();
}

RampUp read_ramp_up(const JsonObject& object) {
  RampUp ramp{.start = required_number(object, "start_rps", "requests per second at first"),
              .end = required_number(object, "end_rps", "requests per second at last")};
  const auto strategy = object.text("strategy").value_or("linear");
  if (strategy != "linear" && strategy != "exponential") {
    object.fail("strategy", "linear or exponential");
  }
  if (strategy == "exponential") ramp.strategy = RampUp::Strategy::exponential;
  return ramp;
}

std::vector<RateStage> read_stages(const std::vector<JsonObject>& objects) {
  std::vector<RateStage> stages;
  for (const JsonObject& object : objects) {
    const double duration = required_number(object, "duration_s", "a time in seconds");
    RateStage stage{.rate = required_rate(object, "rate"), .duration = Seconds{duration}};
    set(stage.warm_up, object.boolean("warm_up"));
    stages.push_back(stage);
  }
  return stages;
}

DiurnalRate read_diurnal(const JsonObject& object) {
  DiurnalRate rate{.low = required_rate(object, "low"),
                   .high = required_number(object, "high", "requests per second at the peak")};
  if (const auto period = object.number("period_s", 0)) rate.period = Seconds{*period};
  return rate;
}

/// Only one key may specify the rate over time.
void refuse_two_patterns(const JsonObject& object) {
  constexpr std::array kPatterns = {"request_rate", "ramp_up", "stages", "cycle", "diurnal"};
  const char* found = nullptr;
  for (const char* key : kPatterns) {
    if (object.find(key) == nullptr) continue;
    if (found != nullptr) object.fail(key, fmt::format("no {} beside {}", key, found));
    found = key;
  }
  if (object.find("stages") != nullptr && object.find("num_prompts") != nullptr) {
    object.fail("num_prompts", "no num_prompts beside stages, whose rates and durations decide");
  }
}

RatePattern read_pattern(const JsonObject& object) {
  refuse_two_patterns(object);
  if (const auto ramp = object.object("ramp_up", scenario_keys::kRampUp)) {
    return read_ramp_up(*ramp);
  }
  if (object.find("stages") != nullptr) {
    return StagedLoad{read_stages(object.objects("stages", scenario_keys::kRateStage))};
  }
  if (object.find("cycle") != nullptr) {
    return RateCycle{read_stages(object.objects("cycle", scenario_keys::kRatePhase))};
  }
  if (const auto diurnal = object.object("diurnal", scenario_keys::kDiurnal)) {
    return read_diurnal(*diurnal);
  }
  return SteadyRate{};
}

RangeRatio read_range_ratio(const JsonObject& object) {
  RangeRatio range;
  const auto style = object.text("range_ratio_style").value_or("vllm");
  if (style != "vllm" && style != "sglang") object.fail("range_ratio_style", "vllm or sglang");
  if (style == "sglang") range.style = RangeRatio::Style::sglang;
  const auto* value = object.find("range_ratio");
  if (value == nullptr) {
    if (object.find("range_ratio_style") != nullptr) {
      object.fail("range_ratio_style", "range_ratio beside it");
    }
    return range;
  }
  if (!value->is_object()) {
    range.input = range.output = object.fraction("range_ratio");
    return range;
  }
  const auto ratios = object.object("range_ratio", scenario_keys::kRangeRatio);
  range.input = ratios->fraction("input");
  range.output = ratios->fraction("output");
  return range;
}

SharedPrefix read_shared_prefix(const JsonObject& object) {
  SharedPrefix prefix;
  set(prefix.groups, object.integer("num_groups", 1, kMaxRequests));
  set(prefix.prompts_per_group, object.integer("num_prompts_per_group", 0, kMaxRequests));
  set(prefix.system_prompt, read_lengths(object, "system_prompt_len"));
  return prefix;
}

Sessions read_sessions(const JsonObject& object) {
  Sessions sessions;
  set(sessions.turns, read_lengths(object, "turns"));
  set(sessions.think_time, read_think_time(object, "think_time_s"));
  sessions.first_input = read_lengths(object, "first_input_len");
  set(sessions.max_session_tokens, object.integer("max_session_tokens", 0, kMaxTokens));
  return sessions;
}

}  // namespace

SyntheticWorkload read_synthetic(const JsonObject& object) {
  SyntheticWorkload workload;
  if (const auto prefix = object.object("shared_prefix", scenario_keys::kSharedPrefix)) {
    workload.shared_prefix = read_shared_prefix(*prefix);
    const std::int64_t prompts = prompts_of(*workload.shared_prefix);
    if (prompts > 0) workload.num_prompts = prompts;
  }
  set(workload.num_prompts, object.integer("num_prompts", 1, kAnyInteger));
  set(workload.request_rate, object.number_or_infinity("request_rate"));
  set(workload.burstiness, object.number_or_infinity("burstiness"));
  set(workload.normalised, object.boolean("normalised"));
  workload.pattern = read_pattern(object);
  set(workload.num_warmups, object.integer("num_warmups", 0, kMaxRequests));
  set(workload.input, read_lengths(object, "input_len"));
  set(workload.output, read_lengths(object, "output_len"));
  workload.range_ratio = read_range_ratio(object);
  if (const auto sessions = object.object("sessions", scenario_keys::kSessions)) {
    workload.sessions = read_sessions(*sessions);
  }
  set(workload.lora.count, object.integer("lora_adapters", 0, kAnyInteger));
  set(workload.lora.zipf, object.number("lora_zipf", 0));
  if (workload.lora.zipf > 0 && workload.lora.count == 0) {
    object.fail("lora_zipf", "lora_adapters beside it");
  }
  return workload;
}

}  // namespace roofcast
