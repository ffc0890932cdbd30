// Samples of a Prometheus scrape: the text exposition, or the answer of the HTTP API.
#pragma once

#include <map>
#include <string>

#include "base/io/byte_source.hpp"

namespace roofcast {

using Labels = std::map<std::string, std::string>;

/// One sample per series, in a fixed order; if a series is repeated, its last sample counts.
struct Scrape {
  /// By metric name, then by labels.
  std::map<std::string, std::map<Labels, double>> series{};
};

/// Keeps the series of vLLM and SGLang ("vllm:..." and "sglang:..."). Throws Error with the line if
/// one of these cannot be parsed.
Scrape read_scrape(ByteSource& bytes);

/// Changes since `before`: differences for counters (names that end in _total, _bucket, _sum or
/// _count), the values of `after` for the rest. If any counter of a process decreased, the process
/// was restarted and all its values count as new; `restarts` is the number of such processes. A
/// restarted process whose counters have all passed their earlier values is not detected.
Scrape since(const Scrape& after, const Scrape& before, int& restarts);

}  // namespace roofcast
