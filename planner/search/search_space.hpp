// The search space: a list of values for each knob, and every shape that they form.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/search/candidate.hpp"
#include "planner/vary/vary.hpp"

namespace roofcast {

struct SearchSpace {
  std::vector<std::string> gpus{};  // profile names or paths
  /// Values as after a flag; "default" leaves a knob to the engine or the checkpoint.
  std::vector<Knob> dimensions{};
  Shape base{};                 // what no dimension sets
  std::int32_t max_units = 64;  // replicas of a shape, prefill and decode together
};

/// Maximum number of shapes: an hour of simulations, so more is an input error.
inline constexpr std::int64_t kMaxShapes = 1'000'000;

/// The searchable knobs, for messages: "tensor_parallel_size, ...".
std::string searchable_keys();

/// Reads "tp=1,2,4", "kv_cache_dtype=default,fp8" or "max_num_seqs=32-256*2" (kKnobForms). Throws
/// UsageError naming the unknown key or value.
Knob parse_dimension(const std::string& text);

/// The dimensions in the order of the table of knobs, with tensor parallelism over 1, 2, 4 and 8
/// added unless it is searched or `fixed_tensor` is set. Throws UsageError for a duplicate key.
std::vector<Knob> completed(std::vector<Knob> dimensions, bool fixed_tensor);

/// Every GPU with every combination of values; the last dimension varies fastest. Throws UsageError
/// for more than kMaxShapes.
std::vector<Shape> shapes_of(const SearchSpace& space);

}  // namespace roofcast
