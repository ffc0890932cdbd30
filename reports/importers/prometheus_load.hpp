// The load that a server's Prometheus metrics counted over time.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/io/byte_source.hpp"
#include "reports/importers/prometheus_series.hpp"
#include "reports/measured_run.hpp"

namespace roofcast {

/// Lengths in tokens, as a histogram has them.
struct LengthCounts {
  std::map<double, double> counts{};  // by upper bound, which may be infinite; not cumulative
  double total() const;
};

/// Counts between two samples.
struct LoadInterval {
  double begin_s = 0, end_s = 0;  // Unix time
  double requests = 0;
  LengthCounts input{}, output{};
  /// Tokens of all its requests, where lengths have no histograms; 0: unknown.
  double input_tokens = 0, output_tokens = 0;
};

struct ObservedLoad {
  std::string name{};    // of the file
  std::string engine{};  // "vllm", "sglang" or "trtllm"
  /// The metric that counts the requests of an interval, without the engine's prefix.
  std::string counted_by{};
  std::vector<LoadInterval> intervals{};  // in order of time, without gaps
  /// Lengths of all intervals together; empty where the engine keeps no histograms of them
  /// (TensorRT-LLM).
  LengthCounts input{}, output{};
  double mean_input = 0, mean_output = 0;    // tokens; exact. 0: not counted either
  std::optional<double> prefix_hit_share{};  // of prompt tokens looked up; if it was counted
  MeasuredRun measured{};                    // latencies over the whole time

  double requests() const;  // of all intervals
  bool has_lengths() const { return !input.counts.empty(); }
};

/// Reads the answers of query_range: raw counters, such as those of
/// {__name__=~"vllm:.*"}. Throws Error if they are not a range query, hold no engine's metrics, or
/// lack the counters of requests or the histograms of lengths that the engine has.
ObservedLoad read_observed_load(ByteSource& bytes);

/// The same of series already read; `name` stands for the file in messages. Where no request was
/// counted, lengths are left out instead of an error.
ObservedLoad observed_load(const ScrapeRange& range, const std::string& name);

}  // namespace roofcast
