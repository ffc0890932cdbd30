// Changes that would make a deployment fit. Every remedy is verified by planning it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "base/ceil_divide.hpp"
#include "base/error.hpp"
#include "base/numbers.hpp"
#include "model/architecture/requantise.hpp"
#include "model/architecture/weights.hpp"
#include "model/memory/memory_plan.hpp"

namespace roofcast {
namespace {

/// Above this share engines often fail at start-up, because the driver's context and other
/// processes need the rest.
constexpr double kHighestUtilization = 0.95;

/// How many sequences of the requested length fit, over all data-parallel ranks: a whole number,
/// unless one sequence of the engine's max_model_len was asked for.
std::string holds(const MemoryPlan& plan, const Deployment& deployment, const BatchSize& wanted) {
  const std::int64_t longest = deployment.engine.max_model_len;
  const std::int64_t context = wanted.context.value_or(longest);
  if (context == longest && wanted.batch == 1) {
    return fmt::format("{} KV tokens, {:.2f} sequences of {}", with_separators(plan.kv_tokens),
                       plan.max_concurrency, with_separators(longest));
  }
  return fmt::format("{} sequences of {} tokens at most",
                     max_batch_at(deployment, plan, context) * deployment.parallel.data,
                     with_separators(context));
}

/// Sequences of the fullest data-parallel rank.
std::int64_t batch_per_rank(const Deployment& deployment, const BatchSize& wanted) {
  const std::int64_t ranks = deployment.parallel.data;
  return ceil_divide(wanted.batch, ranks);
}

/// The plan of `candidate` if it holds the batch.
std::optional<MemoryPlan> fitting(const Deployment& candidate, const BatchSize& wanted) {
  MemoryPlan plan = plan_memory(candidate);
  const std::int64_t context = wanted.context.value_or(candidate.engine.max_model_len);
  if (max_batch_at(candidate, plan, context) < batch_per_rank(candidate, wanted)) {
    return std::nullopt;
  }
  return plan;
}

/// " --max-model-len N" if the engine does not start with its own max_model_len although a batch of
/// shorter sequences fits: the longest with which it starts and holds the batch.
std::string start_flag(Deployment candidate, const BatchSize& wanted) {
  const MemoryPlan plan = plan_memory(candidate);
  if (plan.fits || !wanted.context) return "";
  std::int64_t length = max_context_at(candidate, plan, 1).value_or(0);
  // The engine reserves up to a block more in each group for the longest sequence than a shorter
  // one holds.
  for (std::size_t tries = 0; tries <= plan.layout.groups.size(); ++tries) {
    if (length < *wanted.context) break;
    candidate.engine.max_model_len = length;
    if (plan_memory(candidate).fits && fitting(candidate, wanted)) {
      return fmt::format(" --max-model-len {}", length);
    }
    length -= plan.layout.block_tokens;
  }
  return "";
}

std::optional<Remedy> try_utilization(const Deployment& deployment, const BatchSize& wanted) {
  if (deployment.engine.memory_rule == MemoryRule::textbook) return std::nullopt;
  if (deployment.engine.kv_cache_memory) return std::nullopt;
  const long from = std::lround(std::floor(deployment.engine.gpu_memory_utilization * 100.0)) + 1;
  const long to = std::lround(kHighestUtilization * 100.0);
  for (long percent = from; percent <= to; ++percent) {
    Deployment candidate = deployment;
    candidate.engine.gpu_memory_utilization = static_cast<double>(percent) / 100.0;
    if (const auto plan = fitting(candidate, wanted)) {
      return Remedy{
          .flag =
              fmt::format("--gpu-memory-utilization {:.2f}", static_cast<double>(percent) / 100.0) +
              start_flag(candidate, wanted),
          .effect = fmt::format("{:.2f} GiB of KV cache per GPU: {}", to_gib(plan->kv_budget),
                                holds(*plan, candidate, wanted))};
    }
  }
  return std::nullopt;
}

/// Fewer sequences shrink the sampler pass of the profile run.
std::optional<Remedy> try_fewer_sequences(const Deployment& deployment, const BatchSize& wanted) {
  if (deployment.engine.memory.logits_bytes == 0) return std::nullopt;
  for (std::int64_t sequences = deployment.engine.max_num_seqs / 2; sequences >= 1;
       sequences /= 2) {
    Deployment candidate = deployment;
    candidate.engine.max_num_seqs = sequences;
    if (const auto plan = fitting(candidate, wanted)) {
      return Remedy{
          .flag = fmt::format("--max-num-seqs {}", sequences) + start_flag(candidate, wanted),
          .effect = "smaller sampler pass: " + holds(*plan, candidate, wanted)};
    }
  }
  return std::nullopt;
}

std::optional<Remedy> try_state_blocks(const Deployment& deployment, const BatchSize& wanted) {
  const auto most = max_num_seqs_that_starts(deployment, plan_memory(deployment));
  if (!most) return std::nullopt;
  Deployment candidate = deployment;
  candidate.engine.max_num_seqs = *most;
  const auto plan = fitting(candidate, wanted);
  if (!plan) return std::nullopt;
  return Remedy{
      .flag = fmt::format("--max-num-seqs {}", *most) + start_flag(candidate, wanted),
      .effect = "a block of recurrent state for each: " + holds(*plan, candidate, wanted)};
}

std::optional<Remedy> try_cache_dtype(const Deployment& deployment, const BatchSize& wanted) {
  if (bits_of(deployment.engine.kv_cache_dtype) <= 8) return std::nullopt;
  Deployment candidate = deployment;
  candidate.engine.kv_cache_dtype = DType::fp8;
  const auto plan = fitting(candidate, wanted);
  if (!plan) return std::nullopt;
  return Remedy{.flag = "--kv-cache-dtype fp8" + start_flag(candidate, wanted),
                .effect = "half the bytes per token: " + holds(*plan, candidate, wanted)};
}

std::optional<Remedy> try_shorter_context(const Deployment& deployment, const BatchSize& wanted) {
  const auto longest =
      max_context_at(deployment, plan_memory(deployment), batch_per_rank(deployment, wanted));
  if (longest && wanted.context) {
    if (*longest >= *wanted.context) return std::nullopt;
    return Remedy{
        .flag = fmt::format("--context {}", *longest) +
                start_flag(deployment, {.batch = wanted.batch, .context = longest}),
        .effect = fmt::format("the most tokens that {} sequences can hold each", wanted.batch)};
  }
  Deployment candidate = deployment;
  if (!longest || *longest >= deployment.engine.max_model_len) return std::nullopt;
  candidate.engine.max_model_len = *longest;
  if (!fitting(candidate, wanted)) return std::nullopt;
  return Remedy{.flag = fmt::format("--max-model-len {}", *longest),
                .effect = fmt::format("the longest sequence that fits, instead of {} tokens",
                                      with_separators(deployment.engine.max_model_len))};
}

std::optional<Remedy> try_weights(const Deployment& deployment, const BatchSize& wanted,
                                  const std::string& format) {
  if (deployment.engine.weight_bytes) return std::nullopt;
  Deployment candidate = deployment;
  requantise(candidate.model, format);
  const Bytes before = weight_bytes(deployment.model, deployment.parallel);
  const Bytes after = weight_bytes(candidate.model, candidate.parallel);
  if (after >= before) return std::nullopt;
  const auto plan = fitting(candidate, wanted);
  if (!plan) return std::nullopt;
  return Remedy{
      .flag = "--quantization " + format + start_flag(candidate, wanted),
      .effect = fmt::format("weights {:.1f} instead of {:.1f} GiB per GPU: {}", to_gib(after),
                            to_gib(before), holds(*plan, candidate, wanted))};
}

std::optional<Remedy> try_smaller_batch(const Deployment& deployment, const BatchSize& wanted) {
  const std::int64_t context = wanted.context.value_or(deployment.engine.max_model_len);
  const std::int64_t batch =
      max_batch_at(deployment, plan_memory(deployment), context) * deployment.parallel.data;
  if (batch < 1 || batch >= wanted.batch) return std::nullopt;
  return Remedy{
      .flag = fmt::format("--batch {}", batch) +
              start_flag(deployment, {.batch = batch, .context = wanted.context}),
      .effect = fmt::format("the most sequences of {} tokens that fit", with_separators(context))};
}

/// The first single change that makes `candidate`, which `flag` leads to, fit; nullopt if it fits
/// without one, or none is enough.
std::optional<Remedy> try_beside(const std::string& flag, const Deployment& candidate,
                                 const BatchSize& wanted) {
  if (fitting(candidate, wanted)) return std::nullopt;
  for (const auto& another :
       {try_utilization, try_cache_dtype, try_shorter_context, try_smaller_batch}) {
    if (auto remedy = another(candidate, wanted)) {
      return Remedy{.flag = flag + " " + remedy->flag, .effect = remedy->effect};
    }
  }
  return std::nullopt;
}

std::optional<Remedy> try_weights_beside(const Deployment& deployment, const BatchSize& wanted,
                                         const std::string& format) {
  if (deployment.engine.weight_bytes) return std::nullopt;
  Deployment candidate = deployment;
  requantise(candidate.model, format);
  const bool smaller = weight_bytes(candidate.model, candidate.parallel) <
                       weight_bytes(deployment.model, deployment.parallel);
  if (!smaller) return std::nullopt;
  return try_beside("--quantization " + format, candidate, wanted);
}

/// The smallest TP with which one more change is enough.
std::optional<Remedy> try_tensor_parallel_beside(const Deployment& deployment,
                                                 const BatchSize& wanted) {
  Deployment candidate = deployment;
  for (candidate.parallel.tensor *= 2; candidate.parallel.tensor <= deployment.gpu.gpus_per_node;
       candidate.parallel.tensor *= 2) {
    if (!!why_not_parallel(candidate.model, candidate.parallel)) continue;
    if (fitting(candidate, wanted)) return std::nullopt;  // enough alone
    const std::string flag = fmt::format("--tensor-parallel-size {}", candidate.parallel.tensor);
    if (auto remedy = try_beside(flag, candidate, wanted)) return remedy;
  }
  return std::nullopt;
}

/// The smallest TP, a power of two within one node, that fits.
std::optional<Remedy> try_tensor_parallel(const Deployment& deployment, const BatchSize& wanted) {
  Deployment candidate = deployment;
  for (candidate.parallel.tensor *= 2; candidate.parallel.tensor <= deployment.gpu.gpus_per_node;
       candidate.parallel.tensor *= 2) {
    if (!!why_not_parallel(candidate.model, candidate.parallel)) continue;
    const auto plan = fitting(candidate, wanted);
    if (!plan) continue;
    return Remedy{.flag = fmt::format("--tensor-parallel-size {}", candidate.parallel.tensor) +
                          start_flag(candidate, wanted),
                  .effect = fmt::format("{} GPUs: {}", candidate.parallel.gpus(),
                                        holds(*plan, candidate, wanted))};
  }
  return std::nullopt;
}

}  // namespace

std::vector<Remedy> remedies(const Deployment& deployment, const BatchSize& wanted) {
  if (fitting(deployment, wanted)) return {};
  std::vector<Remedy> found;
  const auto add = [&](std::optional<Remedy> remedy) {
    if (remedy) found.push_back(std::move(*remedy));
  };
  add(try_state_blocks(deployment, wanted));
  add(try_utilization(deployment, wanted));
  if (found.empty() || !max_num_seqs_that_starts(deployment, plan_memory(deployment))) {
    add(try_fewer_sequences(deployment, wanted));
  }
  add(try_cache_dtype(deployment, wanted));
  add(try_shorter_context(deployment, wanted));
  add(try_smaller_batch(deployment, wanted));
  for (const char* format : {"fp8", "awq"}) {
    add(try_weights(deployment, wanted, format));
    add(try_weights_beside(deployment, wanted, format));
  }
  add(try_tensor_parallel_beside(deployment, wanted));
  add(try_tensor_parallel(deployment, wanted));
  return found;
}

}  // namespace roofcast
