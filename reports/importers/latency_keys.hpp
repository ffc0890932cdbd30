// The flat latency keys of vLLM's serving benchmark and of tools that copied them: "mean_ttft_ms",
// "median_tpot_ms", "p99.9_itl_ms", "p95_e2el_ms".
#pragma once

#include <string_view>

#include "base/io/json_reader.hpp"
#include "reports/measured_run.hpp"

namespace roofcast {

/// Suffix of a tool's keys, and its unit.
struct LatencyKeys {
  std::string_view suffix;  // "_ms"
  double unit;              // seconds
};

/// Adds every latency of an object.
void add_latency_keys(MeasuredRun& run, const JsonReader& object, const LatencyKeys& keys);

/// Whether `key` is a latency key.
bool is_latency_key(std::string_view key, std::string_view suffix);

}  // namespace roofcast
