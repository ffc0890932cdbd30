// Finds requests that no schedule can serve, before the run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/engine/kv_blocks.hpp"
#include "simulator/results/result.hpp"
#include "simulator/simulate.hpp"

namespace roofcast {

/// Whether the engine admits a request only if K and V of its declared output are left, too.
bool reserves_output(const Engine& engine);

/// The output for which `engine` may reserve K and V ahead, given what the client declared
/// (`max_tokens`, or kNoMaxTokens) and what the request generates. At least `output_tokens`; at
/// most what context and KV cache leave after the prompt:
/// - TensorRT-LLM 1.0 deduces max_seq_len - prompt if nothing is declared (executor/base_worker.py,
///   _deduce_max_tokens), and lowers max_seq_len to what the KV cache holds
///   (trtGptModelInflightBatching.cpp, adjustMaxAttentionWindow);
/// - SGLang 0.5 cuts to the context and to a prompt's share of the token pool
///   (managers/scheduler.py, init_req_max_new_tokens);
/// - others reserve nothing for undeclared output: `output_tokens`.
std::int64_t output_limit(const Engine& engine, const KvBlocks& blocks, std::int64_t input_tokens,
                          std::int64_t output_tokens, std::int64_t max_tokens);

/// Requests that a replica can never finish, all for the same reason.
struct Refusal {
  std::int64_t requests = 0;
  std::string reason{};  // "longer than max_model_len 100 (longest: 120 tokens, prompt and output)"
};

/// Marks the requests that this replica can never finish. Returns for each reason how many there
/// are and what they would need:
/// - prompt and output together exceed max_model_len (0: no limit);
/// - the sequence alone does not fit the whole KV cache;
/// - without chunked prefill, the prompt exceeds the token budget of a step; if requests can be
///   preempted, the whole sequence does, since it is recomputed in one step.
/// `counted_as` says what the lengths in the records stand for.
std::vector<Refusal> reject_impossible(std::vector<RequestRecord>& records, const Replica& replica,
                                       std::string_view counted_as = "prompt and output");

}  // namespace roofcast
