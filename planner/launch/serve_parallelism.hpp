// Degrees of parallelism between an engine's words and this program's, where DP ranks share the
// experts (model/architecture/parallelism.hpp).
#pragma once

#include <string>
#include <vector>

#include "planner/deploy.hpp"
#include "planner/launch/serve_flags.hpp"

namespace roofcast {

/// What the words mean here; what they say that cannot be said here goes to `notes`. Throws
/// UsageError for degrees that contradict each other.
ParallelismOptions understood(ServeEngine engine, const ServeWords& words,
                              std::vector<std::string>& notes);

/// Puts the degrees as the engine says them. `has_experts`: the model has some, which SGLang's and
/// TensorRT-LLM's DP ranks share only with attention alone data parallel.
void put_parallelism(ServeEngine engine, const ParallelismOptions& parallel, bool has_experts,
                     ServeWords& words, std::vector<std::string>& notes);

/// The words' overrides as this program counts them, for each DP rank: with SGLang's
/// --enable-dp-attention, max_running_requests and chunked_prefill_size are of all ranks together
/// (tp_worker.py, server_args.py of sglang/srt). Throws UsageError where a rank gets none.
EngineOverrides of_one_rank(ServeEngine engine, const ServeWords& words);

/// And back, once put_parallelism() has put the degrees.
void put_of_all_ranks(ServeEngine engine, ServeWords& words);

}  // namespace roofcast
