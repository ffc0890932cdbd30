// Service-level objectives: goodput limits per request, and percentile targets per class.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"

namespace roofcast {

enum class LatencyMetric { ttft, tpot, itl, e2e };

std::string_view name_of(LatencyMetric metric);

/// Parses a metric's name or another tool's synonym: "time_to_first_token", "e2el",
/// "request_latency", ... "inter_token_latency" is TPOT, as in aiperf, genai-perf and guidellm,
/// where it is a mean per request. Returns nullopt for an unknown name.
std::optional<LatencyMetric> parse_latency_metric(std::string_view text);

/// One limit: a request is good if every listed metric is at most its limit. A request with one
/// output token has no TPOT and counts as 0 there (vLLM's rule); its ITL is its longest gap between
/// two tokens.
struct GoodputLimit {
  LatencyMetric metric = LatencyMetric::ttft;
  Seconds limit{};
};

/// Parses "ttft:500", "tpot:50", "e2el:5s" (numbers without a unit are milliseconds, as in vLLM);
/// accepts other tools' synonyms. Throws Error naming the text.
GoodputLimit parse_goodput_limit(const std::string& text);

/// "p95 TTFT of class chat at most 0.5 s".
struct PercentileTarget {
  LatencyMetric metric = LatencyMetric::ttft;
  double percentile = 95;  // 0 < percentile < 100
  Seconds limit{};
};

/// Parses "p95:ttft:500ms"; a limit without a unit is in milliseconds, from 1 on. Throws Error
/// naming the text.
PercentileTarget parse_percentile_target(const std::string& text);

/// "p95 TTFT", "p95 TTFT of chat"; an empty class is all requests.
std::string name_of(const PercentileTarget& target, std::string_view slo_class = {});

/// "p95 TTFT ≤ 500.0 ms", "p95 TTFT of chat ≤ 500.0 ms".
std::string words_of(const PercentileTarget& target, std::string_view slo_class = {});

struct SloClass {
  std::string name{};
  double share = 1.0;  // of requests, if the trace does not assign classes; shares sum to 1
  std::vector<PercentileTarget> targets{};
};

struct Slo {
  std::vector<GoodputLimit> goodput{};
  std::vector<PercentileTarget> targets{};  // apply to all requests regardless of class
  std::vector<SloClass> classes{};
};

/// Whether any class, or all requests, have a target; classes alone promise nothing.
bool has_targets(const Slo& slo);

/// The words of each target, of all requests and then of each class.
std::vector<std::string> promises_of(const Slo& slo);

}  // namespace roofcast
