#include "roofcast/memory.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/ceil_divide.hpp"
#include "base/error.hpp"
#include "model/architecture/weights.hpp"
#include "planner/sizing.hpp"
#include "roofcast/answer_json.hpp"

namespace roofcast {
namespace {

using Solve = MemoryQuestion::Solve;

constexpr const char* kMemoryCommand = "memory";

bool asks_all_engines(const MemoryQuestion& question) {
  return question.deployment.engine == "all";
}

void check(const MemoryQuestion& question) {
  if (question.context && *question.context < 0) {
    throw Error("context: expected 0 tokens or more");
  }
  if (question.batch && *question.batch < 1) throw Error("batch: expected 1 sequence or more");
  if (question.batch && question.solve == Solve::batch) {
    throw UsageError("batch: conflicts with solve batch, which finds it");
  }
  if (question.context && question.solve == Solve::context) {
    throw UsageError("context: conflicts with solve context, which finds it");
  }
  if (asks_all_engines(question) && question.solve != Solve::none) {
    throw UsageError("engine: all conflicts with solve, which asks one engine");
  }
}

MemoryAnswer answer_of(const Deployment& deployment, const MemoryPlan& plan, Solve solve) {
  MemoryAnswer answer{.head = answer_head(kMemoryCommand),
                      .inputs = inputs_of(deployment),
                      .fits = plan.fits,
                      .terms = plan.terms,
                      .memory_visible = plan.total,
                      .kv_budget = plan.kv_budget,
                      .block_tokens = plan.layout.block_tokens,
                      .block_bytes = plan.layout.row_bytes(),
                      .kv_blocks = plan.kv_blocks,
                      .kv_tokens = plan.kv_tokens,
                      .max_batch = plan.max_batch,
                      .max_concurrency = plan.max_concurrency,
                      .relative_uncertainty = plan.relative_uncertainty,
                      .solve = solve};
  if (!plan.fits) answer.reason = plan.reason;
  return answer;
}

std::vector<ContextBatch> batches_by_context(const Deployment& deployment, const MemoryPlan& plan) {
  std::vector<ContextBatch> rows;
  const auto add = [&](std::int64_t context) {
    rows.push_back({context, max_batch_at(deployment, plan, context)});
  };
  const std::int64_t longest = deployment.engine.max_model_len;
  for (std::int64_t context = 1024; context < longest; context *= 4) add(context);
  add(longest);
  return rows;
}

Bytes sum_of(const MemoryPlan& plan, TermKind kind) {
  Bytes total;
  for (const MemoryTerm& term : plan.terms) {
    if (kind_of(term) == kind) total += term.bytes;
  }
  return total;
}

/// The fullest GPU with a batch of which it holds `kv_cache`.
MemoryParts parts_of(const MemoryPlan& plan, Bytes usable, Bytes kv_cache) {
  return {.weights = sum_of(plan, TermKind::weights),
          .activations = sum_of(plan, TermKind::activations),
          .overhead = sum_of(plan, TermKind::overhead),
          .reserve = sum_of(plan, TermKind::reserve) + sum_of(plan, TermKind::kv_cache) - usable,
          .kv_cache = kv_cache,
          .left = usable - kv_cache,
          .memory = plan.total};
}

/// All GPUs. Pipeline stages have the same number of blocks, the fullest one's, but not the same
/// weights and bytes per block; what they save is kept from sequences too. `stages`: bytes of a
/// sequence on all stages, in those of the fullest.
MemoryParts on_all(const Deployment& deployment, const MemoryParts& one, double stages) {
  const Parallelism& parallel = deployment.parallel;
  const double gpus = parallel.gpus();
  const double per_stage = gpus / parallel.pipeline;
  MemoryParts all{.weights = one.weights * gpus,
                  .activations = one.activations * gpus,
                  .overhead = one.overhead * gpus,
                  .kv_cache = one.kv_cache * (per_stage * stages),
                  .left = one.left * (per_stage * stages),
                  .memory = one.memory * gpus};
  if (parallel.pipeline > 1 && !deployment.engine.weight_bytes) {
    const Bytes fullest = weight_bytes(deployment.model, parallel);
    all.weights -= (fullest * static_cast<double>(parallel.pipeline) -
                    weight_bytes_of_stages(deployment.model, parallel)) *
                   per_stage;
  }
  all.reserve = all.memory - all.weights - all.activations - all.overhead - all.kv_cache - all.left;
  return all;
}

BatchMemory batch_memory(const Deployment& deployment, const MemoryPlan& plan,
                         const MemoryQuestion& question) {
  const Engine& engine = deployment.engine;
  const Parallelism& parallel = deployment.parallel;
  const std::int64_t context = question.context.value_or(engine.max_model_len);
  if (context < 1) throw Error("context: expected 1 token or more");
  if (context > engine.max_model_len) {
    throw Error(fmt::format("context: {} tokens are more than max_model_len, {}", context,
                            engine.max_model_len));
  }
  const std::int64_t batch = question.batch.value_or(1);
  const std::int64_t per_rank = ceil_divide(batch, parallel.data);
  const double tensor = parallel.tensor;
  const Bytes one = sequence_bytes(deployment, plan, context);
  const Bytes on_stages = sequence_bytes_of_stages(deployment, context);
  const double stages = one.value > 0 ? on_stages / one : parallel.pipeline;
  BatchMemory asked{
      .engine = engine.name,
      .batch = batch,
      .context_tokens = context,
      .gpus = parallel.gpus(),
      .kv_bytes_per_token =
          kv_bytes_per_token(deployment.model, engine.kv_cache_dtype, parallel.tensor) * tensor,
      .kv_bytes_per_sequence = on_stages * tensor,
      .one_gpu =
          parts_of(plan, usable_cache(deployment, plan), one * static_cast<double>(per_rank)),
      .max_batch = max_batch_at(deployment, plan, context) * parallel.data,
      .max_num_seqs = engine.max_num_seqs * parallel.data};
  asked.all_gpus = on_all(deployment, asked.one_gpu, stages);
  // A model without a cache has room for any batch where it fits at all.
  asked.fits = one.value > 0 ? asked.max_batch >= asked.batch : plan.kv_budget.value > 0;
  if (!plan.fits) asked.needs_max_model_len = max_context_at(deployment, plan, 1).value_or(0);
  return asked;
}

constexpr const char* kComparedEngines[] = {kDefaultEngine, "sglang", "trtllm", "textbook"};

/// The first of them that takes the question's knobs; the default if none does.
std::string first_engine_for(const MemoryQuestion& question) {
  DeploymentOptions options = question.deployment;
  for (const char* name : kComparedEngines) {
    options.engine = name;
    try {
      resolve(options);
      return name;
    } catch (const UsageError&) {
      continue;
    }
  }
  return kDefaultEngine;
}

/// Presets whose rules are compared: the default of each engine that serves, and the textbook's.
std::vector<EngineMemory> engines_side_by_side(const MemoryQuestion& question) {
  std::vector<EngineMemory> rows;
  for (const char* name : kComparedEngines) {
    DeploymentOptions options = question.deployment;
    options.engine = name;
    EngineMemory row{.engine = name};
    try {
      const Deployment deployment = resolve(options).deployment;
      row.engine = deployment.engine.name;
      row.memory = batch_memory(deployment, plan_memory(deployment), question);
    } catch (const Error& error) {
      row.refused = error.what();
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

MemoryAnswer solve_tensor_parallel(const MemoryQuestion& question) {
  const auto found =
      smallest_tensor_parallel(question.deployment, question.context, question.batch.value_or(1));
  const Deployment deployment = found ? *found : resolve(question.deployment).deployment;
  MemoryAnswer answer = answer_of(deployment, plan_memory(deployment), question.solve);
  std::optional<int> tensor;
  if (found) tensor = found->parallel.tensor;
  answer.solution = MemorySolution{.tensor_parallel = tensor};
  return answer;
}

MemorySolution solve_batch(const Deployment& deployment, const MemoryPlan& plan,
                           std::int64_t context) {
  return {.batch = max_batch_at(deployment, plan, context), .context_tokens = context};
}

MemorySolution solve_context(const Deployment& deployment, const MemoryPlan& plan,
                             std::int64_t batch) {
  return {.batch = batch, .context_tokens = max_context_at(deployment, plan, batch)};
}

/// `all_engines`: compares their rules, too.
MemoryAnswer memory_of_one(const MemoryQuestion& question, bool all_engines) {
  if (question.solve == Solve::tensor_parallel) return solve_tensor_parallel(question);
  const Deployment deployment = resolve(question.deployment).deployment;
  const MemoryPlan plan = plan_memory(deployment);
  MemoryAnswer answer = answer_of(deployment, plan, question.solve);
  if (question.solve == Solve::none && (question.batch || question.context || all_engines)) {
    answer.asked = batch_memory(deployment, plan, question);
  }
  if (all_engines) answer.engines = engines_side_by_side(question);
  if (question.solve == Solve::batch) {
    answer.solution =
        solve_batch(deployment, plan, question.context.value_or(deployment.engine.max_model_len));
  } else if (question.solve == Solve::context) {
    answer.solution = solve_context(deployment, plan, question.batch.value_or(1));
  } else if (plan.fits && !answer.asked && !answer.engines) {
    answer.max_batch_by_context = batches_by_context(deployment, plan);
  } else if (!is_yes(answer)) {
    answer.remedies =
        remedies(deployment, {.batch = question.batch.value_or(1), .context = question.context});
  }
  return answer;
}

}  // namespace

MemoryAnswer memory(const MemoryQuestion& question) {
  check(question);
  if (!asks_all_engines(question)) return memory_of_one(question, false);
  MemoryQuestion by_default = question;
  by_default.deployment.engine = first_engine_for(question);
  return memory_of_one(by_default, true);
}

bool is_yes(const MemoryAnswer& answer) {
  if (answer.asked) return answer.asked->fits;
  if (!answer.solution) return answer.fits;
  const MemorySolution& solution = *answer.solution;
  if (solution.tensor_parallel) return solution.tensor_parallel->has_value();
  return solution.batch.value_or(0) > 0 && solution.context_tokens &&
         solution.context_tokens->has_value();
}

Json to_json(const MemoryAnswer& answer) { return record_to_json(answer); }

MemoryAnswer memory_answer_from_json(const Json& json) {
  auto answer = answer_from_json<MemoryAnswer>(json, kMemoryCommand);
  if (!answer.solution) return answer;
  const MemorySolution& solution = *answer.solution;
  if (solution.tensor_parallel) {
    answer.solve = Solve::tensor_parallel;
  } else {
    const bool no_context = solution.context_tokens && !solution.context_tokens->has_value();
    answer.solve = no_context ? Solve::context : Solve::batch;
  }
  return answer;
}

Json memory_answer_schema() { return schema_document<MemoryAnswer>("roofcast memory"); }

}  // namespace roofcast
