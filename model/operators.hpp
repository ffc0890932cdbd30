// A step taken apart: which operators run, with how much work each.
#pragma once

#include <vector>

#include "model/deployment.hpp"
#include "model/roofline.hpp"
#include "model/step_time.hpp"

namespace roofcast {

/// The work of one step on the slowest rank, one entry per kind of operator (all layers together).
/// GEMM tokens are padded to the captured CUDA-graph size for decode-only batches; `decode_attended`
/// must have one entry per span of attention_spans(model).
std::vector<Work> step_work(const Deployment& deployment, const StepBatch& batch);

/// The distinct spans of a model's attention layers, full attention first when it has any.
std::vector<AttentionSpan> attention_spans(const Transformer& model);

/// The batch in which `sequences` decode, each with `context` cached tokens.
StepBatch decode_batch(const Transformer& model, std::int64_t sequences, std::int64_t context);

}  // namespace roofcast
