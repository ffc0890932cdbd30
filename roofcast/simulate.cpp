#include "roofcast/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/statistics.hpp"
#include "planner/capacity/confidence.hpp"
#include "planner/capacity/intervals.hpp"
#include "planner/evaluate_all.hpp"
#include "planner/scenario/run_simulation.hpp"
#include "planner/what_if/hints.hpp"
#include "roofcast/record_parts.hpp"
#include "simulator/results/figures.hpp"
#include "simulator/results/verdict.hpp"

namespace roofcast {

template <>
struct EnumNames<LatencyMetric> {
  static inline const auto values =
      names_of_first<LatencyMetric>(static_cast<int>(LatencyMetric::e2e) + 1);
};

// ---- the meaning of each key

template <class Visitor>
void members(Visitor& visit, SimulationInputs& inputs) {
  visit("model", inputs.model, "catalogue name or path, as given");
  visit.part_if_set("gpu", inputs.deployment, "if all pools have the same");
  visit.if_set("profile_hash", inputs.profile_hash,
               "of the hardware profile, if all pools have the same");
  visit("pools", inputs.pools, "deployment of each pool, every knob resolved");
  visit("scenario", inputs.scenario, "the question as a scenario file");
}

template <class Visitor>
void members(Visitor& visit, SimulatedWorkload& workload) {
  visit("description", workload.description, "the load in words");
  visit("requests", workload.requests, "all arrivals");
  visit("requests_unreported", workload.requests_unreported,
        "warm-up requests: left out of every figure except the engine's");
  visit("rows_skipped", workload.rows_skipped, "unreadable rows of a trace");
  visit.if_set("shares_prefixes", workload.shares_prefixes,
               "some prompts have parts that a prefix cache could serve again");
  visit("notes", workload.notes, "assumptions and omissions, for readers");
}

template <class Visitor>
void members(Visitor& visit, Distribution& distribution) {
  visit("count", distribution.count, "values");
  for (const DistributionStatistic& statistic : kDistributionStatistics) {
    visit(statistic.name, distribution.*statistic.value, "seconds");
  }
  visit("exact", distribution.exact, "false: percentiles are from a histogram");
}

template <class Visitor>
void members(Visitor& visit, LoadResult& load) {
  visit("requests_completed", load.completed, "requests");
  visit("requests_rejected", load.rejected, "too long for the engine or its KV cache");
  visit("requests_lost", load.lost, "lost with a failed replica and not sent again");
  visit("makespan_s", load.makespan, "first arrival to last completion");
  visit("request_rate_per_s", load.request_rate_per_s, "completed / makespan");
  visit("offered_rate_per_s", load.offered_rate_per_s, "arrivals; 0 if all come at once");
  visit("input_tokens_per_s", load.input_tokens_per_s, "of completed requests, over the makespan");
  visit("output_tokens_per_s", load.output_tokens_per_s,
        "of completed requests, over the makespan");
  for (const LatencyFigure& latency : kLatencyFigures) {
    visit(latency.name, load.*latency.distribution, latency.meaning);
  }
  visit("goodput_per_s", load.goodput_per_s,
        "requests within all goodput limits, over the makespan; null without goodput limits");
  visit("goodput_share", load.goodput_share, "share of the requests with an outcome");
}

template <class Visitor>
void members(Visitor& visit, SimulatedInterval& interval) {
  visit("latency", interval.latency, "which: ttft_s, tpot_s, ...");
  visit_latency(visit, "low", interval.low, "lower ends");
  visit_latency(visit, "high", interval.high, "upper ends");
}

template <class Visitor>
void members(Visitor& visit, SimulatedIntervals& intervals) {
  visit("level", intervals.level, "share of all cases that an interval is to contain, 0 to 1");
  visit("chance", intervals.chance, "includes other draws of the load");
  visit("saturates", intervals.saturates,
        "at its slow end the engine does not keep up: upper ends grow with the run's length");
  visit("latencies", intervals.latencies, "every mean and percentile");
}

template <class Visitor>
void members(Visitor& visit, SimulatedTarget& target) {
  visit("class", target.slo_class, "class of the requests; all: every class");
  visit("metric", target.target.metric, "the latency");
  visit("percentile", target.target.percentile, "0 to 100");
  visit("limit_s", target.target.limit, "seconds");
  visit("achieved_s", target.achieved_s, "at that percentile; null if not measured");
  visit("attainment", target.attainment, "share of the class's requests within the limit");
  visit("exact", target.exact, "false: from a histogram");
  visit("met", target.met, "achieved within the limit; null if the run was stopped");
}

template <class Visitor>
void members(Visitor& visit, SimulatedSlo& slo) {
  visit("met", slo.met,
        "the SLO is met: targets met and the engine keeps up; without an SLO whether anything is "
        "served; null if the run was stopped");
  visit.if_set("undecided", slo.undecided, "why a longer run might give another verdict");
  visit("targets", slo.targets, "each target");
  visit.if_set(
      "probability", slo.probability,
      "that it is met, given the uncertainty of step times, first tokens, host work, KV capacity "
      "and the acceptance of drafts; with intervals");
}

template <class Visitor>
void members(Visitor& visit, ConfidenceInterval& growth) {
  visit("low", growth.low, "share of what arrives");
  visit("high", growth.high, "share of what arrives");
}

template <class Visitor>
void members(Visitor& visit, SimulatedSaturation& saturation) {
  visit("saturated", saturation.saturated, "the backlog grows; null if the run was stopped");
  visit("undecided", saturation.undecided, "the run is too short to tell");
  visit.if_set("growth", saturation.growth, "of the backlog, 99 % interval");
  visit("reason", saturation.reason, "with the figures behind it, for readers");
  visit("queueing_share", saturation.queueing_share, "share of the mean TTFT");
}

template <class Visitor>
void members(Visitor& visit, EngineUse& use) {
  visit("steps", use.steps, "steps of all engines");
  visit("prefill_tokens", use.prefill_tokens, "computed, recomputation included");
  visit("recomputed_tokens", use.recomputed_tokens, "recomputed after preemption");
  visit("decode_tokens", use.decode_tokens, "generated");
  visit("preemptions", use.preemptions, "requests sent back to the queue");
  visit("prefix_query_tokens", use.prefix_queries, "looked up in the prefix cache");
  visit("prefix_hit_tokens", use.prefix_hits, "found in the prefix cache");
  visit("offload_hit_tokens", use.offload_hits, "loaded from host memory");
  visit("mean_acceptance_length", use.mean_acceptance_length,
        "tokens per decode with drafts; 0 without drafts");
  visit("draft_acceptance", use.draft_acceptance, "accepted share of draft tokens");
  visit("kv_use_mean", use.mean_kv_use, "mean share of blocks in use");
  visit("kv_use_peak", use.peak_kv_use, "of the fullest engine");
  visit("kv_empty_mean", use.mean_kv_empty,
        "mean share of the cache that is allocated to sequences, but empty");
  visit("kv_empty_peak", use.peak_kv_empty, "of the engine with the most");
  double empty_share = kv_empty_share(use).value_or(0);
  visit("kv_empty_share", empty_share, "kv_empty_mean over kv_use_mean: of what is allocated");
  visit("kv_unused_mean", use.mean_kv_unused,
        "of kv_empty_mean: reserved beyond the end of the request; 0 if K and V are paged");
  visit("kv_stranded_mean", use.mean_kv_stranded,
        "mean share that is free, but in ranges too short for the request that waits; 0 if K and V "
        "are paged");
  visit("running_mean", use.mean_running, "mean number of requests running");
  visit("running_peak", use.peak_running, "maximum at one time");
  visit("waiting_mean", use.mean_waiting, "mean number of requests queued");
  visit("waiting_peak", use.peak_waiting, "maximum at one time");
  visit("busy_share", use.busy_share, "share of the makespan with a step in progress");
}

template <class Visitor>
void members(Visitor& visit, SimulatedEngine& engine) {
  members(visit, static_cast<EngineUse&>(engine));
  visit("kv_blocks", engine.kv_blocks, "blocks per engine; null if pools differ");
}

template <class Visitor>
void members(Visitor& visit, StageResult& stage) {
  visit("name", stage.name, "10 /s for 60 s, ...");
  members(visit, static_cast<LoadResult&>(stage));
}

template <class Visitor>
void members(Visitor& visit, ReplicaResult& replica) {
  visit("pool", replica.pool, "name of its pool");
  visit("index", replica.index, "within the pool");
  visit("paid_s", replica.paid, "from when it was ordered to when it was removed");
  visit("requests_served", replica.served, "requests, or prompts if it only prefills");
  visit("requests_completed", replica.completed, "requests that finished here");
  visit("requests_lost", replica.lost, "requests lost in its failure");
  visit("engine", replica.use, "during its part of the makespan");
}

template <class Visitor>
void members(Visitor& visit, SimulationAnswer& answer) {
  members(visit, answer.head);
  visit("inputs", answer.inputs, "the question as parsed");
  visit("fits", answer.fits, "whether every pool fits in memory");
  visit.if_set("reason", answer.reason, "what does not fit; then no other key follows");
  if (!answer.fits) return;
  visit("workload", answer.workload, "the simulated load");
  members(visit, answer.load);
  visit.if_set("intervals", answer.intervals, "of the latencies, if requested");
  visit("preemptions", answer.engine.preemptions, "as engine.preemptions");
  visit("slo", answer.slo, "verdict on the SLO");
  visit("saturation", answer.saturation, "whether the engine keeps up");
  visit("engine", answer.engine, "all replicas together");
  visit("utilisation", answer.utilisation, "of each pool's GPUs while a step is in progress");
  visit("stages", answer.stages, "stages of the load, if several are reported");
  visit("replicas", answer.replicas, "if there are several, or their number may change");
  visit("unserved", answer.unserved, "requests that were not served and why, for readers");
  visit("notes", answer.notes, "sources and assumptions, for readers");
  visit("advice", answer.advice,
        "what may help, from this run alone, for readers; limits.advice has changes that were "
        "simulated");
  members(visit, answer.cost);
  visit.if_set("session_rate_per_s", answer.session_rate_per_s, "sessions offered");
  visit.if_set("limits", answer.limits, "limits of the run, if requested");
}

namespace {

constexpr const char* kSimulateCommand = "simulate";

/// A stopped run has no verdict.
std::optional<bool> unless_stopped(const SimulationResult& result, bool verdict) {
  return result.stopped ? std::nullopt : std::optional(verdict);
}

SimulationInputs inputs_of(const SimulationRun& run) {
  const PoolRun& first = run.pools.front();
  SimulationInputs inputs{.model = first.deployment.model.name,
                          .pools = pool_inputs(run.pools),
                          .scenario = run.scenario};
  if (are_alike(run.pools)) {
    inputs.deployment = inputs_of(first.deployment);
    inputs.profile_hash = first.profile_hash;
  }
  return inputs;
}

SimulatedSlo slo_of(const SimulationResult& result, const SloRequirement& requirement) {
  const SloVerdict verdict = judge(result, requirement);
  SimulatedSlo slo{.met = unless_stopped(result, verdict.holds), .why_not = why_not(verdict)};
  if (verdict.undecided) slo.undecided = reason_of(verdict);
  for (const TargetOutcome& outcome : result.slo) {
    const bool measured = outcome.achieved > 0;
    slo.targets.push_back({.slo_class = outcome.slo_class,
                           .target = outcome.target,
                           .achieved_s = measured ? std::optional(outcome.achieved) : std::nullopt,
                           .attainment = outcome.attainment,
                           .exact = outcome.exact,
                           .met = unless_stopped(result, outcome.met)});
  }
  return slo;
}

SimulatedIntervals intervals_answer(const LatencyIntervals& intervals) {
  SimulatedIntervals answer{
      .level = kIntervalShare, .chance = intervals.with_chance, .saturates = intervals.saturates};
  for (const LatencyInterval& interval : intervals.latencies) {
    answer.latencies.push_back({interval.latency->name, interval.low, interval.high});
  }
  return answer;
}

void interrupt_intervals(SimulationAnswer& answer) {
  answer.intervals.reset();
  answer.notes.emplace_back("interrupted: the intervals are left out");
}

}  // namespace

SimulationAnswer answer_of(const SimulationRun& run) {
  SimulationAnswer answer{.head = answer_head(kSimulateCommand),
                          .inputs = inputs_of(run),
                          .fits = run.refusal.empty(),
                          .headline = headline(run.pools)};
  if (!answer.fits) {
    answer.reason = run.refusal;
    return answer;
  }
  const SimulationResult& result = run.result;
  answer.workload = {.description = run.workload.description,
                     .requests = std::ssize(run.workload.requests),
                     .requests_unreported = result.unreported,
                     .rows_skipped = run.workload.rows_skipped,
                     .shares_prefixes = !run.workload.contents.empty(),
                     .notes = run.workload.notes};
  answer.load = static_cast<const LoadResult&>(result);
  answer.slo = slo_of(result, result.requirement);
  answer.saturation = {.saturated = unless_stopped(result, result.saturation.saturated),
                       .undecided = result.saturation.undecided,
                       .reason = result.saturation.reason(),
                       .queueing_share = result.saturation.queueing_share};
  if (result.saturation.filled || result.saturation.undecided || result.saturation.saturated) {
    answer.saturation.growth =
        ConfidenceInterval{result.saturation.growth_low, result.saturation.growth_high};
  }
  static_cast<EngineUse&>(answer.engine) = result.use;
  if (answer.inputs.deployment) answer.engine.kv_blocks = run.pools.front().plan.kv_blocks;
  answer.utilisation = utilisation_of(run.pools);
  answer.stages = result.stages;
  answer.replicas = result.replicas;
  answer.unserved = result.notes;
  answer.notes = run.notes;
  answer.advice = hints_on(run);
  answer.cost = cost_of(run.pools, result);
  if (result.session_rate_per_s > 0) answer.session_rate_per_s = result.session_rate_per_s;
  answer.stopped = result.stopped;
  return answer;
}

namespace {

/// Adds what limits the run, and what to do about it, judged by `question`'s load if it grows.
void explain(SimulationOutcome& outcome, const SteadyQuestion& question, const Progress& progress) {
  const SimulationRun& run = outcome.run;
  SimulationRun counted{.scenario = run.scenario, .pools = run.pools, .workload = run.workload};
  bool goes_on = true;
  // The run itself is not one of the simulations with wider limits.
  const LimitAccount account =
      simulate_with_account(counted, step_times_of(counted), [&](std::int64_t, std::int64_t) {
        if (goes_on && progress) goes_on = progress(0, 1);
        return goes_on;
      });
  std::optional<LimitReport> report;
  std::optional<Advice> advice;
  if (goes_on) report = report_limits(counted, account, available_threads(), progress);
  if (report) advice = advice_on(run, question, available_threads(), progress);
  if (!advice) {
    outcome.answer.notes.emplace_back("interrupted: the limits of the run are left out");
    return;
  }
  outcome.answer.limits = limits_answer(*report, run.pools);
  outcome.answer.limits->advice = advice_answer(*advice);
}

/// Adds intervals of the latencies and the probability that the SLO is met, or why there are none.
void add_certainty(SimulationOutcome& outcome, const SimulationQuestion& question,
                   const Progress& progress) {
  const SimulationRun& run = outcome.run;
  SimulationAnswer& answer = outcome.answer;
  const IntervalSearch search{
      .wanted = question.intervals,
      .other_draws =
          !question.recorded && std::holds_alternative<SyntheticWorkload>(run.scenario.workload),
      .threads = available_threads(),
      .progress = progress};
  if (!add_intervals(run, search, answer)) return interrupt_intervals(answer);
  if (!answer.intervals || answer.slo.targets.empty()) return;
  const auto confidence = confidence_of(run, run.result.requirement, search.threads, progress);
  if (!confidence) return interrupt_intervals(answer);
  answer.slo.probability = confidence->probability;
}

}  // namespace

bool add_intervals(const SimulationRun& run, const IntervalSearch& search,
                   SimulationAnswer& answer) {
  if (search.wanted == Intervals::none || answer.load.completed == 0) return true;
  if (search.wanted == Intervals::of_small_loads &&
      std::ssize(run.workload.requests) > kSmallLoad) {
    answer.notes.push_back(fmt::format(
        "more than {} requests: intervals of the latencies only on request (`intervals`)",
        with_separators(kSmallLoad)));
    return true;
  }
  if (answer.saturation.saturated.value_or(true)) {
    answer.notes.emplace_back("no intervals: latencies grow as long as the load lasts");
    return true;
  }
  const auto intervals = intervals_of(run, search.other_draws, search.threads, search.progress);
  if (!intervals) return false;
  answer.intervals = intervals_answer(*intervals);
  return true;
}

SimulationOutcome simulate_in_steps(const SimulationQuestion& question,
                                    const SimulationSteps& steps) {
  Scenario scenario = question.scenario;
  const bool grows = question.free_length && !question.recorded && may_grow(scenario);
  const ArrivalLimits limits = arrival_limits(scenario);
  if (grows) set_arrivals(scenario, std::min(limits.first, question.max_requests));
  SimulationOutcome outcome{.run = prepare_simulation(scenario, question.recorded)};
  if (!outcome.run.refusal.empty()) {
    outcome.answer = answer_of(outcome.run);
    return outcome;
  }
  if (steps.ready) steps.ready(outcome.run);
  std::optional<GrowingLoad> load;
  if (grows && limits.first <= question.max_requests)
    load.emplace(scenario, outcome.run.workload, true);
  const SteadyQuestion steady{.load = load ? &*load : nullptr,
                              .most = std::min(limits.one, question.max_requests),
                              .requirement = {.sample = is_sample(scenario), .must_stand = grows}};
  simulate_until_decided(outcome.run, steady,
                         [&](SimulationRun& run) { run_simulation(run, steps.requests); });
  outcome.answer = answer_of(outcome.run);
  if (steps.simulated) steps.simulated(outcome);
  if (outcome.answer.stopped) return outcome;
  add_certainty(outcome, question, steps.simulations);
  if (question.explain) explain(outcome, steady, steps.simulations);
  return outcome;
}

SimulationAnswer simulate(const SimulationQuestion& question, const Progress& progress) {
  return simulate_in_steps(question, {.requests = progress, .simulations = progress}).answer;
}

bool is_yes(const SimulationAnswer& answer) {
  return answer.fits && answer.slo.met.value_or(false);
}

Json to_json(const SimulationAnswer& answer) { return record_to_json(answer); }

SimulationAnswer simulation_answer_from_json(const Json& json) {
  auto answer = answer_from_json<SimulationAnswer>(json, kSimulateCommand);
  answer.headline = answer.inputs.model;
  if (!answer.fits) return answer;
  answer.stopped = !answer.saturation.saturated;
  const LoadResult& load = answer.load;
  answer.load.unfinished = answer.workload.requests - answer.workload.requests_unreported -
                           load.completed - load.rejected - load.lost;
  return answer;
}

Json simulation_answer_schema() {
  Json schema = schema_document<SimulationAnswer>("Answer of roofcast simulate");
  schema["required"] = record_schema(SimulationAnswer{.fits = false})["required"];
  return schema;
}

}  // namespace roofcast
