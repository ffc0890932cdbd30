// Writes a synthetic workload as JSON: keys in the order of the documentation, without unset ones.
#include <cmath>

#include "simulator/io/synthetic_reader.hpp"

namespace roofcast {
namespace {

using Json = nlohmann::ordered_json;

Json number_or_infinity(double number) { return std::isinf(number) ? Json("inf") : Json(number); }

Json lengths_json(const LengthDistribution& lengths) {
  if (lengths.kind != LengthDistribution::Kind::fixed) return to_text(lengths);
  return static_cast<std::int64_t>(lengths.a);
}

Json stages_json(const std::vector<RateStage>& stages) {
  Json list = Json::array();
  for (const RateStage& stage : stages) {
    Json json{{"rate", stage.rate}, {"duration_s", stage.duration.value}};
    if (stage.warm_up) json["warm_up"] = true;
    list.push_back(json);
  }
  return list;
}

void put_pattern(Json& json, const SyntheticWorkload& workload) {
  if (const auto* ramp = std::get_if<RampUp>(&workload.pattern)) {
    const bool linear = ramp->strategy == RampUp::Strategy::linear;
    json["ramp_up"] = {{"strategy", linear ? "linear" : "exponential"},
                       {"start_rps", ramp->start},
                       {"end_rps", ramp->end}};
  } else if (const auto* staged = std::get_if<StagedLoad>(&workload.pattern)) {
    json["stages"] = stages_json(staged->stages);
  } else if (const auto* cycle = std::get_if<RateCycle>(&workload.pattern)) {
    json["cycle"] = stages_json(cycle->phases);
  } else if (const auto* diurnal = std::get_if<DiurnalRate>(&workload.pattern)) {
    json["diurnal"] = {
        {"low", diurnal->low}, {"high", diurnal->high}, {"period_s", diurnal->period.value}};
  } else {
    json["request_rate"] = number_or_infinity(workload.request_rate);
  }
}

void put_range_ratio(Json& json, const RangeRatio& ratio) {
  if (ratio.input || ratio.output) {
    if (ratio.input == ratio.output) {
      json["range_ratio"] = *ratio.input;
    } else {
      if (ratio.input) json["range_ratio"]["input"] = *ratio.input;
      if (ratio.output) json["range_ratio"]["output"] = *ratio.output;
    }
  }
  if (ratio.style == RangeRatio::Style::sglang) json["range_ratio_style"] = "sglang";
}

Json sessions_json(const Sessions& sessions) {
  Json json{{"turns", lengths_json(sessions.turns)}};
  const bool fixed = sessions.think_time.kind == ThinkTime::Kind::fixed;
  json["think_time_s"] = fixed ? Json(sessions.think_time.a) : Json(to_text(sessions.think_time));
  if (sessions.first_input) json["first_input_len"] = lengths_json(*sessions.first_input);
  if (sessions.max_session_tokens > 0) json["max_session_tokens"] = sessions.max_session_tokens;
  return json;
}

}  // namespace

nlohmann::ordered_json synthetic_json(const SyntheticWorkload& workload) {
  Json json{{"type", "synthetic"}};
  const bool staged = std::holds_alternative<StagedLoad>(workload.pattern);
  if (!staged) json["num_prompts"] = workload.num_prompts;
  put_pattern(json, workload);
  json["burstiness"] = number_or_infinity(workload.burstiness);
  json["normalised"] = workload.normalised;
  if (workload.num_warmups > 0) json["num_warmups"] = workload.num_warmups;
  json["input_len"] = lengths_json(workload.input);
  json["output_len"] = lengths_json(workload.output);
  put_range_ratio(json, workload.range_ratio);
  if (workload.shared_prefix) {
    json["shared_prefix"] = {
        {"num_groups", workload.shared_prefix->groups},
        {"num_prompts_per_group", workload.shared_prefix->prompts_per_group},
        {"system_prompt_len", lengths_json(workload.shared_prefix->system_prompt)}};
  }
  if (workload.sessions) json["sessions"] = sessions_json(*workload.sessions);
  if (workload.lora.count > 0) json["lora_adapters"] = workload.lora.count;
  if (workload.lora.zipf > 0) json["lora_zipf"] = workload.lora.zipf;
  return json;
}

}  // namespace roofcast
