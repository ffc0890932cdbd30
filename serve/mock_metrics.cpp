#include "serve/mock_metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace roofcast {
namespace {

// Buckets in seconds, of vllm/v1/metrics/loggers.py.
const std::vector<double> kFirstTokenBounds = {0.001, 0.005, 0.01, 0.02,  0.04,  0.06,  0.08, 0.1,
                                               0.25,  0.5,   0.75, 1.0,   2.5,   5.0,   7.5,  10.0,
                                               20.0,  40.0,  80.0, 160.0, 640.0, 2560.0};
const std::vector<double> kGapBounds = {0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2,  0.3,  0.4, 0.5,
                                        0.75, 1.0,   2.5,  5.0,   7.5, 10.0, 20.0, 40.0, 80.0};
const std::vector<double> kLatencyBounds = {0.3,  0.5,   0.8,   1.0,   1.5,   2.0,    2.5,
                                            5.0,  10.0,  15.0,  20.0,  30.0,  40.0,   50.0,
                                            60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0};

double seconds(Nanoseconds time) { return static_cast<double>(time) * 1e-9; }

std::string head(const std::string& name, const char* type, const char* help) {
  return fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

/// A label's value, in which backslash, quote and line feed are escaped.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '\\' || letter == '"') result += '\\';
    result += letter == '\n' ? std::string("\\n") : std::string(1, letter);
  }
  return result;
}

}  // namespace

MetricHistogram::MetricHistogram(std::vector<double> bounds)
    : bounds_(std::move(bounds)), counts_(bounds_.size(), 0) {}

void MetricHistogram::observe(double value) {
  for (std::size_t i = 0; i < bounds_.size(); ++i) {
    if (value <= bounds_[i]) ++counts_[i];
  }
  ++count_;
  sum_ += value;
}

std::string MetricHistogram::text(const std::string& name, const std::string& labels) const {
  std::string lines = head(name, "histogram", name.c_str());
  for (std::size_t i = 0; i < bounds_.size(); ++i) {
    lines +=
        fmt::format("{}_bucket{{{},le=\"{:.12g}\"}} {}\n", name, labels, bounds_[i], counts_[i]);
  }
  lines += fmt::format("{}_bucket{{{},le=\"+Inf\"}} {}\n", name, labels, count_);
  lines += fmt::format("{}_count{{{}}} {}\n{}_sum{{{}}} {:.9g}\n", name, labels, count_, name,
                       labels, sum_);
  return lines;
}

std::vector<double> bounds_1_2_5(double max) {
  std::vector<double> bounds;
  double power = 1;
  while (power <= max) {
    for (const double mantissa : {1.0, 2.0, 5.0}) {
      if (mantissa * power <= max) bounds.push_back(mantissa * power);
    }
    power *= 10;
  }
  return bounds;
}

MockMetrics::MockMetrics(std::string model, const LiveFacts& facts)
    : model_(std::move(model)),
      facts_(facts),
      finished_{{"stop", 0}, {"length", 0}, {"abort", 0}},
      ttft_(kFirstTokenBounds),
      gap_(kGapBounds),
      tpot_(kGapBounds),
      e2e_(kLatencyBounds),
      queue_(kLatencyBounds),
      prompt_(bounds_1_2_5(static_cast<double>(facts.max_model_len))),
      output_(bounds_1_2_5(static_cast<double>(facts.max_model_len))) {}

void MockMetrics::add_tokens(const LiveTokens& before, const LiveTokens& now,
                             std::int64_t prompt_tokens) {
  generated_tokens_ += now.emitted - before.emitted;
  if (before.emitted == 0) {
    prompt_tokens_ += prompt_tokens;
    ttft_.observe(seconds(now.first_token));
  } else {
    gap_.observe(seconds(now.latest - before.latest));
  }
}

void MockMetrics::add_finished(const LiveTokens& last, std::int64_t prompt_tokens,
                               const std::string& reason) {
  ++finished_[reason];
  e2e_.observe(seconds(last.latest));
  queue_.observe(seconds(last.queued));
  prompt_.observe(static_cast<double>(prompt_tokens));
  output_.observe(static_cast<double>(last.emitted));
  if (last.emitted > 1) {
    tpot_.observe(seconds(last.latest - last.first_token) / static_cast<double>(last.emitted - 1));
  }
}

std::string MockMetrics::text(const LiveFigures& figures) const {
  const std::string labels = fmt::format("engine=\"0\",model_name=\"{}\"", escaped(model_));
  std::string page;
  const auto add = [&](const std::string& name, const char* type, const char* help, double value) {
    page += head(name, type, help) + fmt::format("{}{{{}}} {:.9g}\n", name, labels, value);
  };
  add("vllm:num_requests_running", "gauge", "Requests in the running batch.",
      static_cast<double>(figures.running));
  add("vllm:num_requests_waiting", "gauge", "Requests that wait to be scheduled.",
      static_cast<double>(figures.waiting));
  add("vllm:kv_cache_usage_perc", "gauge", "KV cache in use, 1 is all of it.",
      figures.kv_cache_use);
  add("vllm:num_preemptions_total", "counter", "Preemptions.",
      static_cast<double>(figures.preemptions));
  add("vllm:prefix_cache_queries_total", "counter", "Tokens looked up in the prefix cache.",
      static_cast<double>(figures.prefix_queries));
  add("vllm:prefix_cache_hits_total", "counter", "Tokens found in the prefix cache.",
      static_cast<double>(figures.prefix_hits));
  add("vllm:prompt_tokens_total", "counter", "Prompt tokens.", static_cast<double>(prompt_tokens_));
  add("vllm:generation_tokens_total", "counter", "Generated tokens.",
      static_cast<double>(generated_tokens_));
  page += head("vllm:request_success_total", "counter", "Finished requests.");
  for (const auto& [reason, count] : finished_) {
    page += fmt::format("vllm:request_success_total{{{},finished_reason=\"{}\"}} {}\n", labels,
                        reason, count);
  }
  page += ttft_.text("vllm:time_to_first_token_seconds", labels);
  page += gap_.text("vllm:inter_token_latency_seconds", labels);
  page += tpot_.text("vllm:request_time_per_output_token_seconds", labels);
  page += e2e_.text("vllm:e2e_request_latency_seconds", labels);
  page += queue_.text("vllm:request_queue_time_seconds", labels);
  page += prompt_.text("vllm:request_prompt_tokens", labels);
  page += output_.text("vllm:request_generation_tokens", labels);
  page += head("vllm:cache_config_info", "gauge", "The KV cache.");
  page += fmt::format(
      "vllm:cache_config_info{{engine=\"0\",block_size=\"{}\",num_gpu_blocks=\"{}\"}} 1\n",
      facts_.block_tokens, facts_.kv_blocks);
  return page;
}

}  // namespace roofcast
