// The memory of one GPU, term by term, by the engine's own rule; optionally whether a batch of
// sequences of some length fits, by one engine's rule or by several side by side, or the largest
// batch, the longest context, the smallest tensor parallelism or memory utilisation, or the largest
// max_num_seqs that fits.
//
//   MemoryQuestion question;
//   question.deployment.model = "llama-3.1-70b";
//   question.deployment.gpu = "h200";
//   question.deployment.parallel.tensor = 2;
//   const MemoryAnswer answer = memory(question);
//   if (answer.fits) std::cout << answer.kv_tokens << " tokens of KV cache\n";
//
// Fields of an answer are described by its `members`, key by key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/units.hpp"
#include "model/memory/memory_plan.hpp"
#include "planner/scenario/cost.hpp"
#include "planner/scenario/deployment_description.hpp"
#include "planner/scenario/resolve_deployment.hpp"
#include "roofcast/envelope.hpp"

namespace roofcast {

struct MemoryQuestion {
  /// The quantity to solve for. none: only whether it fits, and what would make it fit.
  enum class Solve { none, batch, context, tensor_parallel, utilization, max_num_seqs };

  /// The deployment: model and GPU are required. Engine "all": answers by the default one, and
  /// compares the batch under every engine's default version and by the textbook rule.
  DeploymentOptions deployment{};
  Solve solve = Solve::none;
  /// Tokens per sequence, 0 up to the engine's max_model_len, which is also the default. Not given
  /// when solving for it.
  std::optional<std::int64_t> context{};
  /// Sequences at once, 1 or more. Not given when solving for it. With `Solve::none` either asks
  /// whether that many sequences of that length fit; unset: 1.
  std::optional<std::int64_t> batch{};
};

/// Fills in what drafts need only where something is timed, so that their memory can be counted:
/// acceptance, and the time of a draft model's pass. memory() does it itself.
void complete_drafts(DeploymentOptions& options);

/// Where memory goes. The six parts sum to `memory`.
struct MemoryParts {
  Bytes weights{};
  Bytes activations{};
  Bytes overhead{};
  Bytes reserve{};
  Bytes kv_cache{};  // of the batch
  Bytes left{};      // for more KV cache; negative: what is missing, of the other parts as well
  Bytes memory{};    // that the engine's rule divides
};

/// The memory of one GPU, the fullest, and of all GPUs when `batch` sequences, spread over the
/// data-parallel ranks, hold `context_tokens` tokens each.
struct BatchMemory {
  std::string engine{};
  std::int64_t batch = 1;
  std::int64_t context_tokens = 0;
  int gpus = 1;                   // TP x PP x DP
  Bytes kv_bytes_per_token{};     // all layers, while no window is full
  Bytes kv_bytes_per_sequence{};  // of context_tokens, on all GPUs of a rank
  MemoryParts one_gpu{};          // the fullest
  MemoryParts all_gpus{};         // less than the fullest times their number under PP
  bool fits = false;
  std::int64_t max_batch = 0;     // sequences of context_tokens that fit, by memory alone
  std::int64_t max_num_seqs = 0;  // sequences that the scheduler runs at once
  /// Longest sequence with which the engine starts, if the default does not fit; 0: none does.
  std::optional<std::int64_t> needs_max_model_len{};
};

/// One row of the comparison: `refused` where the engine does not take what was asked of it.
struct EngineMemory {
  std::string engine{};
  std::optional<BatchMemory> memory{};
  std::optional<std::string> refused{};
};

struct ContextBatch {
  std::int64_t context_tokens = 0;
  std::int64_t max_batch = 0;
};

/// The solution. All but `batch` are set but empty if nothing fits.
struct MemorySolution {
  std::optional<std::int64_t> batch{};
  std::optional<std::optional<std::int64_t>> context_tokens{};
  std::optional<std::optional<int>> tensor_parallel{};
  std::optional<std::optional<double>> utilization{};
  std::optional<std::optional<std::int64_t>> max_num_seqs{};
};

/// Host memory for K and V that are kept there (HiCache, KV offloading).
struct HostMemory {
  Bytes of_rank{};
  Bytes of_node{};  // for all ranks of a node, with what the engine leaves free
  std::optional<Bytes> stated{};
};

struct MemoryAnswer {
  AnswerHead head{};
  DeploymentInputs inputs{};
  bool fits = false;
  std::optional<std::string> reason{};
  std::optional<std::int64_t> longest_request{};  // tokens, of an engine that starts nevertheless
  std::vector<MemoryTerm> terms{};
  Bytes memory_visible{};
  Bytes kv_budget{};
  std::int64_t block_tokens = 0;
  Bytes block_bytes{};
  std::int64_t kv_blocks = 0;
  std::int64_t kv_tokens = 0;
  std::int64_t kv_tokens_in_blocks = 0;
  std::int64_t max_batch = 0;
  double max_concurrency = 0;
  double relative_uncertainty = 0;
  std::optional<HostMemory> host{};
  ServingCost cost{};  // whatever it serves
  std::optional<MemorySolution> solution{};
  std::vector<Remedy> remedies{};
  std::optional<std::vector<ContextBatch>> max_batch_by_context{};
  std::optional<BatchMemory> asked{};
  std::optional<std::vector<EngineMemory>> engines{};
  /// As asked. Not in the JSON: read back by what the solution has, and if it has a batch and a
  /// length, as `context` when no length fits and otherwise as `batch`.
  MemoryQuestion::Solve solve = MemoryQuestion::Solve::none;
};

/// An answer may be that nothing fits; this is not an error. Throws Error if the model, GPU or
/// engine is missing, unknown or incompatible, and for counts out of range. UsageError if what is
/// solved for is given as well.
MemoryAnswer memory(const MemoryQuestion& question);

/// Whether the answer is yes: the deployment fits, or the batch that was asked about, or what was
/// solved for has a solution. Of all engines the batch must fit by every rule that can answer.
bool is_yes(const MemoryAnswer& answer);

/// What `roofcast memory -o json` prints.
Json to_json(const MemoryAnswer& answer);

/// Reads what to_json wrote. Throws Error naming the key and what was expected.
MemoryAnswer memory_answer_from_json(const Json& json);

/// JSON Schema (draft 2020-12) of to_json().
Json memory_answer_schema();

template <class Visitor>
void members(Visitor& visit, MemoryTerm& term) {
  visit("name", term.name, "weights.attention, activation_peak, non_torch, kv_cache, unused, ...");
  TermKind kind = kind_of(term);
  visit("kind", kind, "what the memory is for; reserve: kept out of the cache by the rule");
  visit("bytes", term.bytes, "on the fullest GPU; negative if memory falls short");
  visit("detail", term.detail, "formula or reason, for readers");
}

template <class Visitor>
void members(Visitor& visit, Remedy& remedy) {
  visit("flag", remedy.flag,
        "the change as flags to add: --tensor-parallel-size 4, --batch 2 --max-model-len 8192");
  visit("effect", remedy.effect, "effect of the change, for readers");
}

template <class Visitor>
void members(Visitor& visit, ContextBatch& row) {
  visit("context_tokens", row.context_tokens, "tokens per sequence");
  visit("max_batch", row.max_batch, "sequences of that length that fit at once; 0: none");
}

template <class Visitor>
void members(Visitor& visit, MemorySolution& solution) {
  visit.if_set(
      "batch", solution.batch,
      "sequences: the largest batch that fits, or the one for which the context was solved");
  visit.if_set("context_tokens", solution.context_tokens,
               "tokens per sequence: the longest that fits (null: none), or the length for which "
               "the batch was solved");
  visit.if_set("tensor_parallel", solution.tensor_parallel,
               "the smallest tensor parallelism that fits; null: none up to 64");
  visit.if_set("gpu_memory_utilization", solution.utilization,
               "the smallest gpu_memory_utilization (SGLang, TensorRT-LLM: memory fraction) with "
               "which the batch fits, in hundredths; null: none");
  visit.if_set("max_num_seqs", solution.max_num_seqs,
               "the largest max_num_seqs of which all sequences fit at once; null: none");
}

template <class Visitor>
void members(Visitor& visit, MemoryParts& parts) {
  visit("weights_bytes", parts.weights, "weights, with their copies");
  visit("activations_bytes", parts.activations,
        "the largest pass; 0 where the rule has them in the overhead or the reserve");
  visit("overhead_bytes", parts.overhead, "contexts, communication, CUDA graphs");
  visit("reserve_bytes", parts.reserve,
        "what the rule keeps from sequences, the null block and part of a block included");
  visit("kv_cache_bytes", parts.kv_cache, "of the batch");
  visit("left_bytes", parts.left, "for more KV cache; negative: missing");
  visit("memory_bytes", parts.memory, "the sum of the six");
}

template <class Visitor>
void members(Visitor& visit, BatchMemory& asked) {
  visit("engine", asked.engine, "whose rule divides the memory");
  visit("batch", asked.batch, "sequences at once");
  visit("context_tokens", asked.context_tokens, "tokens that each holds");
  visit("gpus", asked.gpus, "of the deployment: TP x PP x DP");
  visit("kv_bytes_per_token", asked.kv_bytes_per_token,
        "K and V of one token, all layers and all their copies, while no window is full");
  visit("kv_bytes_per_sequence", asked.kv_bytes_per_sequence,
        "of context_tokens, as the engine allocates them, on the GPUs of one data-parallel rank");
  members(visit, asked.one_gpu);
  visit("all_gpus", asked.all_gpus, "the same parts on all GPUs; above on the fullest");
  visit("fits", asked.fits, "whether the batch fits");
  visit("max_batch", asked.max_batch,
        "sequences of that length that fit on all ranks, by memory alone");
  visit("max_num_seqs", asked.max_num_seqs,
        "sequences that the schedulers of all ranks run at once");
  visit.if_set("needs_max_model_len", asked.needs_max_model_len,
               "the longest max_model_len with which the engine starts here, when its default does "
               "not fit; 0: none");
}

template <class Visitor>
void members(Visitor& visit, EngineMemory& row) {
  visit("engine", row.engine, "and its version");
  visit("memory", row.memory, "null when refused");
  visit("refused", row.refused, "why this engine cannot be asked the same; null when it can");
}

template <class Visitor>
void members(Visitor& visit, HostMemory& host) {
  visit("rank_bytes", host.of_rank, "K and V in host memory, of one rank");
  visit("node_bytes", host.of_node,
        "free host memory that a node needs for its ranks, with what the engine leaves free");
  visit.if_set("stated_bytes", host.stated, "host_memory, as given");
}

template <class Visitor>
void members(Visitor& visit, MemoryAnswer& answer) {
  members(visit, answer.head);
  visit("inputs", answer.inputs, "the deployment as parsed, every knob resolved");
  visit("fits", answer.fits, "whether at least one sequence of max_model_len tokens fits");
  visit("reason", answer.reason, "what is missing, and how much; null if it fits");
  visit.if_set("longest_request_tokens", answer.longest_request,
               "if it does not fit but the engine starts nevertheless, as SGLang does: the longest "
               "request, prompt and output, that it does not refuse");
  visit("terms", answer.terms,
        "terms of the fullest GPU, top-down; they add up to memory_visible_bytes");
  visit("memory_visible_bytes", answer.memory_visible,
        "memory of one GPU that the rule divides up: what the driver reports; of the textbook rule "
        "what was sold");
  visit(
      "kv_budget_bytes", answer.kv_budget,
      "left for the KV cache of one GPU before rounding to blocks; negative if memory falls short");
  visit("block_tokens", answer.block_tokens, "tokens per KV block");
  visit("block_bytes", answer.block_bytes, "bytes per KV block on one GPU, all layers");
  visit("kv_blocks", answer.kv_blocks, "KV blocks, as the engine counts them");
  visit(
      "kv_tokens", answer.kv_tokens,
      "the size of the cache as the engine prints it: tokens in these blocks, or from vLLM 0.21 on "
      "max_concurrency x max_model_len");
  visit("kv_tokens_in_blocks", answer.kv_tokens_in_blocks,
        "tokens in these blocks, shared equally by the groups of layers");
  visit("max_batch", answer.max_batch,
        "sequences of max_model_len tokens that fit at once, by memory alone");
  visit("max_concurrency", answer.max_concurrency,
        "the engine's maximum concurrency: the same, not rounded");
  visit("relative_uncertainty", answer.relative_uncertainty,
        "of kv_budget_bytes: one standard deviation as a share");
  visit.if_set("host_memory", answer.host, "of K and V in host memory, if any are kept there");
  members(visit, answer.cost);
  visit("solution", answer.solution, "the solved quantity; null if none was requested");
  visit("remedies", answer.remedies,
        "single changes that make it fit, each one checked; empty if it fits or something was "
        "solved for");
  visit.if_set("max_batch_by_context", answer.max_batch_by_context,
               "largest batch at 1,024 tokens and at each fourfold length, up to max_model_len; if "
               "it fits and nothing else was asked");
  visit.if_set("asked", answer.asked, "the batch and context that were asked about");
  visit.if_set("engines", answer.engines, "the same by every engine's rule, if asked for");
}

}  // namespace roofcast
