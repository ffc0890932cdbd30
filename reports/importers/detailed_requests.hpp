// The arrays with one entry per request that vLLM's --save-detailed and SGLang's --output-details
// write.
#pragma once

#include "base/io/json_reader.hpp"
#include "reports/measured_run.hpp"

namespace roofcast {

/// Adds the requests of `input_lens`, `output_lens`, `ttfts`, `itls` and, if present, `start_times`
/// (seconds on any clock), and those of their statistics that the run does not have yet. Does
/// nothing if the arrays are absent. Throws Error if their lengths differ.
void add_detailed_requests(MeasuredRun& run, const JsonReader& object);

}  // namespace roofcast
