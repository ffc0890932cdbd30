// Samples of a Prometheus scrape: the text exposition, or the answer of the HTTP API.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/io/byte_source.hpp"
#include "reports/measured_run.hpp"

namespace roofcast {

using Labels = std::map<std::string, std::string>;

/// One sample per series, in a fixed order; if a series is repeated, its last sample counts.
struct Scrape {
  /// By metric name, then by labels.
  std::map<std::string, std::map<Labels, double>> series{};
};

/// Keeps the series of vLLM, SGLang and TensorRT-LLM ("vllm:...", "sglang:...", and "trtllm:..."
/// for trtllm-serve's "trtllm_..."). Throws Error with the line if one of these cannot be parsed.
Scrape read_scrape(ByteSource& bytes);

/// Changes since `before`: differences for counters (names that end in _total, _bucket, _sum or
/// _count), the values of `after` for the rest. If any counter of a process decreased, the process
/// was restarted and all its values count as new; `restarts` is the number of such processes. A
/// restarted process whose counters have all passed their earlier values is not detected.
Scrape since(const Scrape& after, const Scrape& before, int& restarts);

/// Answers of query_range: each series at the times at which it was sampled.
struct ScrapeRange {
  /// By metric name, then by labels: (Unix time in seconds, value), in order of time.
  std::map<std::string, std::map<Labels, std::vector<std::pair<double, double>>>> series{};
  bool has_instants = false;  // single values, of a query instead of a range
};

/// The answers of the HTTP API in a file, one or several (one per query). A query's single value
/// becomes a series of one sample. Throws Error naming the file and the key that cannot be read, or
/// with the text of an answer that is an error.
ScrapeRange read_range(ByteSource& bytes);

/// The rise of a counter from one sample to the next: one that fell has begun again at zero
/// (prometheus.io, "increase()", without its extrapolation).
double rise(double before, double after);

/// Whether a metric is a counter, by its name.
bool counts_up(const std::string& name);

/// Appends those of `more` that are later than all of `samples`; both are in order of time.
void append_later(std::vector<std::pair<double, double>>& samples,
                  const std::vector<std::pair<double, double>>& more);

/// The last value of every series.
Scrape last_of(const ScrapeRange& range);

/// Every counter's rise over its samples, the last value of everything else.
Scrape rise_of(const ScrapeRange& range);

/// Seconds from the first sample of any series to the last; 0 if no series has two, or if some are
/// single values.
double duration_of(const ScrapeRange& range);

/// "vllm", "sglang" or "trtllm", whichever has series; empty if none.
std::string engine_of(const Scrape& scrape);

/// The run according to the engine's metrics: latencies, rates, lengths, settings.
MeasuredRun measured_by(const Scrape& scrape, const std::string& engine);

/// Sum of a metric over all its labels; nullopt if there is none.
std::optional<double> sum_of(const Scrape& scrape, const std::string& name);

/// A histogram's or summary's mean; nullopt if nothing was observed.
std::optional<double> mean_of(const Scrape& scrape, const std::string& name);

/// A histogram's cumulative counts by upper bound, summed over all labels.
std::map<double, double> buckets_of(const Scrape& scrape, const std::string& name);

}  // namespace roofcast
