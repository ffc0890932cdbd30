// aiperf's profile_export_aiperf.json and genai-perf's profile_export_genai_perf.json: one object
// per metric, with its unit. Their inter_token_latency is one mean per request, i.e. our TPOT; gaps
// between streamed chunks are their inter_chunk_latency.
#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "reports/importers/formats.hpp"
#include "reports/importers/metric_rows.hpp"
#include "reports/importers/metric_units.hpp"
#include "reports/importers/setting_keys.hpp"

namespace roofcast {
namespace {

using nlohmann::json;

constexpr std::array kAiperfDistributions = {
    ValueKey{"time_to_first_token", "ttft_s"},
    ValueKey{"time_to_second_token", "time_to_second_token_s"},
    ValueKey{"inter_token_latency", "tpot_s"},
    ValueKey{"inter_chunk_latency", "itl_s"},
    ValueKey{"request_latency", "e2e_s"},
    ValueKey{"output_token_throughput_per_user", "output_tokens_per_s_per_user"},
};

constexpr std::array kAiperfValues = {
    ValueKey{"benchmark_duration", "makespan_s"},
    ValueKey{"request_count", "requests_completed"},
    ValueKey{"error_request_count", "requests_failed"},
    ValueKey{"request_throughput", "request_rate_per_s"},
    ValueKey{"output_token_throughput", "output_tokens_per_s"},
    ValueKey{"total_output_tokens", "output_tokens"},
    ValueKey{"goodput", "goodput_per_s"},
    ValueKey{"request_goodput", "goodput_per_s"},
};

void read_aiperf_metrics(MeasuredRun& run, const JsonReader& object) {
  for (const ValueKey& known : kAiperfDistributions) {
    if (!object.has(known.key)) continue;
    const JsonReader metric = object.part(known.key);
    add_statistics(run, known.metric, metric, unit_of(metric, "unit"));
  }
  for (const ValueKey& known : kAiperfValues) {
    if (!object.has(known.key)) continue;
    const JsonReader metric = object.part(known.key);
    add_metric(run, known.metric, "value", metric.number("avg"), unit_of(metric, "unit"));
  }
}

/// The first entry of a list of strings.
std::string first_name(const JsonReader& object, const char* key) {
  if (!object.has(key)) return {};
  const json& names = object.value().at(key);
  if (names.is_string()) return names.get<std::string>();
  if (!names.is_array() || names.empty() || !names[0].is_string()) {
    object.refuse(key, "a list of names");
  }
  return names[0].get<std::string>();
}

void read_aiperf_setting(MeasuredSetting& setting, const JsonReader& object) {
  const JsonReader input = object.part("input_config");
  const JsonReader endpoint = input.part("endpoint");
  setting.model = first_name(endpoint, "model_names");
  if (setting.model.empty()) setting.model = first_name(input, "model_names");
  // Where the tools describe the load: aiperf, genai-perf.
  for (const JsonReader& load :
       {input.part("loadgen"), input.part("perf_analyzer").part("stimulus")}) {
    if (load.has("concurrency")) setting.max_concurrency = load.count("concurrency");
    if (load.has("request_rate")) setting.request_rate_per_s = load.number("request_rate");
    if (load.has("request_count")) setting.requests = load.count("request_count");
  }
  set_lengths(setting, object.part("input_sequence_length"), object.part("output_sequence_length"));
  for (const char* key : {"start_time", "end_time", "was_cancelled"}) {
    if (object.has(key)) setting.other[key] = as_other(object.value().at(key));
  }
}

MeasuredRun read_profile(const JsonReader& object, const char* format) {
  MeasuredRun run{.origin = object.where(), .format = format};
  read_aiperf_metrics(run, object);
  read_aiperf_setting(run.setting, object);
  if (run.setting.other.contains("was_cancelled") && run.setting.other["was_cancelled"] == "true") {
    run.warnings.emplace_back("the benchmark was cancelled");
  }
  return run;
}

bool has_units(const json& first) {
  const auto rate = first.find("request_throughput");
  return rate != first.end() && rate->is_object() && rate->contains("unit") &&
         first.contains("input_config");
}

}  // namespace

bool is_genai_perf(const json& first) {
  return has_units(first) && first["input_config"].is_object() &&
         first["input_config"].contains("perf_analyzer");
}

void read_genai_perf(const JsonReader& object, MeasuredRuns& runs) {
  runs.push_back(read_profile(object, "genai-perf"));
}

bool is_aiperf(const json& first) { return has_units(first); }

void read_aiperf(const JsonReader& object, MeasuredRuns& runs) {
  runs.push_back(read_profile(object, "aiperf"));
}

}  // namespace roofcast
