// A benchmark result of another tool in our names and units, whatever file it came from. Readers of
// the files: reports/importers/.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reports/store.hpp"

namespace roofcast {

/// Hardware, engine and load of a result, where its file (or the user) states them. Empty or
/// absent: not stated.
struct MeasuredSetting {
  std::string model{};           // as the file spells it: "meta-llama/Llama-3.1-8B-Instruct"
  std::string gpu{};             // "h100", "NVIDIA H100 80GB HBM3"
  std::string engine{};          // "vllm", "sglang", "tensorrt-llm"
  std::string engine_version{};  // "0.19.0"
  std::string quantization{};    // of the weights: "fp8"
  std::optional<std::int64_t> tensor{}, pipeline{}, data{}, gpus{};
  std::optional<double> request_rate_per_s{};  // infinity: all at once
  std::optional<std::int64_t> max_concurrency{};
  std::optional<std::int64_t> requests{};                           // sent, or to be sent
  std::optional<double> mean_input_tokens{}, mean_output_tokens{};  // per request
  /// Everything else that the file states about its setting, under the file's own keys; JSON values
  /// as text.
  std::map<std::string, std::string> other{};
};

/// Metrics have the names of simulated runs (ttft_s, tpot_s, itl_s, e2e_s, output_tokens_per_s,
/// request_rate_per_s, ...; statistics mean, p50, p90, p95, p99, ..., value), so that predicted and
/// measured figures are matched by name. A tool's metric with another definition gets another name;
/// it is never converted by guessing.
struct MeasuredRun {
  std::string origin{};      // "FILE", or "FILE, line 3" or "FILE, benchmark 2" of several
  std::string format{};      // "vllm-bench", "guidellm", ...
  std::string created_at{};  // ISO 8601, UTC, if the file has it
  MeasuredSetting setting{};
  std::vector<MetricRow> metrics{};
  std::vector<RequestRow> requests{};   // if the file keeps them
  std::vector<std::string> warnings{};  // figures that contradict each other, one line each
};

}  // namespace roofcast
