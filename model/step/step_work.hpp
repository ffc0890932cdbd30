// A step decomposed into operators, with the work of each.
#pragma once

#include <vector>

#include "model/deployment.hpp"
#include "model/step/roofline.hpp"
#include "model/step/step_time.hpp"

namespace roofcast {

/// The work of one step on one rank, one entry per kind of operator (all layers together). Under
/// pipeline parallelism: of one rank of every stage in turn, so that times sum to a token's path
/// through the whole model. GEMM tokens are padded to the captured CUDA-graph size for decode-only
/// batches; `decode_attended` must have one entry per span of attention_spans(model). Neglects
/// uneven expert load and the padding of mixed batches.
std::vector<Work> step_work(const Deployment& deployment, const StepBatch& batch);

/// The distinct spans of a model's attention layers, full attention first if it has any (or if an
/// indexer scans the whole context).
std::vector<AttentionSpan> attention_spans(const Transformer& model);

/// A batch in which `sequences` decode, each with `context` cached tokens.
StepBatch decode_batch(const Transformer& model, std::int64_t sequences, std::int64_t context);

/// The same where each sequence verifies `drafts` draft tokens in addition to its next one.
StepBatch speculative_batch(const Transformer& model, std::int64_t sequences, std::int64_t context,
                            std::int64_t drafts);

/// A batch in which `sequences` prompts of `tokens` tokens are computed whole.
StepBatch prefill_batch(std::int64_t sequences, std::int64_t tokens);

/// Pairs of new and attended tokens of a causal chunk with `context` tokens cached before it. Full
/// attention: new * context + new * (new + 1) / 2. Of an encoder's input: new * new.
double attended_pairs(const AttentionSpan& span, std::int64_t new_tokens, std::int64_t context);

}  // namespace roofcast
