// What arrives: requests with arrival times and lengths, from a trace or drawn from distributions.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "simulator/slo.hpp"
#include "simulator/time.hpp"

namespace roofcast {

struct Request {
  Nanoseconds arrival = 0;  // created at the client, first request of a workload at >= 0
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;  // generated in full (ignore_eos)
  std::int32_t slo_class = 0;      // index into Scenario::slo.classes; 0 when there are none
  std::int64_t priority = 0;       // smaller first, for QueueOrder::priority
};

/// Token counts of prompts or outputs. All draws are clamped to [1, max].
struct LengthDistribution {
  enum class Kind { fixed, uniform, normal, lognormal };
  Kind kind = Kind::fixed;
  double a = 0;  // fixed: tokens; uniform: low; normal: mean; lognormal: median
  double b = 0;  // uniform: high (inclusive); normal: sd; lognormal: sigma of ln
};

/// "512", "uniform:100:900", "normal:512:64", "lognormal:512:0.8"; counts take vLLM's suffixes
/// (1k = 1000, 1K = 1024, likewise m and M). Throws Error naming the text and the forms that exist.
LengthDistribution parse_length_distribution(const std::string& text);

/// The text that parse_length_distribution reads back to the same value.
std::string to_text(const LengthDistribution& lengths);

inline constexpr double kAllAtOnce = std::numeric_limits<double>::infinity();

/// Longest prompt or output that a workload may hold, and longest time from first to last arrival:
/// far beyond any model or recording, so what exceeds them is a mistake in the input.
inline constexpr std::int64_t kMostTokens = 10'000'000;
inline constexpr Nanoseconds kLongestSpan = 10LL * 365 * 86'400 * 1'000'000'000;  // ten years

/// Arrivals and lengths drawn from distributions; flags as in `vllm bench serve`.
struct SyntheticWorkload {
  std::int64_t num_prompts = 1000;
  double request_rate = kAllAtOnce;  // per second; infinity: all at once
  double burstiness = 1.0;           // gamma shape; 1 is Poisson, infinity constant gaps
  bool normalised = true;  // rescale so that the last arrival is num_prompts / request_rate
  LengthDistribution input{LengthDistribution::Kind::fixed, 1024, 0};
  LengthDistribution output{LengthDistribution::Kind::fixed, 128, 0};
};

/// A recorded trace.
struct TraceWorkload {
  std::string path{};             // .csv or .csv.gz; relative to the scenario file
  std::int64_t max_requests = 0;  // the first so many rows of the file; 0: all
  double time_scale = 1.0;        // arrival times are multiplied by this
  bool skip_bad_rows = false;     // count and skip rows that cannot be read, instead of failing
};

using WorkloadSpec = std::variant<SyntheticWorkload, TraceWorkload>;

/// Requests in order of arrival (ties keep file order), and what was left out on the way.
struct Workload {
  std::vector<Request> requests;
  std::string description;               // "azure_conv.csv: 19,366 requests over 3,501.6 s"
  std::vector<std::string> class_names;  // of Request::slo_class when a trace names its classes
  std::int64_t rows_skipped = 0;         // bad rows, with skip_bad_rows
  std::vector<std::string> notes;        // what was altered: empty outputs, reordered rows
};

/// Draws a synthetic workload. Streams "arrivals", "input_lengths" and "output_lengths" are seeded
/// from (seed, name): changing one distribution leaves the others' draws as they were.
/// Throws Error naming the knob that is out of range.
Workload generate(const SyntheticWorkload& spec, std::uint64_t seed);

/// Gives every request its class of `slo`: by the trace's class names where it has them, else drawn
/// by share from stream "slo_class". Throws Error for a class that `slo` does not list.
void assign_slo_classes(Workload& workload, const Slo& slo, std::uint64_t seed);

}  // namespace roofcast
