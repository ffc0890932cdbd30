#include "validate/observed_workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/random/uniform_real_distribution.hpp>
#include <cmath>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "simulator/random.hpp"
#include "simulator/workload/length_sampler.hpp"

namespace roofcast {
namespace {

using Uniform = boost::random::uniform_real_distribution<double>;

struct Bucket {
  double lower = 0, upper = 0;
  double count = 0;
};

std::vector<Bucket> buckets_of(const LengthCounts& lengths) {
  std::vector<Bucket> buckets;
  double lower = 0;
  for (const auto& [bound, count] : lengths.counts) {
    const double upper = std::isfinite(bound) ? bound : std::max(2 * lower, 1.0);
    buckets.push_back({lower, upper, count});
    lower = bound;
  }
  return buckets;
}

/// Draws lengths of one kind from histograms; their mean over everything is the measured one.
class LengthDraws {
 public:
  LengthDraws(const LengthCounts& whole, double mean, RandomStream random)
      : whole_(buckets_of(whole)), random_(std::move(random)) {
    double lower = 0;
    double width = 0;
    const double total = whole.total();
    for (const Bucket& bucket : whole_) {
      lower += bucket.lower * bucket.count / total;
      width += (bucket.upper - bucket.lower) * bucket.count / total;
    }
    // E[u^k] = 1 / (k + 1). A mean at a bucket's edge would take an infinite k.
    constexpr double kEdge = 0.01;
    const double wanted = width > 0 ? (mean - lower) / width : 0.5;
    const double share = std::clamp(wanted, kEdge, 1 - kEdge);
    below_mean_ = wanted > 1;
    exponent_ = 1 / share - 1;
  }

  /// Whether lengths beyond the last bound are longer than those drawn.
  bool below_mean() const { return below_mean_; }

  /// From the interval's counts, or from all if it has none.
  void set_interval(const LengthCounts& interval) {
    buckets_ = interval.total() > 0 ? buckets_of(interval) : whole_;
    total_ = 0;
    for (const Bucket& bucket : buckets_) total_ += bucket.count;
  }

  std::int64_t draw() {
    double rest = Uniform(0, total_)(random_);
    auto bucket = buckets_.begin();
    while (std::next(bucket) != buckets_.end() && rest >= bucket->count) {
      rest -= bucket->count;
      ++bucket;
    }
    const double even = 1 - Uniform(0, 1)(random_);  // above 0
    const double length =
        bucket->lower + (bucket->upper - bucket->lower) * std::pow(even, exponent_);
    return std::clamp<std::int64_t>(std::llround(std::min(length, 1e15)), 1, kMaxTokens);
  }

 private:
  std::vector<Bucket> whole_, buckets_{};
  RandomStream random_;
  double exponent_ = 1;
  bool below_mean_ = false;
  double total_ = 0;
};

/// Lengths of one kind without a histogram: as assumed, or the mean of each interval.
class MeanLengths {
 public:
  MeanLengths(const std::optional<LengthDistribution>& assumed, double mean, std::uint64_t seed,
              const char* stream)
      : mean_(mean) {
    if (assumed) sampler_.emplace(*assumed, seed, stream);
  }

  void set_interval(double tokens, double requests) {
    here_ = tokens > 0 && requests > 0 ? tokens / requests : mean_;
  }

  /// Means with a fraction are rounded so that their sum stays right.
  std::int64_t draw() {
    if (sampler_) return sampler_->draw();
    due_ += here_;
    const std::int64_t length = std::clamp<std::int64_t>(std::llround(due_), 1, kMaxTokens);
    due_ -= static_cast<double>(length);
    return length;
  }

 private:
  double mean_ = 0, here_ = 0, due_ = 0;
  std::optional<LengthSampler> sampler_{};
};

std::string length_note(const char* what, const std::optional<LengthDistribution>& assumed,
                        double mean) {
  if (!assumed) {
    return fmt::format(
        "the metrics have no histogram of {} lengths: every request has the mean of "
        "its interval, {:.1f} tokens over all",
        what, mean);
  }
  const std::string text = fmt::format("{} lengths are assumed to be {}", what, to_text(*assumed));
  return mean > 0 ? text + fmt::format("; the measured mean is {:.1f} tokens", mean) : text;
}

std::vector<std::string> notes_of(const ObservedLoad& load, double longest_gap,
                                  const AssumedLengths& assumed) {
  std::vector<std::string> notes{fmt::format(
      "requests are those that {}:{} counted, at times drawn evenly between samples, at "
      "most {:.0f} s apart",
      load.engine, load.counted_by, longest_gap)};
  if (load.has_lengths()) {
    notes.push_back(fmt::format(
        "input and output lengths are drawn independently from each interval's histograms; "
        "their measured means are {:.1f} and {:.1f} tokens",
        load.mean_input, load.mean_output));
  } else {
    notes.emplace_back(
        "requests are counted when they end, so each arrives late by its own latency");
    notes.push_back(length_note("input", assumed.input, load.mean_input));
    notes.push_back(length_note("output", assumed.output, load.mean_output));
  }
  if (load.prefix_hit_share && *load.prefix_hit_share > 0) {
    notes.push_back(
        fmt::format("the server found {:.1f} % of the prompts' tokens in its prefix cache; metrics "
                    "do not say which, so here all prompts are new",
                    100 * *load.prefix_hit_share));
  }
  return notes;
}

struct DrawnRequests {
  std::vector<Request> requests{};  // arriving since the first interval began
  bool below_mean = false;          // longer lengths than drawn were beyond a last bound
};

void check_lengths(const ObservedLoad& load, const AssumedLengths& assumed) {
  if (load.has_lengths()) return;
  const auto known = [&](double mean, const std::optional<LengthDistribution>& lengths,
                         const char* counter, const char* key) {
    if (mean > 0 || lengths) return;
    throw Error(
        fmt::format("{}: contains no {}:{} that rises, from which lengths are taken; "
                    "expected `{}`",
                    load.name, load.engine, counter, key));
  };
  known(load.mean_input, assumed.input, "prompt_tokens_total", "input_len");
  known(load.mean_output, assumed.output, "generation_tokens_total", "output_len");
}

DrawnRequests draw_requests(const ObservedLoad& load, std::uint64_t seed,
                            const AssumedLengths& assumed) {
  const double total = load.requests();
  if (total < 1) throw Error(load.name + ": counts no request");
  if (total > static_cast<double>(kMaxRequests)) {
    throw Error(fmt::format("{}: counts {:.3g} requests, at most {} can be simulated", load.name,
                            total, with_separators(kMaxRequests)));
  }
  const double begin_s = load.intervals.front().begin_s;
  if (load.intervals.back().end_s - begin_s > to_seconds(kLongestSpan).value) {
    throw Error(load.name + ": spans more than ten years");
  }
  check_lengths(load, assumed);
  DrawnRequests drawn;
  RandomStream arrivals = random_stream(seed, "observed_arrivals");
  LengthDraws input(load.input, load.mean_input, random_stream(seed, "observed_inputs"));
  LengthDraws output(load.output, load.mean_output, random_stream(seed, "observed_outputs"));
  MeanLengths mean_input(assumed.input, load.mean_input, seed, "observed_inputs");
  MeanLengths mean_output(assumed.output, load.mean_output, seed, "observed_outputs");
  double due = 0;  // recorded and averaged counters have fractions
  for (const LoadInterval& interval : load.intervals) {
    due += interval.requests;
    const std::int64_t requests = std::llround(due) - std::ssize(drawn.requests);
    if (requests <= 0) continue;
    std::vector<double> times(static_cast<std::size_t>(requests));
    for (double& time : times) time = Uniform(interval.begin_s, interval.end_s)(arrivals);
    std::sort(times.begin(), times.end());
    const bool drawn_from_histograms = load.has_lengths();
    if (drawn_from_histograms) {
      input.set_interval(interval.input);
      output.set_interval(interval.output);
    } else {
      mean_input.set_interval(interval.input_tokens, interval.requests);
      mean_output.set_interval(interval.output_tokens, interval.requests);
    }
    for (const double time : times) {
      drawn.requests.push_back(
          {.arrival = to_nanoseconds(Seconds{time - begin_s}),
           .input_tokens = drawn_from_histograms ? input.draw() : mean_input.draw(),
           .output_tokens = drawn_from_histograms ? output.draw() : mean_output.draw()});
    }
  }
  drawn.below_mean = input.below_mean() || output.below_mean();
  return drawn;
}

}  // namespace

std::vector<Request> requests_of(const ObservedLoad& load, std::uint64_t seed) {
  return draw_requests(load, seed, {}).requests;
}

Workload workload_of(const ObservedLoad& load, std::uint64_t seed, const AssumedLengths& assumed) {
  DrawnRequests drawn = draw_requests(load, seed, assumed);
  Workload workload;
  workload.requests = std::move(drawn.requests);
  const Nanoseconds first = workload.requests.front().arrival;
  for (Request& request : workload.requests) request.arrival -= first;
  double longest_gap = 0;
  for (const LoadInterval& interval : load.intervals) {
    longest_gap = std::max(longest_gap, interval.end_s - interval.begin_s);
  }
  workload.description = fmt::format("{}: {} requests over {:.1f} s", load.name,
                                     with_separators(std::ssize(workload.requests)),
                                     load.intervals.back().end_s - load.intervals.front().begin_s);
  workload.notes = notes_of(load, longest_gap, assumed);
  if (drawn.below_mean) {
    workload.notes.emplace_back(
        "lengths beyond a histogram's last bound are lumped together: their drawn mean is below "
        "the measured one");
  }
  return workload;
}

}  // namespace roofcast
