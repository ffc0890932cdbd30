// The flags that shape a synthetic load beyond one rate and two lengths: ramps, stages, shared
// prefixes, sessions, adapters. Names as in `vllm bench serve` where it has them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/flags/flag.hpp"
#include "simulator/workload/synthetic.hpp"

namespace roofcast {

/// Command-line values.
struct LoadShapeOptions {
  std::optional<bool> normalised;
  std::optional<std::string> ramp_up_strategy;
  std::optional<double> ramp_up_start, ramp_up_end;
  std::vector<std::string> stages, cycle;  // "10:60"
  std::optional<DiurnalRate> diurnal;
  std::optional<std::int64_t> num_warmups;
  std::optional<std::string> range_ratio;  // "0.3" or "{"input": 0.3, "output": 0.5}"
  std::optional<std::string> range_ratio_style;
  std::optional<std::string> prefix_len;  // a length, or "0" for none
  std::optional<std::int64_t> prefix_groups, prompts_per_group;
  std::optional<LengthDistribution> turns, first_input;
  std::optional<ThinkTime> think_time;
  std::optional<std::int64_t> max_session_tokens;
  std::optional<std::int64_t> lora_adapters;
  std::optional<double> lora_zipf;
  std::optional<std::int64_t> images, image_tokens;

  bool operator==(const LoadShapeOptions&) const = default;
};

const Flags<LoadShapeOptions>& load_shape_flags();

/// Whether any of them was given.
inline bool is_given(const LoadShapeOptions& options) { return options != LoadShapeOptions{}; }

/// Whether a flag sets how the rate changes over time.
bool has_pattern(const LoadShapeOptions& options);

/// Writes the given values into `workload`; num_prompts follows groups and prompts if `count_given`
/// is false. Throws UsageError naming the flag that cannot be read or combined.
void apply(const LoadShapeOptions& options, bool count_given, SyntheticWorkload& workload);

}  // namespace roofcast
