#include "planner/what_if/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "model/architecture/requantise.hpp"
#include "planner/evaluate_all.hpp"
#include "planner/vary/vary_scenario.hpp"

namespace roofcast {
namespace {

constexpr int kNode = 8;  // GPUs of a server, which TP should not leave

struct Change {
  std::string title{};
  Settings settings{};
};

Setting number(const char* key, std::int64_t value) { return {key, std::to_string(value)}; }

/// Replicas that do everything, behind one router.
bool is_together(const SimulationRun& run) {
  return run.pools.size() == 1 && run.pools.front().role == PoolRole::both;
}

bool is_apart(const SimulationRun& run) {
  return run.pools.size() == 2 && run.pools[0].role == PoolRole::prefill &&
         run.pools[1].role == PoolRole::decode;
}

void add_replicas(std::vector<Change>& changes, const SimulationRun& run) {
  if (is_together(run)) {
    changes.push_back({"one replica more", {number("replicas", run.pools.front().replicas + 1)}});
  }
  if (is_apart(run)) {
    changes.push_back(
        {"one prefill replica more", {number("prefill_replicas", run.pools[0].replicas + 1)}});
    changes.push_back(
        {"one decode replica more", {number("decode_replicas", run.pools[1].replicas + 1)}});
  }
}

/// As many GPUs, half of them or one replica's for prompts.
void add_split(std::vector<Change>& changes, const SimulationRun& run) {
  if (!is_together(run)) return;
  const std::int32_t replicas = run.pools.front().replicas;
  if (replicas < 2) return;
  const auto apart = [&](std::int32_t prefill) {
    changes.push_back(
        {"prefill and decode apart",
         {number("prefill_replicas", prefill), number("decode_replicas", replicas - prefill)}});
  };
  apart(1);
  if (replicas / 2 > 1) apart(replicas / 2);
}

void add_batches(std::vector<Change>& changes, const Engine& engine) {
  changes.push_back({"half as many sequences at once",
                     {number("max_num_seqs", std::max<std::int64_t>(1, engine.max_num_seqs / 2))}});
  changes.push_back(
      {"twice as many sequences at once", {number("max_num_seqs", 2 * engine.max_num_seqs)}});
  changes.push_back({"half as many tokens a step",
                     {number("max_num_batched_tokens", engine.max_num_batched_tokens / 2)}});
  changes.push_back({"twice as many tokens a step",
                     {number("max_num_batched_tokens", 2 * engine.max_num_batched_tokens)}});
}

void add_routing(std::vector<Change>& changes, const SimulationRun& run) {
  std::int32_t replicas = 0;
  for (const PoolRun& pool : run.pools) {
    if (pool.role != PoolRole::decode) replicas += pool.replicas;
  }
  if (replicas < 2 || !run.scenario.cluster || run.workload.contents.empty()) return;
  if (run.scenario.cluster->router.policy == RouterPolicy::prefix_affinity) return;
  changes.push_back({"routing by prefix", {{"router", "prefix_affinity"}}});
}

/// Prompts that no step can hold, or that hold up decodes.
void add_chunks(std::vector<Change>& changes, const SimulationRun& run) {
  if (run.pools.front().deployment.engine.chunked_prefill || run.result.rejected == 0) return;
  changes.push_back({"prompts in chunks", {{"enable_chunked_prefill", "true"}}});
}

/// Decodes of sizes between those that were captured run in the next graph (TensorRT-LLM).
void add_padding(std::vector<Change>& changes, const Engine& engine) {
  if (engine.graph_padding || !engine.version.starts_with("trtllm")) return;
  changes.push_back({"batches padded to a captured size", {{"cuda_graph_padding", "true"}}});
}

/// The client, or a router, tokenises.
void add_token_ids(std::vector<Change>& changes, const SimulationRun& run) {
  if (tokenizer_share(run.result) < kNoticeableGain) return;
  changes.push_back({"prompts sent as token ids", {{"skip_tokenizer_init", "true"}}});
}

std::vector<Change> changes_for(const SimulationRun& run) {
  const Deployment& first = run.pools.front().deployment;
  std::vector<Change> changes;
  add_replicas(changes, run);
  if (2 * first.parallel.tensor <= kNode) {
    changes.push_back(
        {"TP doubled", {number("tensor_parallel_size", 2 * std::int64_t{first.parallel.tensor})}});
  }
  if (!run.scenario.deployment.weight_format && requantised_to_save(first.model, "fp8")) {
    changes.push_back({"8-bit weights", {{"quantization", "fp8"}}});
  }
  if (!run.scenario.deployment.overrides.kv_cache_dtype) {
    changes.push_back({"8-bit KV cache", {{"kv_cache_dtype", "fp8"}}});
  }
  add_batches(changes, first.engine);
  add_padding(changes, first.engine);
  add_chunks(changes, run);
  add_token_ids(changes, run);
  add_routing(changes, run);
  add_split(changes, run);
  return changes;
}

/// The verdict on a run that has been simulated, of more requests where it needs them.
SloOutcome settled_outcome(SimulationRun& run, const SteadyQuestion& question) {
  return outcome_of(lengthen_until_decided(
      run, question, [](SimulationRun& one) { one.result = simulate_run(one); }));
}

/// Nullopt if it cannot run, is what there is already, or refuses requests that are served: what it
/// gains on the others would be no answer.
std::optional<TriedChange> tried(const SimulationRun& run, const Change& change,
                                 const SteadyQuestion& question) {
  try {
    SimulationRun changed =
        prepare_simulation(with_settings(run.scenario, change.settings), run.workload);
    if (!changed.refusal.empty()) return std::nullopt;
    changed.stopped = run.stopped;
    changed.result = simulate_run(changed);
    if (changed.result.rejected > run.result.rejected) return std::nullopt;
    TriedChange one{.title = change.title, .settings = change.settings};
    one.latency_s = yardstick_of(run.result).of(changed.result);
    const double as_is = yardstick_of(run.result).of(run.result);
    one.gain = as_is > 0 ? 1 - one.latency_s / as_is : 0;
    one.dollars_per_hour = cost_of(changed.pools, changed.result).dollars_per_hour;
    one.slo = settled_outcome(changed, question);
    return one;
  } catch (const Error&) {  // the engine, the model or the checkpoint refuses it
    return std::nullopt;
  }
}

SloOutcome outcome_as_is(const SimulationRun& run, const SteadyQuestion& question) {
  SimulationRun same{
      .scenario = run.scenario, .pools = run.pools, .workload = run.workload, .result = run.result};
  same.stopped = run.stopped;
  return settled_outcome(same, question);
}

/// The fewest replicas that meet the SLO, by doubling and then halving the bracket.
struct EnoughReplicas {
  std::optional<TriedChange> change{};  // unset: kMaxTimes as many do not
  bool cancelled = false;               // then `change` need not be the fewest
};

EnoughReplicas enough_replicas(const SimulationRun& run, const SteadyQuestion& question,
                               Advice& advice, const Progress& progress) {
  // As far as plan looks for the load at which a deployment breaks (kMaxFactor in
  // plan_evaluator.cpp): four doublings. Beyond, a fleet is planned afresh rather than enlarged.
  constexpr std::int32_t kMaxTimes = 16;
  bool cancelled = false;
  std::int32_t too_few = run.pools.front().replicas + 1;  // it has been tried
  std::optional<TriedChange> found;
  std::int32_t enough = 0;
  const auto meets = [&](std::int32_t replicas) {
    cancelled = progress && !progress(0, 1);
    if (cancelled) return false;
    ++advice.simulations;
    auto one =
        tried(run, {"as many replicas as it takes", {number("replicas", replicas)}}, question);
    if (!one || one->slo != SloOutcome::met) return false;
    found = std::move(one);
    enough = replicas;
    return true;
  };
  for (std::int32_t times = 2; times <= kMaxTimes && !found && !cancelled; times *= 2) {
    const std::int32_t replicas = times * run.pools.front().replicas;
    if (replicas > too_few && !meets(replicas)) too_few = replicas;
  }
  while (found && !cancelled && enough - too_few > 1) {
    const std::int32_t middle = too_few + (enough - too_few) / 2;
    if (!meets(middle)) too_few = middle;
  }
  return {.change = std::move(found), .cancelled = cancelled};
}

}  // namespace

std::string_view name_of(SloOutcome outcome) {
  switch (outcome) {
    case SloOutcome::met:
      return "met";
    case SloOutcome::missed:
      return "missed";
    case SloOutcome::undecided:
      return "undecided";
    case SloOutcome::saturated:
      break;
  }
  return "saturated";
}

SloOutcome outcome_of(const SloVerdict& verdict) {
  if (verdict.saturated) return SloOutcome::saturated;
  if (verdict.undecided && !verdict.missed_anyway) return SloOutcome::undecided;
  return verdict.holds ? SloOutcome::met : SloOutcome::missed;
}

std::optional<Advice> advice_on(const SimulationRun& run, const SteadyQuestion& question,
                                int threads, const Progress& progress) {
  const std::vector<Change> changes = changes_for(run);
  auto answers = answers_here_or_on(
      std::ssize(changes), threads,
      [&](std::int64_t i) { return tried(run, changes[static_cast<std::size_t>(i)], question); },
      progress);
  if (!answers) return std::nullopt;
  Advice advice{.slo = outcome_as_is(run, question),
                .dollars_per_hour = cost_of(run.pools, run.result).dollars_per_hour,
                .simulations = 1 + std::ssize(changes)};
  const auto is_met = [](const TriedChange& one) { return one.slo == SloOutcome::met; };
  for (std::optional<TriedChange>& one : *answers) {
    if (one) advice.changes.push_back(*std::move(one));
  }
  if (advice.slo != SloOutcome::met && is_together(run) &&
      std::ranges::none_of(advice.changes, is_met)) {
    EnoughReplicas enough = enough_replicas(run, question, advice, progress);
    if (enough.cancelled) return std::nullopt;
    if (enough.change) advice.changes.push_back(*std::move(enough.change));
  }
  std::ranges::stable_sort(advice.changes, [](const TriedChange& a, const TriedChange& b) {
    const bool a_grows = a.slo == SloOutcome::saturated;
    const bool b_grows = b.slo == SloOutcome::saturated;
    return a_grows != b_grows ? b_grows : a.gain > b.gain;
  });
  return advice;
}

}  // namespace roofcast
