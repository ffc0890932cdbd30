#include "simulator/workload/workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/random/gamma_distribution.hpp>
#include <boost/random/normal_distribution.hpp>
#include <boost/random/uniform_int_distribution.hpp>
#include <cmath>

#include "model/error.hpp"
#include "simulator/random.hpp"
#include "simulator/wording.hpp"

namespace roofcast {
namespace {

constexpr std::int64_t kMostRequests =
    100'000'000;                           // over 15 GB of state: a mistake, not a workload
constexpr double kLeastBurstiness = 1e-3;  // below it nearly every gap is 0 and one holds it all

void check(const SyntheticWorkload& spec) {
  if (spec.num_prompts < 1 || spec.num_prompts > kMostRequests) {
    throw Error(
        fmt::format("num_prompts is {}, expected 1 to {}", spec.num_prompts, kMostRequests));
  }
  if (!(spec.request_rate > 0)) {
    throw Error(
        fmt::format("request_rate is {}, expected a positive number of requests per second "
                    "or inf",
                    spec.request_rate));
  }
  if (!(spec.burstiness >= kLeastBurstiness)) {
    throw Error(fmt::format("burstiness is {}, expected at least {} or inf", spec.burstiness,
                            kLeastBurstiness));
  }
  const double span = static_cast<double>(spec.num_prompts) / spec.request_rate;
  if (span > to_seconds(kLongestSpan).value) {
    throw Error(fmt::format("request_rate is {}: {} would take over ten years to arrive",
                            spec.request_rate, counted(spec.num_prompts, "request")));
  }
}

/// Gaps between arrivals, as `vllm bench serve` draws them: gamma with shape `burstiness` and mean
/// 1 / rate. The first request has a gap too.
std::vector<Nanoseconds> cumulative_gaps(const SyntheticWorkload& spec, RandomStream& random) {
  const bool constant = std::isinf(spec.burstiness);
  boost::random::gamma_distribution<double> gamma(constant ? 1.0 : spec.burstiness, 1.0);
  std::vector<Nanoseconds> times;
  times.reserve(static_cast<std::size_t>(spec.num_prompts));
  Nanoseconds time = 0;
  for (std::int64_t i = 0; i < spec.num_prompts; ++i) {
    const double gaps_of_mean = constant ? 1.0 : gamma(random) / spec.burstiness;
    const double gap = gaps_of_mean / spec.request_rate;
    // Rounded before it is summed, so that a maths library that differs in the last bit cannot
    // shift all later arrivals.
    time += to_nanoseconds(Seconds{std::min(gap, to_seconds(kLongestSpan).value)});
    if (time > 2 * kLongestSpan) {
      throw Error(fmt::format("request_rate {} with burstiness {}: arrivals span over twenty years",
                              spec.request_rate, spec.burstiness));
    }
    times.push_back(time);
  }
  return times;
}

/// Scales the schedule so that the last arrival is at `target`: removes the drawn rate's noise.
void rescale(std::vector<Nanoseconds>& times, Nanoseconds target) {
  const Nanoseconds last = times.back();
  if (last == 0) return;
  for (Nanoseconds& time : times) {
    const double share = static_cast<double>(time) / static_cast<double>(last);
    time = std::llround(share * static_cast<double>(target));
  }
}

std::vector<Nanoseconds> arrival_times(const SyntheticWorkload& spec, std::uint64_t seed) {
  if (std::isinf(spec.request_rate)) {
    return std::vector<Nanoseconds>(static_cast<std::size_t>(spec.num_prompts), 0);
  }
  RandomStream random = random_stream(seed, "arrivals");
  auto times = cumulative_gaps(spec, random);
  if (spec.normalised) {
    const double last = static_cast<double>(spec.num_prompts) / spec.request_rate;
    rescale(times, to_nanoseconds(Seconds{last}));
  }
  return times;
}

/// Draws token counts and counts how many had to be moved into [1, kMostTokens].
class LengthSampler {
 public:
  LengthSampler(const LengthDistribution& lengths, std::uint64_t seed, std::string_view stream)
      : lengths_(lengths), random_(random_stream(seed, stream)) {}

  std::int64_t draw() {
    using Kind = LengthDistribution::Kind;
    switch (lengths_.kind) {
      case Kind::fixed:
        break;
      case Kind::uniform: {
        boost::random::uniform_int_distribution<std::int64_t> uniform(std::llround(lengths_.a),
                                                                      std::llround(lengths_.b));
        return uniform(random_);
      }
      case Kind::normal:
        return clamp(lengths_.a + lengths_.b * standard_(random_));
      case Kind::lognormal:
        return clamp(lengths_.a * std::exp(lengths_.b * standard_(random_)));
    }
    return clamp(lengths_.a);
  }

  std::int64_t clamped() const { return clamped_; }

 private:
  std::int64_t clamp(double tokens) {
    const double inside = std::clamp(tokens, 1.0, static_cast<double>(kMostTokens));
    if (std::round(tokens) != std::round(inside)) ++clamped_;
    return std::llround(inside);
  }

  LengthDistribution lengths_;
  RandomStream random_;
  boost::random::normal_distribution<double> standard_;
  std::int64_t clamped_ = 0;
};

std::string describe(const SyntheticWorkload& spec) {
  const std::string arrivals =
      std::isinf(spec.request_rate)
          ? "all at once"
          : fmt::format("at {} requests/s (burstiness {})", spec.request_rate, spec.burstiness);
  return fmt::format("synthetic: {} {}, input {}, output {}", counted(spec.num_prompts, "request"),
                     arrivals, to_text(spec.input), to_text(spec.output));
}

}  // namespace

Workload generate(const SyntheticWorkload& spec, std::uint64_t seed) {
  check(spec);
  const auto times = arrival_times(spec, seed);
  LengthSampler inputs(spec.input, seed, "input_lengths");
  LengthSampler outputs(spec.output, seed, "output_lengths");
  Workload workload;
  workload.requests.reserve(times.size());
  for (Nanoseconds time : times) {
    const std::int64_t input = inputs.draw();
    const std::int64_t output = outputs.draw();
    workload.requests.push_back({.arrival = time, .input_tokens = input, .output_tokens = output});
  }
  workload.description = describe(spec);
  auto note = [&](std::string_view what, std::int64_t count) {
    if (count == 0) return;
    workload.notes.push_back(
        fmt::format("{} drawn {} lengths lay outside 1 to {} and were moved to "
                    "the nearer end",
                    count, what, kMostTokens));
  };
  note("input", inputs.clamped());
  note("output", outputs.clamped());
  return workload;
}

}  // namespace roofcast
