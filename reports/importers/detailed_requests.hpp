// The arrays of one entry a request that vLLM's --save-detailed and SGLang's --output-details keep.
#pragma once

#include "base/io/json_reader.hpp"
#include "reports/measured_run.hpp"

namespace roofcast {

/// Adds the requests of `input_lens`, `output_lens`, `ttfts`, `itls` and, where there are any,
/// `start_times` (of any clock; seconds), and of them the statistics that the run does not have.
/// Nothing where the arrays are not there. Throws Error for arrays of different lengths.
void add_detailed_requests(MeasuredRun& run, const JsonReader& object);

}  // namespace roofcast
