// Samples of a Prometheus scrape: the text exposition, or the answer of the HTTP API.
#pragma once

#include <map>
#include <string>

#include "base/io/byte_source.hpp"

namespace roofcast {

using Labels = std::map<std::string, std::string>;

/// One sample of each series, in an order of its own; of a series that comes again the last counts.
struct Scrape {
  /// By name, then by the labels.
  std::map<std::string, std::map<Labels, double>> series{};
};

/// Keeps the series of vLLM and SGLang ("vllm:..." and "sglang:..."). Throws Error naming the line
/// for a sample of theirs that cannot be read.
Scrape read_scrape(ByteSource& bytes);

/// What came after `before`: the difference of everything that counts up (names that end in _total,
/// _bucket, _sum or _count), `after` of the rest. Where one series of a process went down, it was
/// restarted, and all that the process shows now came after; `restarts` counts those processes. One
/// that by now has counted further than before in every series cannot be told.
Scrape since(const Scrape& after, const Scrape& before, int& restarts);

}  // namespace roofcast
