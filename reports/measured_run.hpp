// A benchmark result that another tool measured, in this program's words and units, whatever file
// it came from. Readers of the files: reports/importers/.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reports/store.hpp"

namespace roofcast {

/// What a result ran on and under which load, as far as its file (or the user) says. Empty or
/// absent: not said.
struct MeasuredSetting {
  std::string model{};           // as the file spells it: "meta-llama/Llama-3.1-8B-Instruct"
  std::string gpu{};             // "h100", "NVIDIA H100 80GB HBM3"
  std::string engine{};          // "vllm", "sglang", "tensorrt-llm"
  std::string engine_version{};  // "0.19.0"
  std::string quantization{};    // of the weights: "fp8"
  std::optional<std::int64_t> tensor{}, pipeline{}, data{}, gpus{};
  std::optional<double> request_rate_per_s{};  // infinity: all at once
  std::optional<std::int64_t> max_concurrency{};
  std::optional<std::int64_t> requests{};                           // asked for
  std::optional<double> mean_input_tokens{}, mean_output_tokens{};  // of one request
  /// Whatever else the file says of its setting, under the file's own keys; JSON values as text.
  std::map<std::string, std::string> other{};
};

/// Metrics are named as simulated runs name them (ttft_s, tpot_s, itl_s, e2e_s,
/// output_tokens_per_s, request_rate_per_s, ...; statistics mean, p50, p90, p95, p99, ..., value),
/// so that both sides of a comparison meet by name. A tool's word that means something else is
/// renamed, not converted by guess.
struct MeasuredRun {
  std::string origin{};      // "FILE", or "FILE, line 3" or "FILE, benchmark 2" of several
  std::string format{};      // "vllm-bench", "guidellm", ...
  std::string created_at{};  // ISO 8601, UTC, where the file says
  MeasuredSetting setting{};
  std::vector<MetricRow> metrics{};
  std::vector<RequestRow> requests{};   // where the file keeps them
  std::vector<std::string> warnings{};  // figures that contradict each other, one line each
};

}  // namespace roofcast
