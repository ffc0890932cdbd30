#include "roofcast/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/statistics.hpp"
#include "planner/evaluate_all.hpp"
#include "planner/scenario/simulation_notes.hpp"
#include "planner/verdict/confidence.hpp"
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
  for (const LoadFigure& figure : kLoadFigures) visit_figure(visit, load, figure);
  for (const LatencyFigure& latency : kLatencyFigures) {
    Distribution& distribution = load.*latency.distribution;
    if (!latency.left_out_if_empty) {
      visit(latency.name, distribution, latency.meaning);
      continue;
    }
    std::optional<Distribution> given;
    if (distribution.count > 0) given = distribution;
    visit.if_set(latency.name, given, latency.meaning);
    distribution = given.value_or(Distribution{});
  }
}

template <class Visitor>
void members(Visitor& visit, LatencyInterval& interval) {
  visit("latency", interval.latency, "which: ttft_s, tpot_s, ...");
  visit_latency(visit, "low", interval.low, "lower ends");
  visit_latency(visit, "high", interval.high, "upper ends");
}

template <class Visitor>
void members(Visitor& visit, LatencyIntervals& intervals) {
  visit("level", intervals.level, "share of all cases that an interval is to contain, 0 to 1");
  visit("chance", intervals.chance, "includes other draws of the load");
  visit("saturates", intervals.saturates,
        "at its slow end the engine does not keep up: upper ends grow with the run's length");
  visit("latencies", intervals.latencies, "every mean and percentile");
}

template <class Visitor>
void members(Visitor& visit, TargetOutcome& target) {
  std::optional<double> achieved;
  if (target.achieved > 0) achieved = target.achieved;
  std::optional<bool> met;
  if (target.judged) met = target.met;
  visit("class", target.slo_class, "class of the requests; all: every class");
  visit("metric", target.target.metric, "the latency");
  visit("percentile", target.target.percentile, "0 to 100");
  visit("limit_s", target.target.limit, "seconds");
  visit("achieved_s", achieved, "at that percentile; null if not measured");
  visit("attainment", target.attainment, "share of the class's requests within the limit");
  visit("exact", target.exact, "false: from a histogram");
  visit("met", met, "achieved within the limit; null if the run was stopped");
  target.achieved = achieved.value_or(0);
  target.judged = met.has_value();
  target.met = met.value_or(false);
}

template <class Visitor>
void members(Visitor& visit, SimulatedSlo& slo) {
  visit("met", slo.met,
        "the SLO is met and the engine keeps up; without an SLO, whether anything is served and it "
        "keeps up; null if the run was stopped");
  visit.if_set("undecided", slo.undecided, "why a longer run might give another verdict");
  visit("targets", slo.targets, "each target");
  static const std::string kProbability = fmt::format(
      "that it is met, given the uncertainty of {}; with intervals", uncertain_input_names());
  visit.if_set("probability", slo.probability, kProbability.c_str());
}

template <class Visitor>
void members(Visitor& visit, ConfidenceInterval& growth) {
  visit("low", growth.low, "share of what arrives");
  visit("high", growth.high, "share of what arrives");
}

template <class Visitor>
void members(Visitor& visit, SaturationVerdict& verdict) {
  std::optional<bool> saturated;
  if (verdict.judged) saturated = verdict.saturated;
  std::string reason = verdict.reason();
  visit("saturated", saturated, "the backlog grows; null if the run was stopped");
  visit("undecided", verdict.undecided, "the run is too short to tell");
  visit.if_set("growth", verdict.growth, "of the backlog, 99 % interval; absent: there is no rate");
  visit("reason", reason, "with the figures behind it, for readers");
  visit("queueing_share", verdict.queueing_share, "share of the mean TTFT");
  verdict.judged = saturated.has_value();
  verdict.saturated = saturated.value_or(false);
  if (reason != verdict.reason()) {
    verdict.finding = std::move(reason);
    verdict.counts.clear();
    verdict.ttft.clear();
  }
}

template <class Visitor>
void members(Visitor& visit, EngineUse& use) {
  for (const EngineFigure& figure : kEngineFigures) visit_figure(visit, use, figure);
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
  visit("priced_at_load_rate", answer.priced_at_load_rate,
        "prices of tokens are those of the load's rate, not those at the rate served");
  visit.if_set("session_rate_per_s", answer.session_rate_per_s, "sessions offered");
  visit.if_set("limits", answer.limits, "limits of the run, if requested");
}

namespace {

constexpr const char* kSimulateCommand = "simulate";

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
  SimulatedSlo slo{.why_not = why_not(verdict)};
  if (!result.stopped) slo.met = verdict.holds;
  if (verdict.undecided) slo.undecided = reason_of(verdict);
  slo.targets = result.slo;
  return slo;
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
  answer.saturation = result.saturation;
  static_cast<EngineUse&>(answer.engine) = result.use;
  if (answer.inputs.deployment) answer.engine.kv_blocks = run.pools.front().plan.kv_blocks;
  answer.utilisation = utilisation_of(run.pools);
  answer.stages = result.stages;
  answer.replicas = result.replicas;
  answer.unserved = result.notes;
  answer.notes = run.notes;
  answer.advice = hints_on(run);
  answer.cost = cost_of(run.pools, result);
  answer.priced_at_load_rate = answer.cost.dollars_per_million_output_tokens &&
                               served_over_run(result, result.saturation) > 1.001;
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
/// A number of requests that nobody asked for, which `steady` chose, is no reason for none.
void add_certainty(SimulationOutcome& outcome, const SimulationQuestion& question,
                   const SteadyQuestion& steady, const Progress& progress) {
  const SimulationRun& run = outcome.run;
  SimulationAnswer& answer = outcome.answer;
  const IntervalSearch search{
      .wanted = steady.load != nullptr && question.intervals == Intervals::of_small_loads
                    ? Intervals::always
                    : question.intervals,
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
  if (answer.saturation.saturated || !answer.saturation.judged) {
    answer.notes.emplace_back("no intervals: latencies grow as long as the load lasts");
    return true;
  }
  answer.intervals = intervals_of(run, search.other_draws, search.threads, search.progress);
  return answer.intervals.has_value();
}

SimulationOutcome simulate_in_steps(const SimulationQuestion& question,
                                    const SimulationSteps& steps) {
  Scenario scenario = with_pooled_output(question.scenario);
  const bool grows = question.free_length && !question.recorded && may_grow(scenario);
  const std::int64_t first = first_arrivals(scenario);
  if (grows) set_arrivals(scenario, std::min(first, question.max_requests));
  SimulationOutcome outcome{.run = prepare_simulation(scenario, question.recorded)};
  if (!outcome.run.refusal.empty()) {
    outcome.answer = answer_of(outcome.run);
    return outcome;
  }
  if (steps.ready) steps.ready(outcome.run);
  std::optional<GrowingLoad> load;
  if (grows && first <= question.max_requests) load.emplace(scenario, outcome.run.workload, true);
  const SteadyQuestion steady{
      .load = load ? &*load : nullptr,
      .most = load ? std::min(load->limits().one, question.max_requests) : 0,
      .requirement = {.sample = is_sample(scenario), .must_stand = grows}};
  simulate_until_decided(outcome.run, steady,
                         [&](SimulationRun& run) { simulate_with_notes(run, steps.requests); });
  outcome.answer = answer_of(outcome.run);
  if (steps.simulated) steps.simulated(outcome);
  if (outcome.answer.stopped) return outcome;
  add_certainty(outcome, question, steady, steps.simulations);
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
  answer.stopped = !answer.saturation.judged;
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
