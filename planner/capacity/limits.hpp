// Which limit binds: what each one was used for in a run, and what the run would gain if it were
// a tenth wider. The account tells symptoms, the simulation with the wider limit tells the cause.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "planner/capacity/step_census.hpp"
#include "planner/scenario_run.hpp"
#include "simulator/results/verdict.hpp"

namespace roofcast {

enum class LimitKind {
  kv_memory,     // KV blocks
  token_budget,  // max_num_batched_tokens
  max_num_seqs,
  compute,       // FLOP/s, of operators that they bound
  bandwidth,     // of the GPU's memory, likewise
  interconnect,  // links between GPUs, in steps and for K and V that move
  host,          // the engine's own time, in steps and per request
  queueing       // arrivals by chance
};

/// "kv_memory", "token_budget", ...
std::string_view name_of(LimitKind kind);

/// By how much a limit is widened to see what it costs; queueing is taken away altogether, by
/// arrivals that are evenly spaced.
inline constexpr double kRelaxation = 0.10;

/// Of a pool's steps: what a step takes with the kind's tenth more.
struct RelaxedShares {
  double prompt_steps = 1;  // factor on steps that compute prompts
  double decode_steps = 1;
};

/// Where the time of a pool's steps goes, from a sample of them; the rest are fixed times of
/// kernels. Steps that wait for the host are all the host's.
struct StepShares {
  double compute = 0;
  double bandwidth = 0;
  double interconnect = 0;
  double host = 0;
};

/// What a pool's steps were made of.
struct PoolSteps {
  StepCensus census{};
  StepShares prompts{};  // of steps that compute prompts
  StepShares decodes{};  // of all others
};

/// How much of a limit was used.
struct LimitUse {
  LimitKind kind = LimitKind::kv_memory;
  /// kv_memory: peak share of the fullest engine's blocks. token_budget, max_num_seqs: of the time
  /// of all steps, that at the limit. compute, bandwidth, interconnect, host: of the time of all
  /// steps. queueing: of the mean TTFT.
  double share = 0;
};

/// What a run used of its limits.
struct LimitAccount {
  std::vector<PoolSteps> pools{};
  std::vector<LimitUse> uses{};  // of each kind that applies, in the order of LimitKind
};

/// Simulates the run and fills in its result and each pool's uncertainty, as simulate_sampled does.
LimitAccount simulate_with_account(SimulationRun& run, const PoolStepTimes& step_times,
                                   const ProgressFunction& progress);

/// The run with a tenth more of one limit. GPU limits scale steps with prompts and steps without by
/// what a sample of each says, whatever is in them. Neglected: memory that a larger batch needs,
/// host work that a faster GPU no longer hides.
SimulationResult simulate_relaxed(const SimulationRun& run, const LimitAccount& account,
                                  LimitKind kind);

/// What a limit is judged by: the target that is nearest to failing or fails by most, else the mean
/// E2E.
struct Yardstick {
  std::optional<std::size_t> target{};              // index into SimulationResult::slo
  double of(const SimulationResult& result) const;  // seconds; 0 when nothing was measured
};

Yardstick yardstick_of(const SimulationResult& result);

/// A limit with what widening it brings.
struct LimitGain {
  LimitUse use{};
  double relaxed_s = 0;  // the yardstick with the wider limit
  double gain = 0;       // share of the yardstick that is saved; below 0 where it gets worse
};

/// The limits of a run, judged.
struct LimitReport {
  std::optional<TargetOutcome> target{};  // the yardstick's; unset: the mean E2E
  double as_is_s = 0;                     // the yardstick as it is
  EngineUse use{};                        // of the run
  std::vector<LimitGain> gains{};         // of all that the account names, greatest first
  /// The limit whose widening by a tenth gains most, if any gains a noticeable share; queueing,
  /// which is no tenth, only when no other does.
  std::optional<LimitKind> binding{};
};

/// `run` holds the result that the account is of. Nothing when `progress` ended it; it gets (done,
/// number of simulations).
std::optional<LimitReport> report_limits(const SimulationRun& run, const LimitAccount& account,
                                         int threads, const ProgressFunction& progress);

/// Of gains in their order, greatest first.
std::optional<LimitKind> binding_limit(const std::vector<LimitGain>& gains);

}  // namespace roofcast
