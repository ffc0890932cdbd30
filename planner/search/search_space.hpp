// What a search may choose from: a list of values for each knob, and every shape that these make.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/search/candidate.hpp"
#include "planner/what_if/vary.hpp"

namespace roofcast {

struct SearchSpace {
  std::vector<std::string> gpus{};  // names of profiles, or paths
  /// Values as written after a flag; "default" leaves a knob to the engine or the checkpoint.
  std::vector<Knob> dimensions{};
  Shape base{};                 // what no dimension sets
  std::int32_t max_units = 64;  // of a shape
};

/// Most shapes of a search: an hour's simulations, so more is a mistake in the input.
inline constexpr std::int64_t kMaxShapes = 1'000'000;

/// The knobs that can be searched, for messages: "tensor_parallel_size, ...".
std::string searchable_keys();

/// Reads "tp=1,2,4", "kv_cache_dtype=default,fp8" or "max_num_seqs=32-256*2" (kKnobForms). Throws
/// UsageError naming the key or the value that is not known.
Knob parse_dimension(const std::string& text);

/// The dimensions in the order of the knobs' table whatever order they come in, with tensor
/// parallelism over 1, 2, 4 and 8 where it is neither searched nor set by `fixed_tensor`. Throws
/// UsageError for a key that comes twice.
std::vector<Knob> completed(std::vector<Knob> dimensions, bool fixed_tensor);

/// Every GPU with every combination of values; the last dimension varies fastest. Throws UsageError
/// when there are more than kMaxShapes.
std::vector<Shape> shapes_of(const SearchSpace& space);

}  // namespace roofcast
