// Which limit binds: how much of each a run used, and what the run would gain from 10 % more of it.
// The account shows symptoms; simulating with the wider limit shows the cause.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/progress.hpp"
#include "planner/scenario/simulation_run.hpp"
#include "planner/scenario/step_census.hpp"
#include "simulator/results/verdict.hpp"

namespace roofcast {

enum class LimitKind {
  kv_memory,     // KV blocks
  token_budget,  // max_num_batched_tokens
  max_num_seqs,
  compute,       // FLOP/s, of compute-bound operators
  bandwidth,     // of the GPU's memory, of memory-bound operators
  interconnect,  // links between GPUs, in steps and for KV transfers
  host,          // the engine's CPU time, in steps and per request
  queueing       // random arrivals
};

/// "kv_memory", "token_budget", ...
std::string_view name_of(LimitKind kind);

/// How far a limit is widened to see what it costs; queueing is removed altogether, by evenly
/// spaced arrivals.
inline constexpr double kRelaxation = 0.10;

/// The least gain that counts, of the yardstick.
inline constexpr double kNoticeableGain = 0.01;

/// Factors on a pool's step times with 10 % more of a limit.
struct RelaxedShares {
  double prompt_steps = 1;  // factor on steps that compute prompts
  double decode_steps = 1;
};

/// Where the time of a pool's steps goes, from a sample of them; the rest is fixed kernel time.
/// Steps that wait for the host count as host time entirely.
struct StepShares {
  double compute = 0;
  double bandwidth = 0;
  double interconnect = 0;
  double host = 0;
};

/// The composition of a pool's steps.
struct PoolSteps {
  StepCensus census{};
  StepShares prompts{};  // of steps that compute prompts
  StepShares decodes{};  // of all other steps
};

/// How much of a limit was used.
struct LimitUse {
  LimitKind kind = LimitKind::kv_memory;
  /// kv_memory: peak share of the fullest engine's blocks. token_budget, max_num_seqs: share of
  /// total step time at the limit. compute, bandwidth, interconnect, host: share of total step
  /// time. queueing: share of mean TTFT.
  double share = 0;
};

/// How much of its limits a run used.
struct LimitAccount {
  std::vector<PoolSteps> pools{};
  std::vector<LimitUse> uses{};  // one per kind that applies, in the order of LimitKind
};

/// Simulates the run and fills in its result, and each pool's uncertainty and utilisation, as
/// simulate_sampled does.
LimitAccount simulate_with_account(SimulationRun& run, const PoolStepTimes& step_times,
                                   const Progress& progress);

/// The run with 10 % more of one limit. GPU limits scale steps with and without prompts by the
/// factors from a sample of each, whatever a step contains. Neglected: memory that a larger batch
/// needs, host work that a faster GPU no longer hides.
SimulationResult simulate_relaxed(const SimulationRun& run, const LimitAccount& account,
                                  LimitKind kind);

/// What a limit is judged by: the target nearest to failing or failing by most (of an engine that
/// does not keep up, of TTFT or E2E), else the mean E2E.
struct Yardstick {
  std::optional<std::size_t> target{};              // index into SimulationResult::slo
  double of(const SimulationResult& result) const;  // seconds; 0 if not measured
};

Yardstick yardstick_of(const SimulationResult& result);

/// A limit with the gain from widening it.
struct LimitGain {
  LimitUse use{};
  double relaxed_s = 0;  // the yardstick with the wider limit
  double gain = 0;       // share of the yardstick saved; negative if it gets worse
};

/// The limits of a run, judged.
struct LimitReport {
  std::optional<TargetOutcome> target{};  // the yardstick's; unset: mean E2E
  double as_is_s = 0;                     // the yardstick of the run itself
  EngineUse use{};                        // of the run
  double tokenizer_share = 0;             // of its mean TTFT
  std::vector<LimitGain> gains{};         // for all limits of the account, greatest first
  /// The limit with the greatest gain from 10 % more, if that is noticeable; queueing, which is
  /// removed rather than widened by 10 %, if no other limit qualifies, or if the yardstick is a
  /// TTFT and 90 % of the mean TTFT are waiting.
  std::optional<LimitKind> binding{};
};

/// `run` holds the result that the account belongs to. `progress` gets (done, number of
/// simulations); returns nullopt if it cancels.
std::optional<LimitReport> report_limits(const SimulationRun& run, const LimitAccount& account,
                                         int threads, const Progress& progress);

/// Precondition: gains are sorted, greatest first.
std::optional<LimitKind> binding_limit(const std::vector<LimitGain>& gains);

}  // namespace roofcast
