#include "simulator/results/slo.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/quantity.hpp"
#include "base/text.hpp"
#include "simulator/results/figures.hpp"

namespace roofcast {
namespace {

constexpr const char* kMetrics = "ttft, tpot, itl, e2el";
constexpr const char* kBareNumbers = "bare numbers are milliseconds, from 1 on";

struct Synonym {
  std::string_view name;
  LatencyMetric metric;
};

// vLLM and SGLang, genai-perf and aiperf, guidellm, inference-perf, in that order of preference.
constexpr std::array kSynonyms = {
    Synonym{"ttft", LatencyMetric::ttft},
    Synonym{"time_to_first_token", LatencyMetric::ttft},
    Synonym{"tpot", LatencyMetric::tpot},
    Synonym{"time_per_output_token", LatencyMetric::tpot},
    Synonym{"inter_token_latency", LatencyMetric::tpot},
    Synonym{"itl", LatencyMetric::itl},
    Synonym{"e2e", LatencyMetric::e2e},
    Synonym{"e2el", LatencyMetric::e2e},
    Synonym{"e2e_latency", LatencyMetric::e2e},
    Synonym{"request_latency", LatencyMetric::e2e},
};

/// "METRIC:LIMIT". A limit without a unit is in milliseconds, as in vLLM's benchmark; below 1 it is
/// refused, since it may be meant in seconds.
std::optional<GoodputLimit> parse_metric_limit(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto metric = parse_latency_metric(text.substr(0, colon));
  const std::string_view written = text.substr(colon + 1);
  const auto limit = time_in(lower(written), BareTime::milliseconds);
  const auto bare = to_number<double>(written);
  if (bare && *bare < 1) return std::nullopt;
  if (!metric || !limit || limit->value <= 0) return std::nullopt;
  return GoodputLimit{.metric = *metric, .limit = *limit};
}

}  // namespace

std::string_view name_of(LatencyMetric metric) {
  switch (metric) {
    case LatencyMetric::ttft:
      return "ttft";
    case LatencyMetric::tpot:
      return "tpot";
    case LatencyMetric::itl:
      return "itl";
    case LatencyMetric::e2e:
      break;
  }
  return "e2e";
}

std::optional<LatencyMetric> parse_latency_metric(std::string_view text) {
  std::string wanted = lower(text);
  std::replace(wanted.begin(), wanted.end(), '-', '_');
  for (const Synonym& synonym : kSynonyms) {
    if (synonym.name == wanted) return synonym.metric;
  }
  return std::nullopt;
}

GoodputLimit parse_goodput_limit(const std::string& text) {
  if (const auto limit = parse_metric_limit(text)) return *limit;
  throw Error(
      fmt::format("goodput limit '{}': expected METRIC:LIMIT with METRIC one of {} and a positive "
                  "LIMIT such as 500, 500ms or 0.5s ({})",
                  text, kMetrics, kBareNumbers));
}

std::string name_of(const PercentileTarget& target, std::string_view slo_class) {
  return fmt::format("p{:g} {}{}{}", target.percentile, title_of(target.metric),
                     slo_class.empty() ? "" : " of ", slo_class);
}

std::string words_of(const PercentileTarget& target, std::string_view slo_class) {
  return name_of(target, slo_class) + " ≤ " + as_time(target.limit);
}

bool has_targets(const Slo& slo) {
  return !slo.targets.empty() ||
         std::ranges::any_of(slo.classes, [](const SloClass& one) { return !one.targets.empty(); });
}

std::vector<std::string> promises_of(const Slo& slo) {
  std::vector<std::string> promises;
  const auto add = [&](const std::vector<PercentileTarget>& targets, std::string_view slo_class) {
    for (const PercentileTarget& target : targets) promises.push_back(words_of(target, slo_class));
  };
  add(slo.targets, {});
  for (const SloClass& one : slo.classes) add(one.targets, one.name);
  return promises;
}

PercentileTarget parse_percentile_target(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon != std::string::npos && (text[0] == 'p' || text[0] == 'P')) {
    const std::string_view view = text;
    const auto percentile = to_number<double>(view.substr(1, colon - 1));
    const auto limit = parse_metric_limit(view.substr(colon + 1));
    if (percentile && *percentile > 0 && *percentile < 100 && limit) {
      return {.metric = limit->metric, .percentile = *percentile, .limit = limit->limit};
    }
  }
  throw Error(fmt::format(
      "target '{}': expected pPERCENTILE:METRIC:LIMIT such as p95:ttft:500ms or p99:e2e:2s, with "
      "PERCENTILE between 0 and 100 and METRIC one of {} ({})",
      text, kMetrics, kBareNumbers));
}

}  // namespace roofcast
