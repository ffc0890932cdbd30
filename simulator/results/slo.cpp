#include "simulator/results/slo.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include "base/error.hpp"

namespace roofcast {
namespace {

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

struct TimeUnit {
  std::string_view suffix;
  double seconds;
};

constexpr std::array kUnits = {TimeUnit{"", 1e-3}, TimeUnit{"ms", 1e-3}, TimeUnit{"s", 1.0},
                               TimeUnit{"us", 1e-6}};

std::string lower_with_underscores(std::string_view text) {
  std::string result(text);
  for (char& letter : result) {
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    if (letter == '-') letter = '_';
  }
  return result;
}

std::optional<Seconds> parse_limit(std::string_view text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || !std::isfinite(number) || number <= 0) return std::nullopt;
  const std::string suffix =
      lower_with_underscores(std::string_view(rest, static_cast<std::size_t>(end - rest)));
  for (const TimeUnit& unit : kUnits) {
    if (unit.suffix == suffix) return Seconds{number * unit.seconds};
  }
  return std::nullopt;
}

std::optional<GoodputLimit> parse_metric_limit(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto metric = parse_latency_metric(text.substr(0, colon));
  const auto limit = parse_limit(text.substr(colon + 1));
  if (!metric || !limit) return std::nullopt;
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
  const std::string wanted = lower_with_underscores(text);
  for (const Synonym& synonym : kSynonyms) {
    if (synonym.name == wanted) return synonym.metric;
  }
  return std::nullopt;
}

GoodputLimit parse_goodput_limit(const std::string& text) {
  if (const auto limit = parse_metric_limit(text)) return *limit;
  throw Error(fmt::format(
      "goodput limit '{}': expected METRIC:LIMIT with METRIC one of ttft, tpot, itl, e2el and a "
      "positive LIMIT such as 500, 500ms or 0.5s (bare numbers are milliseconds)",
      text));
}

PercentileTarget parse_percentile_target(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon != std::string::npos && (text[0] == 'p' || text[0] == 'P')) {
    double percentile = 0;
    const auto [rest, error] = std::from_chars(text.data() + 1, text.data() + colon, percentile);
    const bool whole = error == std::errc{} && rest == text.data() + colon;
    const auto limit = parse_metric_limit(std::string_view(text).substr(colon + 1));
    // Other flags count bare times in seconds, goodput limits in milliseconds.
    const bool has_unit = text.back() == 's' || text.back() == 'S';
    if (whole && percentile > 0 && percentile < 100 && limit && has_unit) {
      return {.metric = limit->metric, .percentile = percentile, .limit = limit->limit};
    }
  }
  throw Error(
      fmt::format("target '{}': expected pPERCENTILE:METRIC:LIMIT, the limit with its unit, such "
                  "as p95:ttft:500ms or p99:e2e:2s",
                  text));
}

}  // namespace roofcast
