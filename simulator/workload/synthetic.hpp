// A workload to be drawn from distributions: the knobs, named as in `vllm bench serve` where it has
// them. generate() in workload.hpp draws it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "simulator/workload/length_distribution.hpp"
#include "simulator/workload/rate_pattern.hpp"
#include "simulator/workload/think_time.hpp"

namespace roofcast {

inline constexpr double kAllAtOnce = std::numeric_limits<double>::infinity();

/// `--random-range-ratio`: spreads a fixed length L evenly over a range. The two tools that have
/// the flag mean different things by it.
struct RangeRatio {
  enum class Style {
    vllm,   // from floor(L (1 - r)) to ceil(L (1 + r)), r below 1 (vllm/benchmarks/datasets.py)
    sglang  // from max(int(L r), 1) to L, r up to 1 (python/sglang/bench_serving.py)
  };
  Style style = Style::vllm;
  std::optional<double> input{};  // unset: the length as it is given
  std::optional<double> output{};

  bool operator==(const RangeRatio&) const = default;
};

/// Prompts that begin alike, as `shared_prefix` of inference-perf, `generated-shared-prefix` of
/// SGLang and `prefix_repetition` of vLLM: one system prompt a group, put before the input length.
/// Requests take the groups' prompts in a shuffled order.
struct SharedPrefix {
  std::int64_t groups = 1;
  /// Questions of a group. When all have been asked, they are asked again in the same order. 0: no
  /// question is asked twice.
  std::int64_t prompts_per_group = 0;
  LengthDistribution system_prompt = fixed_length(2048);  // drawn once a group

  bool operator==(const SharedPrefix&) const = default;
};

/// Questions of all groups; 0 when there are as many as requests.
inline std::int64_t prompts_of(const SharedPrefix& prefix) {
  return prefix.groups * prefix.prompts_per_group;
}

/// Conversations: every arrival begins one. The prompt of each turn is all that was said before
/// and a new question; it is sent a think time after the last token of the answer.
struct Sessions {
  LengthDistribution turns = fixed_length(3);
  ThinkTime think_time{};
  std::optional<LengthDistribution> first_input{};  // unset: as the later questions, `input`
  /// A session ends before the turn whose prompt and output together would exceed this; its first
  /// turn is always sent. 0: no limit but kMaxTokens.
  std::int64_t max_session_tokens = 0;

  bool operator==(const Sessions&) const = default;
};

/// Requests for LoRA adapters: every request (every session) draws one of `count`. Adapter k (from
/// 0) has the weight 1 / (k + 1)^zipf: 0 is uniform, 1 the classical Zipf.
struct LoraAdapters {
  std::int64_t count = 0;  // 0: all requests are for the base model
  double zipf = 0;

  bool operator==(const LoraAdapters&) const = default;
};

/// Arrivals and lengths drawn from distributions.
struct SyntheticWorkload {
  std::int64_t num_prompts = 1000;   // arrivals: requests, or sessions where there are any
  double request_rate = kAllAtOnce;  // arrivals per second; infinity: all at once
  double burstiness = 1.0;           // gamma shape; 1 is Poisson, infinity constant gaps
  /// Rescale so that the last arrival is num_prompts / request_rate, as vLLM does; with stages,
  /// give each the requests that its rate times its duration says, and rescale it likewise.
  bool normalised = true;
  LengthDistribution input = fixed_length(1024);
  LengthDistribution output = fixed_length(128);
  RatePattern pattern{};
  std::int64_t num_warmups = 0;  // the first so many arrivals are left out of all statistics
  RangeRatio range_ratio{};
  std::optional<SharedPrefix> shared_prefix{};
  std::optional<Sessions> sessions{};
  LoraAdapters lora{};
};

}  // namespace roofcast
