// Parameters of a workload drawn from distributions, named as in `vllm bench serve` where it has
// them. Drawn by generate() in workload.hpp.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "simulator/workload/length_distribution.hpp"
#include "simulator/workload/rate_pattern.hpp"
#include "simulator/workload/think_time.hpp"

namespace roofcast {

inline constexpr double kAllAtOnce = std::numeric_limits<double>::infinity();

/// `--random-range-ratio`: spreads a fixed length L uniformly over a range. The two tools that have
/// the flag define it differently.
struct RangeRatio {
  enum class Style {
    vllm,   // from floor(L (1 - r)) to ceil(L (1 + r)), r below 1 (vllm/benchmarks/datasets.py)
    sglang  // from max(int(L r), 1) to L, r up to 1 (python/sglang/bench_serving.py)
  };
  Style style = Style::vllm;
  std::optional<double> input{};  // unset: the length is not spread
  std::optional<double> output{};

  bool operator==(const RangeRatio&) const = default;
};

/// Prompts with shared prefixes, like `shared_prefix` of inference-perf, `generated-shared-prefix`
/// of SGLang and `prefix_repetition` of vLLM: one system prompt per group, prepended to the input.
/// Requests take the groups' prompts in shuffled order.
struct SharedPrefix {
  std::int64_t groups = 1;
  /// Questions per group. Once all have been asked, they repeat in the same order. 0: no question
  /// is repeated.
  std::int64_t prompts_per_group = 0;
  LengthDistribution system_prompt = fixed_length(2048);  // drawn once per group

  bool operator==(const SharedPrefix&) const = default;
};

/// Questions of all groups; 0 if every request asks its own.
inline std::int64_t prompts_of(const SharedPrefix& prefix) {
  return prefix.groups * prefix.prompts_per_group;
}

/// Conversations: every arrival starts one. The prompt of each turn is the whole conversation so
/// far plus a new question, sent a think time after the last token of the answer.
struct Sessions {
  LengthDistribution turns = fixed_length(3);
  ThinkTime think_time{};
  std::optional<LengthDistribution> first_input{};  // unset: as for later questions, `input`
  /// A session ends before the turn whose prompt and output together would exceed this; its first
  /// turn is always sent. 0: no limit except kMaxTokens.
  std::int64_t max_session_tokens = 0;

  bool operator==(const Sessions&) const = default;
};

/// Requests for LoRA adapters: every request (or session) draws one of `count`. Adapter k (from 0)
/// has weight 1 / (k + 1)^zipf: 0 is uniform, 1 the classical Zipf distribution.
struct LoraAdapters {
  std::int64_t count = 0;  // 0: all requests use the base model
  double zipf = 0;

  bool operator==(const LoraAdapters&) const = default;
};

/// Images in every prompt, after its shared prefix, in addition to the input's tokens.
struct Images {
  std::int64_t count = 0;   // of each request
  std::int64_t tokens = 0;  // of the prompt, for each image

  bool operator==(const Images&) const = default;
};

/// Default lengths: those of vLLM's `bench serve` (--random-input-len,
/// --random-output-len).
inline constexpr std::int64_t kDefaultInputTokens = 1024;
inline constexpr std::int64_t kDefaultOutputTokens = 128;

/// Arrivals and lengths drawn from distributions.
struct SyntheticWorkload {
  std::int64_t num_prompts = 1000;   // arrivals: requests, or sessions if there are any
  double request_rate = kAllAtOnce;  // arrivals per second; infinity: all at once
  bool any_rate = false;             // request_rate is only a base to scale; not in scenario files
  double burstiness = 1.0;           // gamma shape; 1 is Poisson, infinity constant gaps
  /// Rescale so that the last arrival is at num_prompts / request_rate, as vLLM does. With stages:
  /// give each rate times duration requests, and rescale each stage.
  bool normalised = true;
  LengthDistribution input = fixed_length(kDefaultInputTokens);
  LengthDistribution output = fixed_length(kDefaultOutputTokens);
  bool states_output = false;  // `output` was asked for, even if it is the default; not in files
  RatePattern pattern{};
  std::int64_t num_warmups = 0;  // this many first arrivals are left out of all statistics
  RangeRatio range_ratio{};
  std::optional<SharedPrefix> shared_prefix{};
  std::optional<Sessions> sessions{};
  LoraAdapters lora{};
  Images images{};
};

}  // namespace roofcast
