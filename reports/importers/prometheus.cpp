// Prometheus scrapes of vLLM, SGLang and TensorRT-LLM servers (docs.vllm.ai and docs.sglang.ai,
// "metrics"; tensorrt_llm/metrics/collector.py): their counters since start-up, or since an earlier
// scrape. Replicas are summed bucket by bucket; quantiles are never averaged.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "reports/importers/metric_rows.hpp"
#include "reports/importers/prometheus_series.hpp"
#include "reports/importers/setting_keys.hpp"
#include "reports/importers/text_formats.hpp"

namespace roofcast {
namespace {

struct Name {
  std::string_view name, metric;  // without the prefix "vllm:" or "sglang:"
};

// Newer names come first and win if a server has both. time_per_output_token_seconds holds pooled
// gaps between tokens, which is ITL; TensorRT-LLM's holds one value per request, its decode time
// over its tokens after the first (tensorrt_llm/metrics/perf_utils.py).
constexpr std::array kHistograms = {
    Name{"time_to_first_token_seconds", "ttft_s"},
    Name{"request_time_per_output_token_seconds", "tpot_s"},
    Name{"inter_token_latency_seconds", "itl_s"},
    Name{"time_per_output_token_seconds", "itl_s"},
    Name{"e2e_request_latency_seconds", "e2e_s"},
    Name{"request_queue_time_seconds", "queue_s"},
    Name{"request_prefill_time_seconds", "prefill_s"},
    Name{"request_decode_time_seconds", "decode_s"},
};

constexpr std::array kSums = {
    Name{"prompt_tokens_total", "input_tokens"},
    Name{"generation_tokens_total", "output_tokens"},
    Name{"request_success_total", "requests_completed"},
    Name{"num_requests_total", "requests_completed"},
    Name{"num_aborted_requests_total", "requests_failed"},
    Name{"num_preemptions_total", "preemptions"},
    Name{"prefix_cache_queries_total", "prefix_query_tokens"},
    Name{"prefix_cache_hits_total", "prefix_hit_tokens"},
    Name{"cached_tokens_total", "prefix_hit_tokens"},
    Name{"num_requests_running", "requests_running"},
    Name{"num_requests_waiting", "requests_waiting"},
    Name{"num_running_reqs", "requests_running"},
    Name{"num_queue_reqs", "requests_waiting"},
};

constexpr std::array kLengths = {
    Name{"request_prompt_tokens", "input"},
    Name{"prompt_tokens_histogram", "input"},
    Name{"request_generation_tokens", "output"},
    Name{"generation_tokens_histogram", "output"},
};

/// The bounds between which a quantile lies, and its value if observations are spread evenly
/// between them, as Prometheus's histogram_quantile assumes.
struct Quantile {
  double lower = 0;
  double upper = std::numeric_limits<double>::infinity();
  double interpolated = std::numeric_limits<double>::quiet_NaN();
};

/// Precondition: the last bucket's count is above zero.
Quantile quantile_of(const std::map<double, double>& buckets, double share) {
  const double rank = share * buckets.rbegin()->second;
  Quantile quantile;
  double below = 0;
  for (const auto& [bound, count] : buckets) {
    if (count >= rank) {
      quantile.upper = bound;
      const double inside = count > below ? (rank - below) / (count - below) : 1;
      quantile.interpolated = quantile.lower + (bound - quantile.lower) * inside;
      return quantile;
    }
    quantile.lower = bound;
    below = count;
  }
  return quantile;
}

void add_histogram(MeasuredRun& run, const Scrape& scrape, const std::string& name,
                   std::string_view metric) {
  if (find_metric(run, metric, "mean")) return;
  add_metric(run, metric, "mean", mean_of(scrape, name));
  const std::map<double, double> buckets = buckets_of(scrape, name);
  if (buckets.empty() || buckets.rbegin()->second <= 0) return;
  constexpr std::array<int, 4> kPercentiles = {50, 90, 95, 99};
  for (const int percent : kPercentiles) {
    const Quantile quantile = quantile_of(buckets, percent / 100.0);
    add_metric(run, metric, fmt::format("p{}", percent), quantile.interpolated);
    add_metric(run, metric, fmt::format("p{}_lower", percent), quantile.lower);
    add_metric(run, metric, fmt::format("p{}_upper", percent), quantile.upper);
  }
}

void read_prometheus_setting(MeasuredRun& run, const Scrape& scrape, const std::string& engine) {
  run.setting.engine = engine == "trtllm" ? "tensorrt_llm" : engine;
  for (const auto& [name, samples] : scrape.series) {
    for (const auto& [labels, value] : samples) {
      const auto model = labels.find("model_name");
      if (model != labels.end() && run.setting.model.empty()) run.setting.model = model->second;
    }
  }
  const auto config = scrape.series.find(engine + ":cache_config_info");
  if (config == scrape.series.end() || config->second.empty()) return;
  const Labels& labels = config->second.begin()->first;
  for (const auto& [key, text] : labels) {
    if (key == "num_gpu_blocks") {
      add_metric(run, "kv_blocks", "value", number_in(std::string_view(text)));
    } else if (key == "kv_cache_size_tokens") {
      add_metric(run, "kv_tokens", "value", number_in(std::string_view(text)));
    } else if (key != "model_name" && key != "engine") {
      run.setting.other[key] = as_other(nlohmann::json(text));
    }
  }
}

/// Whose metrics are read, by their prefix.
constexpr std::array kEngines = {"vllm", "sglang", "trtllm"};

bool has_engine(const Scrape& scrape, const std::string& engine) {
  const auto first = scrape.series.lower_bound(engine + ":");
  return first != scrape.series.end() && first->first.starts_with(engine + ":");
}

}  // namespace

std::string engine_of(const Scrape& scrape) {
  for (const char* engine : kEngines) {
    if (has_engine(scrape, engine)) return engine;
  }
  return {};
}

MeasuredRun measured_by(const Scrape& scrape, const std::string& engine) {
  MeasuredRun run{.origin = "", .format = "prometheus"};
  const std::string prefix = engine + ":";
  read_prometheus_setting(run, scrape, engine);
  for (const Name& known : kHistograms) {
    const bool per_request = engine == "trtllm" && known.name == "time_per_output_token_seconds";
    add_histogram(run, scrape, prefix + std::string(known.name),
                  per_request ? "tpot_s" : known.metric);
  }
  for (const Name& known : kSums) {
    add_metric(run, known.metric, "value", sum_of(scrape, prefix + std::string(known.name)));
  }
  for (const Name& known : kLengths) {
    const auto mean = mean_of(scrape, prefix + std::string(known.name));
    auto& target =
        known.metric == "input" ? run.setting.mean_input_tokens : run.setting.mean_output_tokens;
    if (mean && !target) target = mean;
  }
  // TensorRT-LLM has no histograms of lengths.
  const auto requests = sum_of(scrape, prefix + "request_success_total");
  const auto per_request = [&](const char* tokens) -> std::optional<double> {
    const auto sum = sum_of(scrape, prefix + tokens);
    return sum && requests && *requests > 0 ? std::optional(*sum / *requests) : std::nullopt;
  };
  if (engine == "trtllm") {
    run.setting.mean_input_tokens = per_request("prompt_tokens_total");
    run.setting.mean_output_tokens = per_request("generation_tokens_total");
  }
  run.warnings.emplace_back(
      "percentiles are interpolated inside the histogram's buckets: see p99_lower and p99_upper");
  return run;
}

bool is_prometheus(std::string_view head) {
  for (const std::string_view mark : {"# HELP vllm:", "# TYPE vllm:", "# HELP sglang:",
                                      "# TYPE sglang:", "# HELP trtllm", "# TYPE trtllm"}) {
    if (head.find(mark) != std::string_view::npos) return true;
  }
  // A scrape without comments, or an answer of the HTTP API.
  return head.starts_with("vllm:") || head.starts_with("sglang:") || head.starts_with("trtllm_") ||
         (head.starts_with('{') && head.find("\"resultType\"") != std::string_view::npos);
}

MeasuredRuns read_prometheus(ByteSource& bytes, const ImportOptions& options) {
  Scrape scrape;
  int restarts = 0;
  double duration = 0;  // of a range of samples
  if (options.since.empty() && trimmed(bytes.peek()).starts_with('{')) {
    const ScrapeRange range = read_range(bytes);
    duration = duration_of(range);
    scrape = duration > 0 ? rise_of(range) : last_of(range);
  } else {
    scrape = read_scrape(bytes);
  }
  if (!options.since.empty()) {
    ByteSource earlier(options.since);
    scrape = since(scrape, read_scrape(earlier), restarts);
  }
  MeasuredRuns runs;
  for (const char* engine : kEngines) {
    if (!has_engine(scrape, engine)) continue;
    MeasuredRun run = measured_by(scrape, engine);
    run.origin = bytes.name();
    if (duration > 0) add_metric(run, "makespan_s", "value", duration);
    if (options.since.empty() && duration == 0) {
      run.warnings.emplace_back(
          "counters since the server started, including warm-up and idle time: give an earlier "
          "scrape with `since`");
    }
    if (restarts > 0) {
      run.warnings.push_back(
          fmt::format("{} restarted since the earlier scrape: everything {} counted after that is "
                      "included, nothing from before",
                      restarts == 1 ? "a server was" : fmt::format("{} servers were", restarts),
                      restarts == 1 ? "it" : "they"));
    }
    runs.push_back(std::move(run));
  }
  if (runs.empty()) throw Error(bytes.name() + ": contains no vllm:, sglang: or trtllm_ metrics");
  return runs;
}

}  // namespace roofcast
