#include "roofcast/capacity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "planner/capacity/capacity_findings.hpp"
#include "planner/evaluate_all.hpp"
#include "roofcast/record_parts.hpp"

namespace roofcast {

// ---- the record

/// The load, under the key for its unit.
template <class Visitor>
void visit_load(Visitor& visit, LoadKind& kind, double& load) {
  std::optional<double> rate, concurrency;
  (kind == LoadKind::rate ? rate : concurrency) = load;
  visit.if_set("rate_per_s", rate, "load: requests per second");
  visit.if_set("concurrency", concurrency, "load: requests in flight");
  kind = rate ? LoadKind::rate : LoadKind::concurrency;
  load = rate.value_or(concurrency.value_or(0));
}

template <class Visitor, class Record, class Figures>
void visit_at_each_load(Visitor& visit, Record& record, const Figures& figures) {
  for (const auto& figure : figures) {
    if (figure.words.places.at_each_load) visit_figure(visit, record, figure);
  }
}

template <class Visitor>
void members(Visitor& visit, CapacityPoint& point) {
  visit_load(visit, point.kind, point.load);
  visit_at_each_load(visit, static_cast<LoadResult&>(point), kLoadFigures);
  visit_latency(visit, "ttft_s", point.ttft, "time to first token; 0: not measured");
  visit_latency(visit, "tpot_s", point.tpot,
                "time per output token after the first; 0: not measured");
  visit_latency(visit, "e2e_s", point.e2e, "from sending to the last token; 0: not measured");
  visit_at_each_load(visit, point.use, kEngineFigures);
  visit("requests", point.requests, "simulated");
  members(visit, point.verdict);
}

template <class Visitor>
void members(Visitor& visit, AskedLoad& asked) {
  members(visit, static_cast<CapacityPoint&>(asked));
  visit("probability", asked.probability, "that the SLO is met");
  visit("causes", asked.causes, "inputs whose error could reverse the verdict");
  visit("utilisation", asked.utilisation, "of each pool's GPUs while a step is in progress");
}

template <class Visitor>
void members(Visitor& visit, CapacityGrowth& growth) {
  visit("rate", growth.rate, "growth per period, compound");
  visit("period", growth.period, "day, week, month, quarter or year");
  visit("periods_until_it_fails", growth.periods, "null: never");
  visit("date", growth.date, "last day on which the SLO is met; null without a start date");
}

template <class Visitor>
void members(Visitor& visit, CapacityLimits& limits) {
  members(visit, static_cast<LimitsAnswer&>(limits));
  visit_load(visit, limits.kind, limits.load);
  visit("utilisation", limits.utilisation, "of each pool's GPUs while a step is in progress");
}

template <class Visitor>
void members(Visitor& visit, LostReplicaAnswer& lost) {
  visit("pool", lost.pool, "pool that loses a replica");
  visit("replicas_left", lost.replicas_left, "with none left, nothing is served");
  visit("capacity", lost.capacity, "null: no load meets the SLO");
  visit("asked", lost.asked, "at the requested load; null if there is none");
}

template <class Visitor>
void members(Visitor& visit, CapacityInputs& inputs) {
  visit("model", inputs.model, "name of the model");
  visit("pools", inputs.pools, "pools, every knob resolved");
  visit("min_goodput_share", inputs.min_goodput_share, "required; null: none");
  visit("scenario", inputs.scenario, "as in a scenario file");
}

template <class Visitor>
void members(Visitor& visit, CapacityAnswer& answer) {
  members(visit, answer.head);
  visit("inputs", answer.inputs, "the question as parsed");
  visit("fits", answer.fits, "in memory");
  if (!answer.fits) {
    visit("reason", answer.reason, "why it does not fit");
    return;
  }
  visit("load", answer.load, "quantity that the search scales");
  visit("headline", answer.headline, "model, GPU and engine in one line");
  visit("workload", answer.workload, "the load in one line");
  visit("workload_notes", answer.workload_notes, "how its requests were made");
  visit("holds", answer.holds, "whether the answer is yes");
  visit("capacity", answer.capacity, "the highest load that meets the SLO; null: none");
  visit("capacity_low", answer.low,
        "lower end of its 80 % interval, from the uncertainty of step times, the engine's version "
        "included, and of host work on requests");
  visit("capacity_high", answer.high, "upper end of the same");
  visit("bounded", answer.bounded, "some load fails; else the capacity is a lower bound");
  visit("monotone", answer.monotone, "no load above the capacity meets the SLO");
  visit.if_set("doubt", answer.doubt,
               "why the verdict at the capacity does not stand: too few requests");
  visit("asked", answer.asked, "verdict at the requested load; null if there is none");
  visit("headroom", answer.headroom, "capacity over the requested load");
  visit("growth", answer.growth, "null if not requested");
  visit("curve", answer.curve, "from low loads to beyond capacity");
  visit("points", answer.points, "all loads that the search tried");
  visit("limits", answer.limits, "at the lowest load that fails");
  visit("capacity_before_relaxing", answer.unrelaxed,
        "beside which the limits' relaxed capacities stand; null without `explain`");
  members(visit, answer.cost);
  visit.if_set("turns_per_session", answer.turns_per_session,
               "requests of a session, on average: rates count requests");
  visit("one_replica_lost", answer.lost, "if requested");
  visit("requests", answer.requests, "per simulation");
  visit("simulations", answer.simulations, "behind this answer");
  visit("notes", answer.notes, "remarks in plain text");
}

namespace {

// ---- the answer from the findings

CapacityPoint point_of(LoadKind kind, const LoadPoint& point) { return {point, kind}; }

std::optional<CapacityPoint> point_of(LoadKind kind, const std::optional<LoadPoint>& point) {
  if (!point) return std::nullopt;
  return point_of(kind, *point);
}

std::optional<AskedLoad> asked_of(const CapacityFindings& found) {
  if (!found.asked) return std::nullopt;
  AskedLoad asked{point_of(found.study.kind, *found.asked), found.confidence->probability};
  asked.causes = found.confidence->causes;
  asked.utilisation = found.asked_use;
  return asked;
}

CapacityLimits limits_of(const CapacityFindings& found) {
  CapacityLimits limits{limits_answer(found.limits, found.study.run.pools), found.study.kind,
                        found.limit_load, found.limit_use};
  for (std::size_t i = 0; i < found.relaxed.size(); ++i) {
    limits.limits[i].relaxed_capacity = found.relaxed[i].load;
  }
  return limits;
}

CapacityGrowth growth_of(const GrowthQuestion& question, const std::optional<double>& headroom) {
  const GrowthEnd end = end_of_growth(headroom.value_or(0), question);
  return {question.growth, end.periods, end.date};
}

std::vector<std::string> notes_of(const CapacityFindings& found, std::int64_t simulations) {
  std::vector<std::string> notes = found.notes;
  if (!found.study.asked) {
    notes.emplace_back(
        "no load requested (`request_rate`): the same arrivals are tried at every rate");
  }
  if (found.confidence) {
    for (const Cause& cause : found.confidence->causes) {
      if (!cause.flips_at) continue;
      notes.push_back(
          fmt::format("the verdict reverses if {} is off by {:+.1f} standard deviations",
                      cause.name, *cause.flips_at));
    }
  }
  const SimulationRun& run = found.study.run;
  for (const PoolRun& pool : run.pools) {
    const double version = version_deviation(pool.deployment);
    notes.push_back(fmt::format(
        "{}uncertainty: step times ±{}, {}KV capacity ±{} (one standard deviation)",
        run.pools.size() > 1 ? "pool " + pool.name + ": " : "",
        as_percent(pool.step_uncertainty, 0),
        version > 0 ? fmt::format("a further ±{} for {}, ", as_percent(version, 0), kVersionCause)
                    : "",
        as_percent(pool.plan.relative_uncertainty)));
  }
  notes.emplace_back(
      "the same requests at every load; other arrivals at the same rate give a slightly different "
      "capacity (`seed`)");
  const auto first = std::ssize(found.study.growing->of(found.study.growing->first())->requests);
  notes.push_back(counted(simulations, "simulation") + " of " + counted(first, "request") +
                  (found.study.grows() ? ", and of more where a verdict needs them" : ""));
  return notes;
}

/// The fields known before any simulation.
CapacityAnswer beginning(const LoadStudy& study) {
  const SimulationRun& run = study.run;
  return {.head = answer_head("capacity"),
          .inputs = {.model = run.pools.front().deployment.model.name,
                     .pools = pool_inputs(run.pools),
                     .min_goodput_share = study.requirement.min_goodput_share,
                     .scenario = run.scenario},
          .fits = run.refusal.empty(),
          .reason = run.refusal,
          .load = study.kind,
          .headline = headline(run.pools),
          .workload = run.workload.description,
          .workload_notes = run.workload.notes,
          .pools = run.pools};
}

std::optional<double> turns_per_session(const SimulationRun& run) {
  const auto starts = std::ranges::count(run.workload.requests, kNoRequest, &Request::follows);
  const auto requests = std::ssize(run.workload.requests);
  if (starts == requests) return std::nullopt;
  return static_cast<double>(requests) / static_cast<double>(starts);
}

CapacityAnswer answer_of(const CapacityFindings& found, const CapacityQuestion& question,
                         std::int64_t simulations) {
  CapacityAnswer answer = beginning(found.study);
  answer.holds = holds(found);
  answer.capacity = found.capacity.load;
  answer.low = found.low;
  answer.high = found.high;
  answer.bounded = found.capacity.bounded;
  answer.monotone = found.capacity.monotone;
  if (!found.doubt.empty()) answer.doubt = found.doubt;
  answer.asked = asked_of(found);
  answer.headroom = headroom_of(found);
  if (question.growth) answer.growth = growth_of(*question.growth, answer.headroom);
  answer.curve = capacity_points(found.study.kind, found.curve);
  answer.points = capacity_points(found.study.kind, found.capacity.points);
  answer.limits = limits_of(found);
  for (const LostReplica& lost : found.lost) {
    answer.lost.push_back({.pool = lost.pool,
                           .replicas_left = lost.left,
                           .capacity = lost.capacity.load,
                           .asked = point_of(found.study.kind, lost.asked)});
  }
  answer.cost = found.cost;
  answer.turns_per_session = turns_per_session(found.study.run);
  answer.requests = std::ssize(found.study.run.workload.requests);
  answer.simulations = simulations;
  answer.notes = notes_of(found, simulations);
  answer.unrelaxed = found.unrelaxed;
  return answer;
}

/// Advice for the load at which the limits are judged.
Advice advice_at_limit(const CapacityFindings& found, Execution& execution) {
  const LoadStudy study = with_requests(found.study, found.limit_requests);
  SimulationRun run = at_load(study, found.limit_load);
  run.stopped = execution.stopped;
  run.result = simulate_run(run);
  auto advice = advice_on(run, steady_question(found.study, found.limit_load), execution.threads,
                          execution.ticks());
  throw_if_stopped(run);
  if (!advice) throw_interrupted();
  execution.simulations += 1 + advice->simulations;
  return *std::move(advice);
}

}  // namespace

LoadStudy capacity_study(const CapacityQuestion& question) {
  LoadStudy study = study_of(question.scenario, {.min_goodput_share = question.min_goodput_share},
                             question.free_length);
  if (study.run.refusal.empty() && question.growth && !study.asked) {
    throw UsageError("`growth`: needs a load that can grow (`request_rate`)");
  }
  return study;
}

CapacityAnswer capacity(const CapacityQuestion& question, LoadStudy study, const Progress& progress,
                        const std::function<bool()>& stopped) {
  if (!study.run.refusal.empty()) return beginning(study);
  // The usual count: a slightly wrong progress bar is better than none.
  const std::int64_t usual = question.explain ? 120 : 60;
  Execution execution{.threads = question.threads > 0 ? question.threads : available_threads(),
                      .stopped = stopped};
  if (progress) {
    execution.progress = [&](std::int64_t done) { return progress(done, std::max(done, usual)); };
  }
  const CapacityFindings found = capacity_findings(
      std::move(study), {.explain = question.explain, .lose_one = question.lose_one}, execution);
  std::optional<Advice> advice;
  if (question.explain) advice = advice_at_limit(found, execution);
  CapacityAnswer answer = answer_of(found, question, execution.simulations);
  if (advice) answer.limits.advice = advice_answer(*advice);
  return answer;
}

CapacityAnswer capacity(const CapacityQuestion& question, const Progress& progress,
                        const std::function<bool()>& stopped) {
  return capacity(question, capacity_study(question), progress, stopped);
}

bool is_yes(const CapacityAnswer& answer) { return answer.holds; }

Json to_json(const CapacityAnswer& answer) { return record_to_json(answer); }

CapacityAnswer capacity_answer_from_json(const Json& json) {
  return answer_from_json<CapacityAnswer>(json, "capacity");
}

Json capacity_answer_schema() {
  return {
      {"$schema", "https://json-schema.org/draft/2020-12/schema"},
      {"title", "Answer of roofcast capacity"},
      {"anyOf", {record_schema(CapacityAnswer{}), record_schema(CapacityAnswer{.fits = false})}}};
}

std::vector<CapacityPoint> capacity_points(LoadKind kind, const std::vector<LoadPoint>& points) {
  std::vector<CapacityPoint> all;
  for (const LoadPoint& point : points) all.push_back(point_of(kind, point));
  return all;
}

Printed printed_load(double value) {
  constexpr int kDigits = 4;
  const double size = value > 0 ? std::floor(std::log10(value)) : 0;
  return printed::fixed(value, std::clamp(kDigits - 1 - static_cast<int>(size), 0, 9));
}

std::string as_number(double value) { return printed_load(value).text; }

std::string as_load(LoadKind kind, double load) {
  return kind == LoadKind::rate ? as_number(load) + " requests/s"
                                : counted(std::llround(load), "request") + " in flight";
}

}  // namespace roofcast
