// llm-d's benchmark report 0.2 (JSON, or YAML read as JSON): a stack, a load and aggregate results,
// each figure with its units.
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "reports/importers/formats.hpp"
#include "reports/importers/metric_rows.hpp"
#include "reports/importers/metric_units.hpp"
#include "reports/importers/setting_keys.hpp"
#include "reports/importers/token_times.hpp"

namespace roofcast {
namespace {

using nlohmann::json;

// Converters into this report pass on each tool's metric names (llm-d-benchmark, convert.py), so
// the tool that measured decides what they mean. TPOT and ITL of inference-perf and vLLM match our
// definitions.
constexpr std::array kLatencies = {
    ValueKey{"time_to_first_token", "ttft_s"},
    ValueKey{"time_per_output_token", "tpot_s"},
    ValueKey{"inter_token_latency", "itl_s"},
    ValueKey{"normalized_time_per_output_token", "ntpot_s"},
    ValueKey{"request_latency", "e2e_s"},
};

/// guidellm: one mean per request, and E2E over all tokens (guidellm.cpp).
constexpr std::array kGuidellmLatencies = {
    ValueKey{"time_to_first_token", "ttft_s"},
    ValueKey{"time_per_output_token", "ntpot_s"},
    ValueKey{"inter_token_latency", "tpot_s"},
    ValueKey{"request_latency", "e2e_s"},
};

/// aiperf and genai-perf: one mean per request (aiperf.cpp); they have no other TPOT.
constexpr std::array kAiperfLatencies = {
    ValueKey{"time_to_first_token", "ttft_s"},
    ValueKey{"inter_token_latency", "tpot_s"},
    ValueKey{"normalized_time_per_output_token", "ntpot_s"},
    ValueKey{"request_latency", "e2e_s"},
};

enum class Words { guidellm, aiperf, inference_perf, others };

Words words_of(const std::string& tool) {
  const auto names = [&](const char* name) { return tool.find(name) != std::string::npos; };
  if (names("guidellm")) return Words::guidellm;
  if (names("aiperf") || names("genai-perf") || names("genai_perf")) return Words::aiperf;
  return names("inference-perf") || names("inference_perf") ? Words::inference_perf : Words::others;
}

std::span<const ValueKey> latencies_of(Words words) {
  if (words == Words::guidellm) return kGuidellmLatencies;
  if (words == Words::aiperf) return kAiperfLatencies;
  return kLatencies;
}

constexpr std::array kThroughputs = {
    ValueKey{"output_token_rate", "output_tokens_per_s"},
    ValueKey{"input_token_rate", "input_tokens_per_s"},
    ValueKey{"total_token_rate", "total_tokens_per_s"},
    ValueKey{"request_rate", "request_rate_per_s"},
};

void read_results(MeasuredRun& run, const JsonReader& aggregate, Words words) {
  const JsonReader latency = aggregate.part("latency");
  const JsonReader throughput = aggregate.part("throughput");
  const JsonReader requests = aggregate.part("requests");
  for (const ValueKey& known : latencies_of(words)) {
    if (!latency.has(known.key)) continue;
    const JsonReader figure = latency.part(known.key);
    add_statistics(run, known.metric, figure, unit_of(figure, "units"));
  }
  for (const ValueKey& known : kThroughputs) {
    if (!throughput.has(known.key)) continue;
    const JsonReader figure = throughput.part(known.key);
    add_metric(run, known.metric, "value", figure.number("mean"), unit_of(figure, "units"));
  }
  const auto total = requests.number("total");
  const double failed = requests.number("failures").value_or(0);
  run.setting.requests = requests.count("total");
  if (total) add_metric(run, "requests_completed", "value", *total - failed);
  add_metric(run, "requests_failed", "value", failed);
  run.setting.mean_input_tokens = requests.part("input_length").number("mean");
  run.setting.mean_output_tokens = requests.part("output_length").number("mean");
  if (words == Words::inference_perf) check_token_times(run);
}

/// Reads the first engine of the stack; if there are several, the whole stack is kept under
/// `other`.
void read_stack(MeasuredSetting& setting, const JsonReader& scenario) {
  for (const JsonReader& component : scenario.objects("stack")) {
    const JsonReader standard = component.part("standardized");
    if (standard.text("kind").value_or("") != "inference_engine") continue;
    if (!setting.engine.empty()) {
      setting.other["stack"] = as_other(scenario.value().at("stack"));
      return;
    }
    const std::string tool = standard.text("tool").value_or("");
    const std::string known = engine_in(tool);
    setting.engine = known.empty() ? tool : known;
    setting.engine_version = standard.text("tool_version").value_or("");
    setting.model = standard.part("model").text("name").value_or("");
    const JsonReader accelerator = standard.part("accelerator");
    const JsonReader parallel = accelerator.part("parallelism");
    setting.gpu = accelerator.text("model").value_or("");
    setting.gpus = accelerator.count("count");
    setting.tensor = parallel.count("tp");
    setting.pipeline = parallel.count("pp");
    setting.data = parallel.count("dp");
    for (const char* key : {"role", "replicas"}) {
      if (standard.has(key)) setting.other[key] = as_other(standard.value().at(key));
    }
    const JsonReader arguments = component.part("native").part("args");
    if (!arguments.value().empty()) setting.other["args"] = as_other(arguments.value());
  }
}

void read_load(MeasuredSetting& setting, const JsonReader& load) {
  setting.request_rate_per_s = load.number("rate_qps");
  const auto concurrency = load.number("concurrency");
  if (concurrency && std::isfinite(*concurrency)) {
    setting.max_concurrency = load.count("concurrency");
  }
  for (const char* key : {"tool", "stage", "prefix", "input_seq_len", "output_seq_len"}) {
    if (load.has(key)) setting.other[std::string("load_") + key] = as_other(load.value().at(key));
  }
}

}  // namespace

bool is_llmd_report(const json& first) {
  return first.contains("version") && first.contains("run") && first.contains("results") &&
         first["results"].is_object() && first["results"].contains("request_performance");
}

void read_llmd_report(const JsonReader& report, MeasuredRuns& runs) {
  MeasuredRun run{.origin = report.where(), .format = "llm-d-report"};
  const JsonReader load = report.part("scenario").part("load").part("standardized");
  read_results(run, report.part("results").part("request_performance").part("aggregate"),
               words_of(load.text("tool").value_or("")));
  read_stack(run.setting, report.part("scenario"));
  read_load(run.setting, load);
  run.created_at = report.part("run").part("time").text("start").value_or("");
  runs.push_back(std::move(run));
}

}  // namespace roofcast
