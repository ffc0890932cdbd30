#include "roofcast/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/ceil_divide.hpp"
#include "base/error.hpp"
#include "model/architecture/weights.hpp"
#include "model/engines/engine_version.hpp"
#include "planner/scenario/resolve_deployment.hpp"
#include "planner/scenario/simulation_run.hpp"
#include "planner/scenario/sizing.hpp"
#include "roofcast/answer_json.hpp"

namespace roofcast {

template <>
struct EnumNames<TermKind> {
  static constexpr std::array values{
      std::pair{TermKind::weights, "weights"}, std::pair{TermKind::activations, "activations"},
      std::pair{TermKind::overhead, "overhead"}, std::pair{TermKind::kv_cache, "kv_cache"},
      std::pair{TermKind::reserve, "reserve"}};
};

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
  const EngineOverrides& knobs = question.deployment.overrides;
  if (question.solve == Solve::utilization &&
      (knobs.gpu_memory_utilization || knobs.kv_cache_memory || knobs.num_gpu_blocks_override)) {
    throw UsageError(
        "`gpu_memory_utilization`: solved for, conflicts with a given utilisation, KV budget or "
        "number of blocks");
  }
  if (question.solve == Solve::max_num_seqs && (knobs.max_num_seqs || question.batch)) {
    throw UsageError("`max_num_seqs`: solved for, conflicts with a given `max_num_seqs` or batch");
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
                      .kv_tokens_in_blocks = plan.tokens_in_blocks,
                      .max_batch = plan.max_batch,
                      .max_concurrency = plan.max_concurrency,
                      .relative_uncertainty = plan.relative_uncertainty,
                      .cost = idle_cost(deployment),
                      .solve = solve};
  if (!plan.fits) answer.reason = plan.reason;
  if (plan.host_cache.value > 0) {
    answer.host = HostMemory{.of_rank = plan.host_cache, .of_node = plan.host_memory};
    if (deployment.engine.host_memory.value > 0) {
      answer.host->stated = deployment.engine.host_memory;
    }
  }
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

/// Bytes missing on the fullest GPU before it holds any sequence, 0 or less. The rule keeps its
/// reserve; a cache whose size is given takes from the reserve first.
Bytes missing_without_batch(const Engine& engine, const MemoryPlan& plan, Bytes usable) {
  if (engine.num_gpu_blocks_override || engine.kv_cache_memory) {
    const Bytes reserve =
        sum_of(plan, TermKind::reserve) + sum_of(plan, TermKind::kv_cache) - usable;
    return std::min(Bytes{}, reserve);
  }
  Bytes missing;
  for (const MemoryTerm& term : plan.terms) {
    if (kind_of(term) == TermKind::kv_cache) missing += std::min(Bytes{}, term.bytes);
  }
  return missing;
}

/// The fullest GPU with a batch of which it holds `kv_cache`. `room`: for sequences; negative: what
/// is missing before the first.
MemoryParts parts_of(const MemoryPlan& plan, Bytes room, Bytes kv_cache) {
  return {.weights = sum_of(plan, TermKind::weights),
          .activations = sum_of(plan, TermKind::activations),
          .overhead = sum_of(plan, TermKind::overhead),
          .reserve = sum_of(plan, TermKind::reserve) + sum_of(plan, TermKind::kv_cache) - room,
          .kv_cache = kv_cache,
          .left = room - kv_cache,
          .memory = plan.total};
}

/// All GPUs. Pipeline stages have the same number of blocks, the fullest one's, but not the same
/// weights and bytes per block; what they save is kept from sequences too. `stages`: bytes of a
/// sequence on all stages, in those of the fullest. `missing`: on each, before any sequence.
MemoryParts on_all(const Deployment& deployment, const MemoryParts& one, double stages,
                   Bytes missing) {
  const Parallelism& parallel = deployment.parallel;
  const double gpus = parallel.gpus();
  const double per_stage = gpus / parallel.pipeline;
  MemoryParts all{.weights = one.weights * gpus,
                  .activations = one.activations * gpus,
                  .overhead = one.overhead * gpus,
                  .kv_cache = one.kv_cache * (per_stage * stages),
                  .left = (one.left - missing) * (per_stage * stages) + missing * gpus,
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
  if (context < 1) throw UsageError("`context`: expected 1 token or more");
  if (context > engine.max_model_len) {
    throw UsageError(fmt::format("`context`: {} tokens are more than `max_model_len`, {}", context,
                                 engine.max_model_len));
  }
  const std::int64_t batch = question.batch.value_or(1);
  const std::int64_t per_rank = ceil_divide(batch, parallel.data);
  // Ranks with a share or a copy of a sequence.
  const double copies = parallel.tensor * parallel.context;
  const Bytes one = sequence_bytes(deployment, plan, context);
  const Bytes on_stages = sequence_bytes_of_stages(deployment, context);
  const double stages = one.value > 0 ? on_stages / one : parallel.pipeline;
  const Bytes usable = usable_cache(deployment, plan);
  const Bytes missing = missing_without_batch(engine, plan, usable);
  BatchMemory asked{
      .engine = engine_title(engine),
      .batch = batch,
      .context_tokens = context,
      .gpus = parallel.gpus(),
      .kv_bytes_per_token =
          kv_bytes_per_token(deployment.model, engine.kv_cache_dtype, parallel.tensor) *
          (copies / static_cast<double>(engine.context_ranks)),
      .kv_bytes_per_sequence = on_stages * copies,
      .one_gpu = parts_of(plan, usable + missing, one * static_cast<double>(per_rank)),
      .max_batch = max_batch_at(deployment, plan, context) * parallel.data,
      .max_num_seqs = engine.max_num_seqs * parallel.data};
  asked.all_gpus = on_all(deployment, asked.one_gpu, stages, missing);
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
      row.engine = engine_title(deployment.engine);
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

/// The question's deployment with one knob set.
template <class Value>
Deployment with_knob(const MemoryQuestion& question, std::optional<Value> EngineOverrides::*knob,
                     Value value) {
  DeploymentOptions options = question.deployment;
  options.overrides.*knob = value;
  return resolve(options).deployment;
}

bool holds(const Deployment& deployment, const MemoryQuestion& question, std::int64_t per_rank) {
  const MemoryPlan plan = plan_memory(deployment);
  const std::int64_t context = question.context.value_or(deployment.engine.max_model_len);
  return max_batch_at(deployment, plan, context) >= per_rank;
}

/// The utilisation in hundredths: more of the memory never holds less.
MemoryAnswer solve_utilization(const MemoryQuestion& question) {
  constexpr int kAll = 100;
  const auto at = [&](int percent) {
    return with_knob(question, &EngineOverrides::gpu_memory_utilization, percent / 100.0);
  };
  const std::int64_t ranks = question.deployment.parallel.data.value_or(1);
  const std::int64_t wanted = ceil_divide(question.batch.value_or(1), ranks);
  int too_little = 0;
  int enough = kAll;
  const bool any = holds(at(kAll), question, wanted);
  while (any && enough - too_little > 1) {
    const int middle = (too_little + enough) / 2;
    (holds(at(middle), question, wanted) ? enough : too_little) = middle;
  }
  const Deployment deployment = any ? at(enough) : resolve(question.deployment).deployment;
  MemoryAnswer answer = answer_of(deployment, plan_memory(deployment), question.solve);
  std::optional<double> share;
  if (any) share = enough / 100.0;
  answer.solution = MemorySolution{.utilization = share};
  return answer;
}

/// The most sequences that the scheduler may run and memory holds at once on each rank. More of
/// them leave less memory, for the sampler's pass and for captured batches.
MemoryAnswer solve_max_num_seqs(const MemoryQuestion& question) {
  const auto at = [&](std::int64_t sequences) {
    return with_knob(question, &EngineOverrides::max_num_seqs, sequences);
  };
  std::int64_t most = 0;
  const Engine engine = resolve(question.deployment).deployment.engine;
  // A decoding sequence takes one token of a step's budget, which vLLM therefore wants to suffice
  // for all (resolve_vllm_batch); the others count decodes apart from prompts.
  std::int64_t too_many =
      (traits_of(engine.scheduler).budgets_decodes ? engine.max_num_batched_tokens
                                                   : kMaxEngineCount) +
      1;
  while (too_many - most > 1) {
    const std::int64_t middle = most + (too_many - most) / 2;
    (holds(at(middle), question, middle) ? most : too_many) = middle;
  }
  const Deployment deployment = most > 0 ? at(most) : resolve(question.deployment).deployment;
  MemoryAnswer answer = answer_of(deployment, plan_memory(deployment), question.solve);
  std::optional<std::int64_t> solved;
  if (most > 0) solved = most;
  answer.solution = MemorySolution{.max_num_seqs = solved};
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

/// MemoryAnswer::longest_request.
std::optional<std::int64_t> accepted_nevertheless(const Deployment& deployment,
                                                  const DeploymentOptions& options) {
  const Deployment started =
      as_started(deployment, engine_choice(options.engine), options.overrides);
  const MemoryPlan plan = plan_memory(started);
  if (!plan.fits) return std::nullopt;
  return longest_request(started, plan);
}

/// `all_engines`: compares their rules, too.
MemoryAnswer memory_of_one(const MemoryQuestion& question, bool all_engines) {
  if (question.solve == Solve::tensor_parallel) return solve_tensor_parallel(question);
  if (question.solve == Solve::utilization) return solve_utilization(question);
  if (question.solve == Solve::max_num_seqs) return solve_max_num_seqs(question);
  const Deployment deployment = resolve(question.deployment).deployment;
  const MemoryPlan plan = plan_memory(deployment);
  MemoryAnswer answer = answer_of(deployment, plan, question.solve);
  if (!plan.fits) answer.longest_request = accepted_nevertheless(deployment, question.deployment);
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
  } else if (answer.asked ? !answer.asked->fits : !is_yes(answer)) {
    answer.remedies =
        remedies(deployment, {.batch = question.batch.value_or(1), .context = question.context});
  }
  return answer;
}

}  // namespace

void complete_drafts(DeploymentOptions& options) {
  EngineOverrides& knobs = options.overrides;
  if (!knobs.num_speculative_tokens) return;
  if (!knobs.acceptance_rate && !knobs.acceptance_by_position) knobs.acceptance_rate = 1.0;
  const bool timed = knobs.draft_pass_time || knobs.draft_weight_bytes;
  if (knobs.speculative_method == DraftMethod::draft_model && !timed) {
    knobs.draft_pass_time = Seconds{0};
  }
}

MemoryAnswer memory(const MemoryQuestion& asked) {
  MemoryQuestion question = asked;
  complete_drafts(question.deployment);
  check(question);
  if (!asks_all_engines(question)) return memory_of_one(question, false);
  MemoryQuestion by_default = question;
  by_default.deployment.engine = first_engine_for(question);
  return memory_of_one(by_default, true);
}

bool is_yes(const MemoryAnswer& answer) {
  if (answer.engines) {
    return std::ranges::all_of(
        *answer.engines, [](const EngineMemory& row) { return !row.memory || row.memory->fits; });
  }
  if (answer.asked) return answer.asked->fits;
  if (!answer.solution) return answer.fits;
  const MemorySolution& solution = *answer.solution;
  if (solution.tensor_parallel) return solution.tensor_parallel->has_value();
  if (solution.utilization) return solution.utilization->has_value();
  if (solution.max_num_seqs) return solution.max_num_seqs->has_value();
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
  } else if (solution.utilization) {
    answer.solve = Solve::utilization;
  } else if (solution.max_num_seqs) {
    answer.solve = Solve::max_num_seqs;
  } else {
    const bool no_context = solution.context_tokens && !solution.context_tokens->has_value();
    answer.solve = no_context ? Solve::context : Solve::batch;
  }
  return answer;
}

Json memory_answer_schema() { return schema_document<MemoryAnswer>("roofcast memory"); }

}  // namespace roofcast
