// Converts degrees of parallelism between an engine's flags and this program, where DP ranks share
// the experts (model/architecture/parallelism.hpp).
#pragma once

#include <string>
#include <vector>

#include "planner/launch/serve_flags.hpp"
#include "planner/scenario/resolve_deployment.hpp"

namespace roofcast {

/// The degrees in this program's terms; adds to `notes` what has no equivalent here. Throws
/// UsageError for degrees that contradict each other.
ParallelismOptions understood(ServeEngine engine, const ServeWords& words,
                              std::vector<std::string>& notes);

/// Writes the degrees in the engine's terms. `has_experts`: whether the model has routed experts,
/// which DP ranks of SGLang and TensorRT-LLM share only with data-parallel attention.
void put_parallelism(ServeEngine engine, const ParallelismOptions& parallel, bool has_experts,
                     ServeWords& words, std::vector<std::string>& notes);

/// The overrides per DP rank, as this program counts them: with SGLang's --enable-dp-attention,
/// max_running_requests and chunked_prefill_size are totals over all ranks (tp_worker.py,
/// server_args.py of sglang/srt). Throws UsageError if a rank gets none.
EngineOverrides of_one_rank(ServeEngine engine, const ServeWords& words);

/// The inverse. Precondition: put_parallelism() has set the degrees.
void put_of_all_ranks(ServeEngine engine, ServeWords& words);

}  // namespace roofcast
