#include "roofcast/plan.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <utility>
#include <variant>

#include "base/error.hpp"
#include "base/text.hpp"
#include "model/architecture/requantise.hpp"
#include "planner/evaluate_all.hpp"
#include "planner/launch/plan_launch.hpp"
#include "planner/mix/mix_search.hpp"
#include "planner/scenario/simulation_run.hpp"
#include "planner/search/pareto.hpp"
#include "planner/search/plan_digest.hpp"
#include "planner/search/plan_evaluator.hpp"
#include "planner/search/search.hpp"
#include "roofcast/plan_words.hpp"
#include "roofcast/record_parts.hpp"
#include "simulator/cluster/cluster.hpp"
#include "simulator/io/scenario_workload.hpp"

namespace roofcast {

// ---- the record

template <>
struct EnumNames<ShapeOutcome> {
  static inline const auto values =
      names_of_first<ShapeOutcome>(static_cast<int>(ShapeOutcome::ranked) + 1);
};

template <>
struct EnumNames<PlanObjective> {
  static inline const auto values =
      names_of_first<PlanObjective>(static_cast<int>(PlanObjective::power) + 1);
};

template <class Visitor>
void members(Visitor& visit, PlanDeployment& deployment) {
  visit("gpu", deployment.gpu, "name or path of a profile");
  visit("name", deployment.name, "of one unit, as a heading");
  visit.if_set("engine", deployment.engine, "preset, or path of an engine profile");
  visit.if_set("quantization", deployment.quantization, "format of the weights");
  visit.if_set("parallel", deployment.parallel, "degrees of parallelism, as in a scenario file");
  visit.if_set("engine_options", deployment.engine_options, "knobs, as in a scenario file");
  visit.if_set("cluster", deployment.cluster, "pools, if prefill and decode are separate");
}

/// Fields common to all candidates.
template <class Visitor>
void visit_candidate(Visitor& visit, PlanCandidate& candidate) {
  visit("title", candidate.title, "as a heading");
  visit("deployment", candidate.deployment, "of one unit");
  visit("units", candidate.units, "how many");
  visit("result", candidate.result, "at the requested load");
}

template <class Visitor>
void members(Visitor& visit, PlanCandidate& candidate) {
  visit_candidate(visit, candidate);
  visit.if_set("probability", candidate.result.probability,
               "that the SLO is met, if a minimum was required");
}

template <class Visitor>
void members(Visitor& visit, RankedPlan& one) {
  visit_candidate(visit, one);
  visit("gpus", one.gpus, "of all units");
  members(visit, one.cost);
  visit("pareto", one.pareto, "no other deployment beats it in cost, margin and capacity at once");
  members(visit, static_cast<FinalistFigures&>(one));
  visit("launch", one.launch, "command lines that start it");
  visit.if_set(
      "longest_request_tokens", one.longest_request,
      "the longest request, prompt and output, that it accepts, if its engine starts with a "
      "KV cache smaller than the model's context, as SGLang does");
}

template <class Visitor>
void members(Visitor& visit, MixedPool& pool) {
  visit("name", pool.name, "unique in the fleet");
  visit("title", pool.title, "as a heading");
  visit("deployment", pool.deployment, "of one replica");
  visit("units", pool.units, "replicas");
  visit("gpus", pool.gpus, "of all of them");
  visit("min_input_len", pool.min_input_len, "shortest prompt that is routed to it, in tokens");
  visit("max_input_len", pool.max_input_len, "longest; null: any");
  visit.if_set("classes", pool.classes, "request classes that are routed to it");
  visit("share", pool.share, "of all requests");
  visit("ttft_p95_s", pool.ttft_p95_s, "of its own requests");
  visit("tpot_p95_s", pool.tpot_p95_s, "of its own requests; 0: of one token each");
  visit("targets", pool.targets, "those over all requests, of its own requests");
  visit("launch", pool.launch, "command lines that start it");
}

template <class Visitor>
void members(Visitor& visit, MixedPlan& mix) {
  visit("title", mix.title, "as a heading");
  visit("pools", mix.pools, "and what is routed to each");
  visit("result", mix.result, "of all of them, at the requested load");
  visit("gpus", mix.gpus, "of all pools");
  members(visit, mix.cost);
  visit.if_set("saved_usd_per_h", mix.saved_per_h, "against the first ranked");
  visit.if_set("saved_share", mix.saved_share, "of what that costs");
  visit("pareto", mix.pareto, "no ranked one beats it in cost, margin and capacity at once");
  members(visit, static_cast<FinalistFigures&>(mix));
  visit("scenario", mix.scenario, "as a scenario file, which simulate reads");
}

template <class Visitor>
void members(Visitor& visit, PlanHour& hour) {
  visit("start_s", hour.start_s, "from the first arrival");
  visit("requests", hour.requests, "that arrive");
  visit("input_tokens", hour.input_tokens, "of their prompts");
  visit("output_tokens", hour.output_tokens, "of their answers");
  visit("units", hour.units, "of the first ranked, following the load; 0: none is ranked");
}

template <class Visitor>
void members(Visitor& visit, AutoscaledPlan& run) {
  visit("start_s", run.start_s, "from the first arrival of the trace");
  visit("hours", run.hours, "simulated");
  visit("requests", run.requests, "simulated");
  visit("max_units", run.max_units, "at most");
  visit("cold_start_s", run.cold_start_s, "from the decision until a replica serves");
  visit("mean_units", run.mean_units, "paid for");
  visit("holds", run.holds, "the SLO is met and the engines keep up");
  visit("binding", run.binding, "the target with the smallest margin");
}

template <class Visitor>
void members(Visitor& visit, PlanHours& day) {
  visit("hours", day.hours, "of the trace");
  visit("busiest", day.busiest, "index of the hour that is planned for");
  visit("mean_units", day.mean_units, "of a fleet that follows the load hour by hour");
  visit("fixed_cost_usd", day.fixed_cost, "of the whole trace; null: a price is not known");
  visit("following_cost_usd", day.following_cost,
        "of a fleet that follows the load; null: likewise");
  visit.if_set("autoscaled", day.autoscaled, "the first ranked with an autoscaler, simulated");
}

template <class Visitor>
void members(Visitor& visit, SpreadLengths& spread) {
  visit("input_len", spread.input, "distribution of prompt lengths");
  visit("output_len", spread.output, "distribution of output lengths");
  visit("result", spread.result, "of the best ranked");
}

template <class Visitor>
void members(Visitor& visit, RejectedPlan& one) {
  visit("gpu", one.gpu, "not among the ranked");
  visit("shape", one.shape, "closest to the SLO");
  visit("outcome", one.outcome, "outcome of the shape");
  visit("why", one.why, "reason, if no simulation decided");
  visit.if_set("units", one.units, "simulated");
  visit.if_set("result", one.result, "of these");
}

template <class Visitor>
void members(Visitor& visit, PlanInputs& inputs) {
  visit("scenario", inputs.scenario, "shared by all candidates, as in a scenario file");
  visit("gpus", inputs.gpus, "searched");
  visit("search", inputs.search, "searched values by knob; null: none");
  visit("objective", inputs.objective, "objective to minimise");
  visit("max_replicas", inputs.max_replicas, "maximum units of a shape");
  visit("budget_usd_per_h", inputs.limits.budget_per_hour, "null: none");
  visit("power_w", inputs.limits.power_w, "null: no limit");
  visit("available", inputs.limits.available, "available GPUs, by name");
  visit("price_usd_per_gpu_h", inputs.limits.prices, "overrides of the profiles' prices");
  visit("goodput_share", inputs.min_goodput_share, "minimum; null: none");
  visit("min_probability", inputs.min_probability, "minimum; null: the prediction alone decides");
  visit("top", inputs.top, "deployments in the answer");
}

/// Number of shapes per outcome.
struct OutcomeCounts {
  std::map<ShapeOutcome, std::int64_t> of{};
};

template <class Visitor>
void members(Visitor& visit, OutcomeCounts& counts) {
  for (const auto& [outcome, name] : EnumNames<ShapeOutcome>::values) {
    std::optional<std::int64_t> count;
    if (const auto found = counts.of.find(outcome); found != counts.of.end()) count = found->second;
    visit.if_set(name.data(), count, reason_text(outcome));
    if (count) counts.of[outcome] = *count;
  }
}

template <class Visitor>
void members(Visitor& visit, PlanAnswer& answer) {
  OutcomeCounts counts{answer.shapes};
  members(visit, answer.head);
  visit("inputs", answer.inputs, "the question as parsed");
  visit("holds", answer.holds,
        "whether any deployment meets the SLO; null: interrupted before an answer");
  visit("stopped", answer.stopped,
        "interrupted: nothing is ranked or, with `mix`, only what is of one kind");
  std::vector<std::string> parts = answer_parts(answer);
  visit("answer", answer.headline, "the answer in one sentence");
  visit("answer_parts", parts, "of it: what to run, its price, its prospects, what a mix saves");
  visit("remarks", answer.remarks, "what else there is to say of it, for readers");
  visit("ranked", answer.ranked, "best first");
  visit("choice_probability", answer.choice_probability,
        "that the best meets the SLO and nothing that needs 5 % less does, as far as predicted "
        "step times err; null: nothing is ranked");
  visit.if_set("point_estimate", answer.point_estimate,
               "the cheapest that meets the SLO as predicted, if less probable than required");
  visit.if_set("shorter_context", answer.shorter_context,
               "the best with the longest context that fits in memory, if that is better: the "
               "model's full context keeps it out of memory");
  visit.if_set("cheaper_format", answer.cheaper_format,
               "the best of the first ranked's GPU with fp8 weights, if that is better and formats "
               "were not searched");
  visit.if_set("spread_lengths", answer.spread_lengths,
               "if all requests have one length: the best ranked with lengths that vary");
  visit.if_set("mixed", answer.mixed,
               "several pools behind a router, if they are better than the first ranked");
  visit.if_set("no_mix", answer.no_mix, "why no mix is in the answer, if one was asked for");
  visit.if_set("by_hour", answer.by_hour,
               "hours of a long trace, of which the busiest is planned for");
  visit("closest", answer.closest, "if none is ranked: the closest first");
  visit("rejected", answer.rejected,
        "the closest rejected candidate of each GPU that is not ranked");
  visit("shapes", counts, "number of shapes by outcome");
  visit.if_set("limits", answer.limits, "of the best deployment");
  visit("candidates", answer.candidates,
        "shapes, each counted once per number of units that the limits allow");
  visit("simulations", answer.simulations, "of the search");
  visit("finalist_simulations", answer.finalist_simulations,
        "for probabilities and breaking points");
  answer.shapes = std::move(counts.of);
}

namespace {

// ---- the question

/// The search sets replicas and pools, so those of a scenario would be overwritten.
void refuse_pools(const Scenario& scenario) {
  if (!scenario.cluster || scenario.cluster->pools.empty()) return;
  throw UsageError(
      "plan searches pools itself: give the scenario without pools (and `search` pools=1:1,1:2 to "
      "separate prefill and decode)");
}

void require_a_promise(const Slo& slo, const std::optional<double>& goodput_share) {
  if (has_targets(slo) || goodput_share) return;
  throw UsageError(
      "plan needs an SLO: `slo` p95:ttft:500ms p95:tpot:50ms, or `goodput` with `min_goodput`");
}

/// Without a rate, a limit of the client or a count of requests there is nothing to plan for.
void require_a_load(const PlanQuestion& question) {
  const auto* synthetic = std::get_if<SyntheticWorkload>(&question.scenario.workload);
  if (synthetic == nullptr || !question.free_length || question.scenario.max_concurrency) return;
  if (!std::holds_alternative<SteadyRate>(synthetic->pattern)) return;
  if (std::isfinite(synthetic->request_rate)) return;
  throw UsageError(
      "plan needs a load: `request_rate` 10, `max_concurrency` 64, `trace` FILE, or `num_prompts` "
      "1000 for 1000 requests at once");
}

PlanTask task_of(const PlanQuestion& question) {
  PlanTask task{.base = with_pooled_output(question.scenario)};
  task.free_length = question.free_length && may_grow(task.base);
  if (task.free_length) set_arrivals(task.base, first_arrivals(task.base));
  const Parallelism parallel = with_given({}, question.scenario.deployment.parallel);
  // A scenario names a GPU; that of a plan all that were searched.
  if (task.base.deployment.gpu.empty()) task.base.deployment.gpu = joined(question.gpus, ",");
  task.space = {
      .gpus = question.gpus,
      .dimensions = completed(question.search, question.fixed_tensor || parallel.tensor > 1),
      // what no dimension sets
      .base = {.engine = engine_name(question.scenario.deployment),
               .weight_format = question.scenario.deployment.weight_format,
               .parallel = parallel,
               .overrides = question.scenario.deployment.overrides},
      .max_units =
          static_cast<std::int32_t>(std::min<std::int64_t>(question.max_replicas, kMaxReplicas))};
  task.requirement.sample = is_sample(task.base);
  task.requirement.must_stand = task.free_length;
  task.requirement.min_goodput_share = question.min_goodput_share;
  task.min_probability = question.min_probability;
  task.limits = question.limits;
  task.objective = question.objective;
  task.keep = question.top;
  task.program = question.program;
  return task;
}

// ---- the answer from the findings

std::string with_knobs(const std::string& name, const Shape& shape) {
  const std::string knobs = knobs_of(shape);
  return knobs.empty() ? name : name + " (" + knobs + ")";
}

std::string title_of(const Shape& shape, std::int64_t units) {
  return with_knobs(
      short_name(Candidate{.shape = shape, .units = static_cast<std::int32_t>(units)}), shape);
}

/// The keys of a deployment are those of a scenario, with the plan's routers and link.
PlanDeployment deployment_of(const PreparedPlan& prepared, const Shape& shape) {
  Scenario base;
  base.cluster = prepared.task.base.cluster;
  Json json = value_to_json(scenario_of(base, {.shape = shape, .units = 1}));
  record_detail::put(json, "gpu", value_to_json(shape.gpu));
  record_detail::put(json, "name", value_to_json(short_name(shape)));
  return record_from_json<PlanDeployment>(json);
}

/// Its figures. A trial that holds was judged only by whether it has the probability asked for: how
/// much more it has is not known.
CandidateFigures known_figures(const TriedCandidate& tried) {
  CandidateFigures figures = tried.figures;
  if (tried.holds) figures.probability.reset();
  return figures;
}

PlanCandidate candidate_of(const PreparedPlan& prepared, const PlanFindings& found,
                           const TriedCandidate& tried) {
  const Shape& shape = found.shapes[tried.shape].shape;
  return {.title = title_of(shape, tried.units),
          .deployment = deployment_of(prepared, shape),
          .units = tried.units,
          .result = tried.figures,
          .shape = shape};
}

RankedPlan ranked_of(const PreparedPlan& prepared, const PlanFindings& found,
                     const RankedCandidate& one) {
  RankedPlan ranked;
  static_cast<PlanCandidate&>(ranked) = candidate_of(prepared, found, one);
  ranked.gpus = one.needs.gpus;
  static_cast<FinalistFigures&>(ranked) = one.finalist;
  ranked.pareto = one.pareto;
  ranked.launch = launch_lines(prepared.catalogue, ranked.shape, ranked.units);
  ranked.longest_request =
      shortened_length(run_of(prepared.catalogue, {.shape = ranked.shape, .units = 1}), 0);
  return ranked;
}

double objective_of(const PlanFindings& found, const TriedCandidate& tried) {
  return found.shapes[tried.shape].unit_objective * static_cast<double>(tried.units);
}

RejectedPlan rejected_of(const PreparedPlan& prepared, const PlanFindings& found,
                         const NearestRejected& nearest) {
  const PlannedShape& planned = found.shapes[nearest.shape];
  RejectedPlan rejected{.gpu = planned.shape.gpu,
                        .shape = deployment_of(prepared, planned.shape),
                        .outcome = planned.outcome,
                        .why = planned.why,
                        .title = short_name(planned.shape)};
  if (!nearest.tried) return rejected;
  const TriedCandidate& tried = *nearest.tried;
  rejected.units = tried.units;
  rejected.result = known_figures(tried);
  rejected.title = title_of(planned.shape, tried.units);
  rejected.holds = tried.holds;
  if (!found.ranked.empty()) {
    const double min = objective_of(found, found.ranked.front());
    const double more = objective_of(found, tried) - min;
    rejected.beyond_first = more > kEqualObjectives * min ? more : 0;
  }
  return rejected;
}

/// How many shapes the user's limits rule out that might hold, and the one that needs least.
std::optional<PlanContradiction> contradiction_of(const PlanFindings& found) {
  const PlannedShape* min = nullptr;
  std::int64_t ruled_out = 0;
  const auto needed = [](const PlannedShape& one) {
    return one.unit_objective * static_cast<double>(one.bound.min_units);
  };
  for (const PlannedShape& planned : found.shapes) {
    if (planned.outcome != ShapeOutcome::beyond_limits || planned.limit.by.empty()) continue;
    ++ruled_out;
    if (min == nullptr || needed(planned) < needed(*min)) min = &planned;
  }
  if (min == nullptr) return std::nullopt;
  return PlanContradiction{ruled_out, short_name(min->shape), min->why};
}

void put_in_words(PlanAnswer& answer) {
  answer.remarks = plan_sentences(answer);
  answer.headline = std::move(answer.remarks.front());
  answer.remarks.erase(answer.remarks.begin());
}

PlanAnswer answer_of(const PreparedPlan& prepared, const PlanFindings& found) {
  PlanAnswer answer{.head = answer_head("plan"),
                    .inputs = plan_inputs(prepared),
                    .stopped = found.stopped,
                    .choice_probability = found.choice_probability,
                    .candidates = found.candidates,
                    .simulations = found.simulations,
                    .finalist_simulations = found.finalist_simulations,
                    .workload = prepared.catalogue.workload.description,
                    .requests = std::ssize(prepared.catalogue.workload.requests),
                    .contradiction = contradiction_of(found)};
  if (!found.stopped) answer.holds = !found.ranked.empty();
  for (const RankedCandidate& one : found.ranked) {
    answer.ranked.push_back(ranked_of(prepared, found, one));
  }
  if (found.point_estimate) {
    answer.point_estimate = ranked_of(prepared, found, *found.point_estimate);
  }
  for (const TriedCandidate& tried : found.closest) {
    answer.closest.push_back(candidate_of(prepared, found, tried));
    answer.closest.back().result = known_figures(tried);
  }
  for (const NearestRejected& nearest : found.rejected) {
    answer.rejected.push_back(rejected_of(prepared, found, nearest));
  }
  for (const PlannedShape& planned : found.shapes) {
    ++answer.shapes[planned.outcome];
    if (!prepared.explain) continue;
    const Candidate one{.shape = planned.shape, .units = 1};
    answer.every_shape.push_back({.title = with_knobs(short_name(one), planned.shape),
                                  .min_units = planned.bound.min_units,
                                  .max_units = planned.limit.units,
                                  .outcome = planned.outcome,
                                  .why = planned.why});
  }
  put_in_words(answer);
  return answer;
}

/// Gives `place` another value for as long as it lives.
template <class T>
class UntilEnd {
 public:
  UntilEnd(T& place, T value) : place_(place), before_(std::exchange(place, std::move(value))) {}
  ~UntilEnd() { place_ = std::move(before_); }
  UntilEnd(const UntilEnd&) = delete;
  UntilEnd& operator=(const UntilEnd&) = delete;

 private:
  T& place_;
  T before_;
};

/// fn() on another thread while this one asks `progress`, which ends the simulations of `fn` by way
/// of PlanCatalogue::stopped; nullopt if it did. As work that was begun, not a count of
/// simulations.
template <class Fn>
auto unless_cancelled(const Fn& fn, const Progress& progress) {
  return answers_of(
      1, 1, [&](std::int64_t) { return fn(); },
      [&](std::int64_t, std::int64_t) { return !progress || progress(0, 1); });
}

/// The limits of the best candidate; nullopt if there is none or when cancelled.
std::optional<LimitsAnswer> limits_of_best(const PreparedPlan& prepared, const PlanAnswer& answer,
                                           int threads, const Progress& progress) {
  if (answer.ranked.empty()) return std::nullopt;
  const RankedPlan& best = answer.ranked.front();
  SimulationRun run = run_of(prepared.catalogue,
                             {.shape = best.shape, .units = static_cast<std::int32_t>(best.units)});
  const auto account = unless_cancelled(
      [&] { return simulate_with_account(run, step_times_of(run), {}); }, progress);
  if (!account) return std::nullopt;
  const auto report = report_limits(run, account->front(), threads, progress);
  if (!report) return std::nullopt;
  const auto advice = advice_on(run,
                                {.load = prepared.catalogue.growing.get(),
                                 .most = prepared.catalogue.growing->limits().search,
                                 .requirement = prepared.task.requirement},
                                threads, progress);
  if (!advice) return std::nullopt;
  LimitsAnswer limits = limits_answer(*report, run.pools);
  limits.advice = advice_answer(*advice);
  return limits;
}

/// Placements that do not fit in memory and would cost less than the first ranked, with their GPUs.
struct KeptOut {
  std::set<std::string> placements{};
  std::vector<std::string> gpus{};
};

KeptOut kept_out_of_memory(const PlanFindings& found, double best) {
  KeptOut kept;
  for (const PlannedShape& planned : found.shapes) {
    if (planned.outcome != ShapeOutcome::does_not_fit || planned.unit_objective >= best) continue;
    kept.placements.insert(placement_key(planned.shape));
    if (kept.gpus.empty() || kept.gpus.back() != planned.shape.gpu) {
      kept.gpus.push_back(planned.shape.gpu);
    }
  }
  return kept;
}

/// Whether the question leaves the context to the engine, which takes the model's full one.
bool takes_full_context(const SearchSpace& space) {
  const bool searched = std::ranges::any_of(
      space.dimensions, [](const Knob& knob) { return knob.key == "max_model_len"; });
  return !searched && !space.base.overrides.max_model_len && !space.base.overrides.fit_model_len;
}

/// Leaves only units of which the objective is below `best`.
void limit_to_less_than(double best, PlannedShape& planned) {
  constexpr double kRounding = 1e-9;  // sums of prices
  const double below = std::ceil(best / planned.unit_objective * (1 - kRounding)) - 1;
  if (below < static_cast<double>(planned.limit.units)) {
    planned.limit.units = static_cast<std::int64_t>(below);
  }
}

/// PlanAnswer::shorter_context.
std::optional<RankedPlan> with_shorter_context(const PreparedPlan& prepared,
                                               const PlanFindings& found, int threads,
                                               const Progress& progress) {
  if (found.stopped || !takes_full_context(prepared.task.space)) return std::nullopt;
  double best = std::numeric_limits<double>::infinity();
  if (!found.ranked.empty()) best = objective_of(found, found.ranked.front());
  const KeptOut kept = kept_out_of_memory(found, best);
  if (kept.gpus.empty()) return std::nullopt;
  PlanTask task = prepared.task;
  task.space.gpus = kept.gpus;
  task.space.base.overrides.fit_model_len = true;
  task.keep = 1;
  task.names_others = false;
  try {
    auto shapes = plan_shapes(prepared.catalogue, task, threads, {});
    if (!shapes) return std::nullopt;
    for (PlannedShape& one : *shapes) limit_to_less_than(best, one);
    std::erase_if(*shapes, [&](const PlannedShape& one) {
      return !kept.placements.contains(placement_key(one.shape)) ||
             one.limit.units < one.bound.min_units;
    });
    const std::vector<PlannedShape> asked_about = *shapes;
    Evaluations evaluations(
        plan_evaluator(prepared.catalogue, task, asked_about, threads),
        {.threads = threads, .digest = plan_digest(prepared.catalogue, task, asked_about)});
    const PlanFindings shorter = make_plan(task, *std::move(shapes), evaluations, progress);
    if (shorter.stopped || shorter.ranked.empty()) return std::nullopt;
    const RankedCandidate& first = shorter.ranked.front();
    constexpr double kLess = 1 - 1e-9;  // sums of prices
    if (objective_of(shorter, first) >= kLess * best) return std::nullopt;
    return ranked_of(prepared, shorter, first);
  } catch (const Error&) {  // the engine cannot choose its context
    return std::nullopt;
  }
}

/// Whether the question leaves the format of the weights to the checkpoint.
bool takes_stored_format(const SearchSpace& space) {
  const bool searched = std::ranges::any_of(
      space.dimensions, [](const Knob& knob) { return knob.key == "quantization"; });
  return !searched && !space.base.weight_format;
}

/// PlanAnswer::cheaper_format.
std::optional<RankedPlan> with_cheaper_format(const PreparedPlan& prepared,
                                              const PlanFindings& found, int threads,
                                              const Progress& progress) {
  constexpr const char* kFormat = "fp8";
  if (found.ranked.empty() || !takes_stored_format(prepared.task.space)) return std::nullopt;
  const RankedCandidate& best = found.ranked.front();
  PlanCatalogue catalogue = prepared.catalogue;
  PlanTask task = prepared.task;
  task.space.gpus = {found.shapes[best.shape].shape.gpu};
  task.space.base.weight_format = kFormat;
  task.keep = 1;
  task.names_others = false;
  try {
    auto model = requantised_to_save(catalogue.models.at(""), kFormat);
    if (!model) return std::nullopt;
    catalogue.models.emplace(kFormat, *std::move(model));
    auto shapes = plan_shapes(catalogue, task, threads, {});
    if (!shapes) return std::nullopt;
    for (PlannedShape& one : *shapes) limit_to_less_than(objective_of(found, best), one);
    std::erase_if(*shapes, [](const PlannedShape& one) {
      return one.outcome != ShapeOutcome::searched || one.limit.units < one.bound.min_units;
    });
    if (shapes->empty()) return std::nullopt;
    const std::vector<PlannedShape> asked_about = *shapes;
    Evaluations evaluations(
        plan_evaluator(catalogue, task, asked_about, threads),
        {.threads = threads, .digest = plan_digest(catalogue, task, asked_about)});
    const PlanFindings cheaper = make_plan(task, *std::move(shapes), evaluations, progress);
    if (cheaper.stopped || cheaper.ranked.empty()) return std::nullopt;
    return ranked_of({.task = task, .catalogue = catalogue}, cheaper, cheaper.ranked.front());
  } catch (const Error&) {  // the model, the GPU or the engine has no such format
    return std::nullopt;
  }
}

/// Lognormal with the mean `tokens`, which is that of median e^(sigma^2 / 2) times less.
LengthDistribution spread_about(double tokens, double sigma) {
  return {.kind = LengthDistribution::Kind::lognormal,
          .a = std::max(1.0, std::round(tokens / std::exp(sigma * sigma / 2))),
          .b = sigma};
}

/// PlanAnswer::spread_lengths. The standard deviations of the logarithms are those of prompts and
/// answers of the 19,366 conversation requests of Azure's LLM inference trace of 2023.
std::optional<SpreadLengths> with_spread_lengths(const PreparedPlan& prepared,
                                                 const PlanAnswer& answer,
                                                 const Progress& progress) {
  constexpr double kInputSigma = 0.99, kOutputSigma = 0.86;
  using Kind = LengthDistribution::Kind;
  Scenario scenario = prepared.catalogue.base;
  auto* load = std::get_if<SyntheticWorkload>(&scenario.workload);
  if (load == nullptr || answer.ranked.empty() || load->sessions || load->shared_prefix ||
      load->range_ratio != RangeRatio{} || load->input.kind != Kind::fixed ||
      load->output.kind != Kind::fixed || load->output.a <= 1) {
    return std::nullopt;
  }
  load->input = spread_about(load->input.a, kInputSigma);
  load->output = spread_about(load->output.a, kOutputSigma);
  SpreadLengths spread{.input = to_text(load->input), .output = to_text(load->output)};
  const RankedPlan& best = answer.ranked.front();
  PlanCatalogue catalogue = prepared.catalogue;
  PlanTask task = prepared.task;
  catalogue.base = scenario;
  task.base = scenario;
  task.min_probability.reset();
  try {
    catalogue.workload = load_workload(scenario);
    catalogue.growing =
        std::make_shared<const GrowingLoad>(scenario, catalogue.workload, task.free_length);
    const Candidate candidate{.shape = best.shape, .units = static_cast<std::int32_t>(best.units)};
    const auto figures = unless_cancelled(
        [&] { return trial_figures_of(run_of(catalogue, candidate), catalogue, task); }, progress);
    if (!figures) return std::nullopt;
    spread.result = figures->front();
  } catch (const Error&) {  // the longest of these lengths exceed the context
    return std::nullopt;
  }
  return spread;
}

}  // namespace

namespace {

/// Plans for the busiest hour of a trace that lasts longer than kLongTrace.
void take_busiest_hour(PreparedPlan& prepared) {
  PlanCatalogue& catalogue = prepared.catalogue;
  const bool is_trace = std::holds_alternative<TraceWorkload>(catalogue.base.workload);
  if (!is_trace || !has_hours(catalogue.workload) || catalogue.base.max_concurrency) return;
  const std::vector<Request>& requests = catalogue.workload.requests;
  const double span_s = to_seconds(requests.back().arrival - requests.front().arrival).value;
  if (span_s <= kLongTrace) return;
  const std::size_t busiest = busiest_hour(load_by_hour(catalogue.workload));
  Workload hour = hours_of(catalogue.workload, busiest, 1);
  prepared.whole = std::make_shared<const Workload>(std::move(catalogue.workload));
  catalogue.workload = hour;
  catalogue.growing = std::make_shared<const GrowingLoad>(catalogue.base, std::move(hour), false);
}

/// Hours around the busiest, at most a day and kMaxAround requests: first index and count.
std::pair<std::size_t, std::size_t> around_busiest(const PlanHours& day) {
  constexpr std::size_t kDay = 24;
  constexpr std::int64_t kMaxAround = 300'000;
  std::size_t first = day.busiest;
  std::size_t end = day.busiest + 1;
  std::int64_t requests = day.hours[day.busiest].requests;
  for (bool grows = true; grows && end - first < kDay;) {
    grows = false;
    if (first > 0 && requests + day.hours[first - 1].requests <= kMaxAround) {
      requests += day.hours[--first].requests;
      grows = true;
    }
    if (end - first == kDay) break;
    if (end < day.hours.size() && requests + day.hours[end].requests <= kMaxAround) {
      requests += day.hours[end++].requests;
      grows = true;
    }
  }
  return {first, end - first};
}

/// Replicas come and go as waiting requests ask for them, as an autoscaler in Kubernetes would
/// have them. Nullopt when cancelled.
std::optional<AutoscaledPlan> autoscaled_plan(const PreparedPlan& prepared, const RankedPlan& best,
                                              const PlanHours& day, const Progress& progress) {
  constexpr Nanoseconds kColdStart = 120'000'000'000;
  const auto [first, count] = around_busiest(day);
  AutoscaledPlan plan{.start_s = day.hours[first].start_s,
                      .hours = static_cast<std::int64_t>(count),
                      .max_units = static_cast<std::int32_t>(best.units),
                      .cold_start_s = to_seconds(kColdStart).value};
  SimulationRun run = run_of(prepared.catalogue, {.shape = best.shape, .units = plan.max_units});
  run.scenario.cluster->pools.front().autoscaling =
      Autoscaling{.min_replicas = 1, .max_replicas = plan.max_units, .start_up = kColdStart};
  run.workload = hours_of(*prepared.whole, first, count);
  auto result = unless_cancelled([&] { return simulate_candidate(run); }, progress);
  if (!result) return std::nullopt;
  run.result = std::move(result->front());
  const SloVerdict verdict = judge(run.result, prepared.task.requirement);
  plan.requests = std::ssize(run.workload.requests);
  plan.holds = verdict.holds;
  plan.binding = binding_words(verdict);
  double paid_s = 0;
  for (const ReplicaResult& replica : run.result.replicas) paid_s += replica.paid.value;
  plan.mean_units = paid_s / run.result.whole_makespan.value;
  return plan;
}

/// PlanAnswer::by_hour.
PlanHours hours_of_plan(const PreparedPlan& prepared, const PlanAnswer& answer,
                        const Progress& progress) {
  constexpr double kSecondsPerHour = 3600;
  const std::vector<LoadHour> hours = load_by_hour(*prepared.whole);
  PlanHours day{.busiest = busiest_hour(hours)};
  for (const LoadHour& hour : hours) day.hours.push_back({hour});
  if (answer.ranked.empty()) return day;
  const RankedPlan& best = answer.ranked.front();
  const std::vector<std::int64_t> units = units_by_hour(hours, best.units);
  // Only the part of the last hour that the trace covers counts.
  const double span_h =
      to_seconds(prepared.whole->requests.back().arrival - prepared.whole->requests.front().arrival)
          .value /
      kSecondsPerHour;
  double unit_hours = 0;
  for (std::size_t i = 0; i < units.size(); ++i) {
    day.hours[i].units = units[i];
    const double hour = std::min(1.0, span_h - static_cast<double>(i));
    unit_hours += static_cast<double>(units[i]) * hour;
  }
  day.mean_units = unit_hours / span_h;
  if (best.cost.dollars_per_hour) {
    day.fixed_cost = *best.cost.dollars_per_hour * span_h;
    day.following_cost = *best.cost.dollars_per_hour / static_cast<double>(best.units) * unit_hours;
  }
  if (best.units > 1 && !best.shape.split.apart()) {
    day.autoscaled = autoscaled_plan(prepared, best, day, progress);
  }
  return day;
}

MixedPool mixed_pool(const PreparedPlan& prepared, const MixPool& pool) {
  MixedPool mixed{.name = pool.name,
                  .title = title_of(pool.shape, pool.units),
                  .deployment = deployment_of(prepared, pool.shape),
                  .units = pool.units,
                  .gpus = pool.needs.gpus * pool.units,
                  .min_input_len = pool.route.min_input_tokens,
                  .max_input_len = pool.route.max_input_tokens,
                  .share = pool.share,
                  .ttft_p95_s = pool.ttft_p95_s,
                  .tpot_p95_s = pool.tpot_p95_s,
                  .targets = pool.targets,
                  .launch = launch_lines(prepared.catalogue, pool.shape, pool.units),
                  .shape = pool.shape};
  if (!pool.route.classes.empty()) mixed.classes = pool.route.classes;
  return mixed;
}

ParetoFigures pareto_figures(const PlanProspects& one, const CandidateFigures& result) {
  return {.dollars_per_hour = one.cost.dollars_per_hour,
          .gpus = one.gpus,
          .margin = result.verdict.worst_margin,
          .capacity_rate_per_s = one.capacity_rate_per_s};
}

/// Leaves only those marked that the mix does not beat either, and marks the mix if none beats it:
/// under another objective than cost, or without prices, it may have a lower one and be beaten.
void mark_pareto_beside(MixedPlan& mix, std::vector<RankedPlan>& ranked) {
  std::vector<ParetoFigures> figures;
  for (const RankedPlan& one : ranked) figures.push_back(pareto_figures(one, one.result));
  figures.push_back(pareto_figures(mix, mix.result));
  const std::vector<std::size_t> best = pareto_deployments(figures);
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    ranked[i].pareto = std::ranges::binary_search(best, i);
  }
  mix.pareto = std::ranges::binary_search(best, ranked.size());
}

/// PlanAnswer::mixed or no_mix.
void add_mix(const PreparedPlan& prepared, const PlanFindings& found, int threads,
             const Progress& progress, PlanAnswer& answer) {
  double best = std::numeric_limits<double>::infinity();
  if (!found.ranked.empty()) best = objective_of(found, found.ranked.front());
  MixFindings mix;
  try {
    mix = find_mix(prepared.catalogue, prepared.task, best, threads, progress);
  } catch (const Error& error) {  // the answer without a mix stands
    mix.why = error.what();
  }
  answer.simulations += mix.simulations;
  answer.stopped = mix.stopped;
  if (mix.pools.empty()) {
    if (!mix.stopped) answer.no_mix = mix.why;
    return;
  }
  MixedPlan mixed;
  mixed.result = mix.figures;
  mixed.scenario = scenario_of(prepared.catalogue.base, mix.pools);
  static_cast<FinalistFigures&>(mixed) = mix.finalist;
  for (const MixPool& pool : mix.pools) {
    mixed.pools.push_back(mixed_pool(prepared, pool));
    mixed.gpus += mixed.pools.back().gpus;
    mixed.title += (mixed.title.empty() ? "" : " and ") + mixed.pools.back().title;
  }
  if (!answer.ranked.empty() && mixed.cost.dollars_per_hour) {
    if (const auto& single = answer.ranked.front().cost.dollars_per_hour) {
      mixed.saved_per_h = *single - *mixed.cost.dollars_per_hour;
      mixed.saved_share = *mixed.saved_per_h / *single;
    }
  }
  mark_pareto_beside(mixed, answer.ranked);
  answer.holds = true;
  answer.mixed = std::move(mixed);
  answer.choice_probability.reset();  // was of the choice among deployments of one kind
}

}  // namespace

bool breaks_on_few(const PlanProspects& one) {
  return one.capacity_factor && !one.capacity_decided;
}

PreparedPlan prepare_plan(const PlanQuestion& question) {
  refuse_pools(question.scenario);
  require_a_promise(question.scenario.slo, question.min_goodput_share);
  require_a_load(question);
  PreparedPlan prepared{.task = task_of(question), .explain = question.explain};
  prepared.catalogue =
      load_catalogue(prepared.task.base, prepared.task.space, prepared.task.free_length);
  for (const auto& [gpu, dollars] : question.limits.prices) {
    const auto found = prepared.catalogue.gpus.find(gpu);
    if (found == prepared.catalogue.gpus.end()) continue;
    found->second.gpu.price = DollarsPerHour{dollars};
    found->second.gpu.price_per_watt = 0;
  }
  if (!question.whole_trace) take_busiest_hour(prepared);
  prepared.mix = question.mix;
  if (question.mix) {
    const std::string why = why_no_mix(prepared.catalogue, prepared.task.space);
    if (!why.empty()) throw UsageError(why);
  }
  return prepared;
}

PlanAnswer plan(PreparedPlan& prepared, const PlanExecution& execution) {
  // Set by this thread, which asks `progress`; looked at by those that simulate.
  std::atomic<bool> cancelled = false;
  const auto progress_of = [&](PlanStage stage) -> Progress {
    if (!execution.progress) return {};
    return [&execution, &cancelled, stage](std::int64_t done, std::int64_t total) {
      if (!cancelled && !execution.progress(stage, done, total)) cancelled = true;
      return !cancelled;
    };
  };
  const UntilEnd<std::function<bool()>> stopped(prepared.catalogue.stopped,
                                                [&cancelled] { return cancelled.load(); });
  const int threads = execution.threads > 0 ? execution.threads : available_threads();
  auto shapes =
      plan_shapes(prepared.catalogue, prepared.task, threads, progress_of(PlanStage::placements));
  if (!shapes) return answer_of(prepared, {.stopped = true});
  if (execution.on_start) execution.on_start();
  const std::vector<PlannedShape> asked_about = *shapes;
  Evaluations evaluations(plan_evaluator(prepared.catalogue, prepared.task, asked_about, threads),
                          {.threads = threads,
                           .digest = plan_digest(prepared.catalogue, prepared.task, asked_about),
                           .kept = execution.kept,
                           .ranks = execution.ranks});
  const PlanFindings found = make_plan(prepared.task, *std::move(shapes), evaluations,
                                       progress_of(PlanStage::simulations));
  evaluations.keep();
  PlanAnswer answer = answer_of(prepared, found);
  answer.shorter_context =
      with_shorter_context(prepared, found, threads, progress_of(PlanStage::simulations));
  if (!answer.stopped) {
    answer.cheaper_format =
        with_cheaper_format(prepared, found, threads, progress_of(PlanStage::simulations));
    answer.spread_lengths =
        with_spread_lengths(prepared, answer, progress_of(PlanStage::simulations));
  }
  if (prepared.mix && !answer.stopped) {
    add_mix(prepared, found, threads, progress_of(PlanStage::simulations), answer);
  }
  if (prepared.whole && !answer.stopped) {
    answer.by_hour = hours_of_plan(prepared, answer, progress_of(PlanStage::simulations));
  }
  if (prepared.explain) {
    answer.limits = limits_of_best(prepared, answer, threads, progress_of(PlanStage::limits));
  }
  put_in_words(answer);
  return answer;
}

PlanAnswer plan(const PlanQuestion& question, const PlanExecution& execution) {
  PreparedPlan prepared = prepare_plan(question);
  return plan(prepared, execution);
}

PlanInputs plan_inputs(const PreparedPlan& prepared) {
  const PlanTask& task = prepared.task;
  PlanInputs inputs{.scenario = prepared.catalogue.base,
                    .gpus = task.space.gpus,
                    .objective = task.objective,
                    .max_replicas = task.space.max_units,
                    .limits = task.limits,
                    .min_goodput_share = task.requirement.min_goodput_share,
                    .min_probability = task.min_probability,
                    .top = task.keep};
  for (const Knob& knob : task.space.dimensions) {
    if (!inputs.search) inputs.search.emplace();
    inputs.search->emplace_back(knob.key, knob.values);
  }
  return inputs;
}

Json to_json(const PlanInputs& inputs) { return record_to_json(inputs); }

bool is_yes(const PlanAnswer& answer) { return answer.holds.value_or(false); }

Json to_json(const PlanAnswer& answer) { return record_to_json(answer); }

PlanAnswer plan_answer_from_json(const Json& json) {
  auto answer = answer_from_json<PlanAnswer>(json, "plan");
  // A plan's scenario has routers without pools; where a scenario has none, its reader adds one.
  if (auto& cluster = answer.inputs.scenario.cluster) cluster->pools.clear();
  return answer;
}

Json plan_answer_schema() { return schema_document<PlanAnswer>("Answer of roofcast plan"); }

}  // namespace roofcast
