// What fits: the memory of one GPU, term by term, by the engine's own rule; optionally the largest
// batch, the longest context or the smallest tensor parallelism that fits.
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
#include "planner/deploy.hpp"
#include "planner/deployment_description.hpp"
#include "roofcast/envelope.hpp"

namespace roofcast {

struct MemoryQuestion {
  /// What to solve for. none: only whether it fits, and what would make it fit.
  enum class Solve { none, batch, context, tensor_parallel };

  DeploymentOptions deployment{};  // what runs where: model and GPU are required
  Solve solve = Solve::none;
  /// Tokens per sequence, 0 or more; for `batch` and `tensor_parallel`. Unset: the engine's
  /// max_model_len.
  std::optional<std::int64_t> context{};
  /// Sequences at once, 1 or more; for `context` and `tensor_parallel`. Unset: 1.
  std::optional<std::int64_t> batch{};
};

struct ContextBatch {
  std::int64_t context_tokens = 0;
  std::int64_t max_batch = 0;
};

/// The solution. `context_tokens` and `tensor_parallel` are set but empty if nothing fits.
struct MemorySolution {
  std::optional<std::int64_t> batch{};
  std::optional<std::optional<std::int64_t>> context_tokens{};
  std::optional<std::optional<int>> tensor_parallel{};
};

struct MemoryAnswer {
  AnswerHead head{};
  DeploymentInputs inputs{};
  bool fits = false;
  std::optional<std::string> reason{};
  std::vector<MemoryTerm> terms{};
  Bytes memory_visible{};
  Bytes kv_budget{};
  std::int64_t block_tokens = 0;
  Bytes block_bytes{};
  std::int64_t kv_blocks = 0;
  std::int64_t kv_tokens = 0;
  std::int64_t max_batch = 0;
  double max_concurrency = 0;
  double relative_uncertainty = 0;
  std::optional<MemorySolution> solution{};
  std::vector<Remedy> remedies{};
  std::optional<std::vector<ContextBatch>> max_batch_by_context{};
  /// As asked. Not in the JSON: read back as `tensor_parallel`, or as `context` when no length
  /// fits, if the solution shows it, otherwise as `batch`.
  MemoryQuestion::Solve solve = MemoryQuestion::Solve::none;
};

/// That nothing fits is an answer, not an error. Throws Error if the model, GPU or engine is
/// missing, unknown or incompatible, and for counts out of range.
MemoryAnswer memory(const MemoryQuestion& question);

/// Whether the answer is yes: the deployment fits, or what was solved for has a solution.
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
  visit("bytes", term.bytes, "on the fullest GPU; negative if memory falls short");
  visit("detail", term.detail, "formula or reason, for readers");
}

template <class Visitor>
void members(Visitor& visit, Remedy& remedy) {
  visit("flag", remedy.flag, "the change as an engine flag: --tensor-parallel-size 4");
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
}

template <class Visitor>
void members(Visitor& visit, MemoryAnswer& answer) {
  members(visit, answer.head);
  visit("inputs", answer.inputs, "the deployment as parsed, every knob resolved");
  visit("fits", answer.fits, "whether at least one sequence of max_model_len tokens fits");
  visit("reason", answer.reason, "what is missing, and how much; null if it fits");
  visit("terms", answer.terms,
        "terms of the fullest GPU, top-down; they add up to memory_visible_bytes");
  visit("memory_visible_bytes", answer.memory_visible,
        "memory of one GPU that the rule divides up");
  visit(
      "kv_budget_bytes", answer.kv_budget,
      "left for the KV cache of one GPU before rounding to blocks; negative if memory falls short");
  visit("block_tokens", answer.block_tokens, "tokens per KV block");
  visit("block_bytes", answer.block_bytes, "bytes per KV block on one GPU, all layers");
  visit("kv_blocks", answer.kv_blocks, "KV blocks, as the engine counts them");
  visit("kv_tokens", answer.kv_tokens, "tokens in these blocks, as the engine prints it");
  visit("max_batch", answer.max_batch,
        "sequences of max_model_len tokens that fit at once, by memory alone");
  visit("max_concurrency", answer.max_concurrency,
        "the engine's maximum concurrency: the same, not rounded");
  visit("relative_uncertainty", answer.relative_uncertainty,
        "of kv_budget_bytes: one standard deviation as a share");
  visit("solution", answer.solution, "the solved quantity; null if none was requested");
  visit("remedies", answer.remedies,
        "single changes that make it fit, each one checked; empty if it fits or something was "
        "solved for");
  visit.if_set("max_batch_by_context", answer.max_batch_by_context,
               "largest batch at 1,024 tokens and at each fourfold length, up to max_model_len; if "
               "it fits and nothing was solved for");
}

}  // namespace roofcast
