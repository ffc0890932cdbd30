#include "reports/importers/prometheus_load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>

#include "base/error.hpp"
#include "base/io/json_reader.hpp"
#include "reports/importers/prometheus_series.hpp"

namespace roofcast {
namespace {

/// Counters of requests, the one that counts them earliest first: at the first token, then at the
/// end (docs.vllm.ai and docs.sglang.ai, "metrics").
constexpr std::array<std::string_view, 5> kRequestCounters = {
    "time_to_first_token_seconds_count", "request_prompt_tokens_count",
    "prompt_tokens_histogram_count", "request_success_total", "num_requests_total"};
constexpr std::array<std::string_view, 2> kInputHistograms = {"request_prompt_tokens",
                                                              "prompt_tokens_histogram"};
constexpr std::array<std::string_view, 2> kOutputHistograms = {"request_generation_tokens",
                                                               "generation_tokens_histogram"};

using Samples = std::map<Labels, std::vector<std::pair<double, double>>>;

const Samples* find(const ScrapeRange& range, const std::string& name) {
  const auto found = range.series.find(name);
  return found == range.series.end() ? nullptr : &found->second;
}

/// Calls `see(labels, time, rise)` for each sample after a series' first.
template <class See>
void for_each_rise(const Samples& all, See see) {
  for (const auto& [labels, samples] : all) {
    for (std::size_t i = 1; i < samples.size(); ++i) {
      see(labels, samples[i].first, rise(samples[i - 1].second, samples[i].second));
    }
  }
}

/// Intervals between the times at which any series was sampled.
std::vector<LoadInterval> intervals_of(const Samples& counters) {
  std::set<double> times;
  for (const auto& [labels, samples] : counters) {
    for (const auto& [time, value] : samples) times.insert(time);
  }
  std::vector<LoadInterval> intervals;
  for (auto next = times.begin(); next != times.end();) {
    const double begin = *next++;
    if (next != times.end()) intervals.push_back({.begin_s = begin, .end_s = *next});
  }
  return intervals;
}

/// The interval that ends at `time` or next after it; the last one if none does.
LoadInterval& interval_at(std::vector<LoadInterval>& intervals, double time) {
  const auto found =
      std::lower_bound(intervals.begin(), intervals.end(), time,
                       [](const LoadInterval& interval, double at) { return interval.end_s < at; });
  return found == intervals.end() ? intervals.back() : *found;
}

/// Cumulative counts by bound become counts between bounds.
void separate(LengthCounts& lengths) {
  double below = 0;
  for (auto& [bound, count] : lengths.counts) {
    const double cumulative = std::max(count, below);  // buckets may be sampled a moment apart
    count = cumulative - below;
    below = cumulative;
  }
}

/// Adds a histogram's counts to each interval and to `whole`. Returns false if there is none.
bool add_lengths(ObservedLoad& load, const ScrapeRange& range, const std::string& name,
                 LengthCounts LoadInterval::*part, LengthCounts& whole) {
  const Samples* buckets = find(range, name + "_bucket");
  if (buckets == nullptr) return false;
  for_each_rise(*buckets, [&](const Labels& labels, double time, double count) {
    const auto bound = labels.find("le");
    const auto limit =
        bound == labels.end() ? std::nullopt : number_in(std::string_view(bound->second));
    if (!limit || !(*limit >= 0)) return;  // no length
    (interval_at(load.intervals, time).*part).counts[*limit] += count;
    whole.counts[*limit] += count;
  });
  for (LoadInterval& interval : load.intervals) separate(interval.*part);
  separate(whole);
  return whole.total() > 0 && std::isfinite(whole.total());
}

double add_first_lengths(ObservedLoad& load, const ScrapeRange& range, const Scrape& risen,
                         std::span<const std::string_view> histograms,
                         LengthCounts LoadInterval::*part, LengthCounts& whole) {
  for (const std::string_view histogram : histograms) {
    const std::string name = fmt::format("{}:{}", load.engine, histogram);
    const auto mean = mean_of(risen, name);
    if (mean && add_lengths(load, range, name, part, whole)) return *mean;
  }
  throw Error(fmt::format(
      "{}: contains no {}:{} (with _bucket, _sum and _count) that rises, from "
      "which lengths are drawn{}",
      load.name, load.engine, fmt::join(histograms, " or "),
      load.engine == "sglang" ? "; SGLang counts them with --collect-tokens-histogram" : ""));
}

/// Fills in the tokens of each interval and returns their mean per request; 0 if they are not
/// counted.
double add_tokens(ObservedLoad& load, const ScrapeRange& range, const std::string& counter,
                  double LoadInterval::*tokens) {
  const Samples* samples = find(range, fmt::format("{}:{}", load.engine, counter));
  if (samples == nullptr) return 0;
  double sum = 0;
  for_each_rise(*samples, [&](const Labels&, double time, double count) {
    interval_at(load.intervals, time).*tokens += count;
    sum += count;
  });
  return sum / load.requests();
}

}  // namespace

double LengthCounts::total() const {
  double sum = 0;
  for (const auto& [bound, count] : counts) sum += count;
  return sum;
}

double ObservedLoad::requests() const {
  double sum = 0;
  for (const LoadInterval& interval : intervals) sum += interval.requests;
  return sum;
}

ObservedLoad read_observed_load(ByteSource& bytes) {
  const ScrapeRange range = read_range(bytes);
  return observed_load(range, bytes.name());
}

ObservedLoad observed_load(const ScrapeRange& range, const std::string& name) {
  ObservedLoad load{.name = name};
  const Scrape risen = rise_of(range);
  load.engine = engine_of(risen);
  if (load.engine.empty()) {
    throw Error(
        load.name +
        ": contains no vllm:, sglang: or trtllm_ metrics, expected the answer of query_range to "
        "their counters as they are, without rate() or increase()");
  }
  for (const std::string_view counter : kRequestCounters) {
    const Samples* samples = find(range, fmt::format("{}:{}", load.engine, counter));
    if (samples == nullptr) continue;
    load.counted_by = counter;
    load.intervals = intervals_of(*samples);
    if (load.intervals.empty()) {
      throw Error(fmt::format("{}: {}:{} has a single time, expected the answer of query_range",
                              load.name, load.engine, counter));
    }
    for_each_rise(*samples, [&](const Labels&, double time, double count) {
      interval_at(load.intervals, time).requests += count;
    });
    break;
  }
  if (load.intervals.empty()) {
    throw Error(fmt::format("{}: contains no {}:{}, which counts the requests", load.name,
                            load.engine, kRequestCounters.front()));
  }
  load.measured = measured_by(risen, load.engine);
  load.measured.origin = load.name;
  if (load.requests() == 0) return load;
  if (load.engine == "trtllm") {
    load.mean_input = add_tokens(load, range, "prompt_tokens_total", &LoadInterval::input_tokens);
    load.mean_output =
        add_tokens(load, range, "generation_tokens_total", &LoadInterval::output_tokens);
    return load;
  }
  load.mean_input =
      add_first_lengths(load, range, risen, kInputHistograms, &LoadInterval::input, load.input);
  load.mean_output =
      add_first_lengths(load, range, risen, kOutputHistograms, &LoadInterval::output, load.output);
  const auto queries = sum_of(risen, load.engine + ":prefix_cache_queries_total");
  const auto hits = sum_of(risen, load.engine + ":prefix_cache_hits_total");
  if (queries && hits && *queries > 0) load.prefix_hit_share = *hits / *queries;
  return load;
}

}  // namespace roofcast
