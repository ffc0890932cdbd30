#include "roofcast/capacity_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>
#include <variant>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "model/io/gpu_reader.hpp"
#include "model/memory/memory_plan.hpp"
#include "planner/capacity/capacity_findings.hpp"
#include "planner/evaluate_all.hpp"
#include "planner/scenario/step_description.hpp"
#include "planner/search/candidate.hpp"
#include "roofcast/record_parts.hpp"
#include "simulator/io/scenario_workload.hpp"

namespace roofcast {

// ---- the record

template <class Visitor>
void members(Visitor& visit, CapacityTablePoint& point) {
  visit("load", point.load, "in the unit of `capacity`");
  visit("output_tokens_per_s", point.output_tokens_per_s, "of all requests, at the load's rate");
  visit("user_tokens_per_s", point.user_tokens_per_s, "of one request: 1 / mean TPOT");
  visit.if_set("cost_usd_per_million_tokens", point.dollars_per_million_tokens,
               "prompt and output tokens together, at the load's rate");
}

template <class Visitor>
void members(Visitor& visit, CapacityTableRow& row) {
  visit("gpu", row.gpu, "name of the profile");
  visit("tensor_parallel_size", row.tensor_parallel_size, "GPUs that share each layer");
  visit("title", row.title, "as a heading");
  visit("gpus", row.gpus, "of all replicas");
  visit("reason", row.reason, "why there is no capacity; empty if there is");
  visit("load", row.load, "quantity that the search scales");
  visit("capacity", row.capacity, "the highest load that meets the SLO; null: none");
  visit("bounded", row.bounded, "some load fails; else the capacity is a lower bound");
  visit("output_tokens_per_s", row.output_tokens_per_s, "at the capacity's rate");
  visit("binding", row.binding, "the target with the smallest margin there");
  members(visit, row.cost);
  visit("step_sources", row.step_sources,
        "how step times are known there: shares of the operators' time");
  visit("step_relative_uncertainty", row.step_uncertainty,
        "of step times there, one standard deviation");
  visit("points", row.points, "loads within the SLO up to the capacity");
}

template <class Visitor>
void members(Visitor& visit, CapacityTableInputs& inputs) {
  visit("scenario", inputs.scenario, "as in a scenario file, with the first GPU");
  visit("gpus", inputs.gpus, "compared");
  visit("tensor_parallel_sizes", inputs.sizes, "compared");
}

template <class Visitor>
void members(Visitor& visit, CapacityTableAnswer& answer) {
  members(visit, answer.head);
  visit("inputs", answer.inputs, "the question as parsed");
  visit("holds", answer.holds, "some row has a capacity");
  visit("workload", answer.workload, "the load in one line");
  visit("rows", answer.rows, "cheapest tokens first; those without a capacity last");
  visit("simulations", answer.simulations, "behind this answer");
}

namespace {

constexpr const char* kCommand = "capacity_table";

/// The point's load with what a price rests on.
SimulationResult rates_of(const LoadPoint& point) {
  SimulationResult rates;
  const LoadResult& load = point;
  static_cast<LoadResult&>(rates) = load;
  rates.saturation.saturated = point.verdict.saturated;
  return rates;
}

/// Output tokens that an hour of the load serves, per second: without the run's wait for its last
/// answers, as the prices are.
double tokens_per_s(const SimulationResult& rates) {
  return rates.output_tokens_per_s * served_over_run(rates, rates.saturation);
}

void take_points(CapacityTableRow& row, const Capacity& capacity, std::span<const PoolRun> pools) {
  for (const LoadPoint& point : capacity.points) {
    if (point.load > *capacity.load || !point.verdict.holds || point.tpot.mean <= 0) continue;
    // The search ends with loads that are all but the same.
    constexpr double kSame = 1e-6;
    if (!row.points.empty() && point.load < row.points.back().load * (1 + kSame)) {
      row.points.pop_back();
    }
    const SimulationResult rates = rates_of(point);
    row.points.push_back(
        {.load = point.load,
         .output_tokens_per_s = tokens_per_s(rates),
         .user_tokens_per_s = 1 / point.tpot.mean,
         .dollars_per_million_tokens = cost_of(pools, rates).dollars_per_million_tokens});
  }
}

void take_capacity(CapacityTableRow& row, const LoadStudy& study, Execution& execution) {
  const Capacity capacity = capacity_of(study, execution);
  row.capacity = capacity.load;
  row.bounded = capacity.bounded;
  const LoadPoint& point = point_of(capacity);
  row.binding = binding_words(point.verdict);
  if (!capacity.load) {
    row.reason = "no load meets the SLO";
    return;
  }
  row.output_tokens_per_s = tokens_per_s(rates_of(point));
  const LoadCost at_capacity =
      cost_at(with_requests(study, point.requests), *capacity.load, execution);
  row.cost = at_capacity.cost;
  row.step_sources = at_capacity.step_sources;
  row.step_uncertainty = at_capacity.step_uncertainty;
  take_points(row, capacity, study.run.pools);
}

/// The load in one line, whatever the rows find: each has a rate of its own, so that one that was
/// given is not said of all.
std::string load_of(const CapacityQuestion& question) {
  Scenario studied = with_load(question.scenario);
  if (auto* load = std::get_if<SyntheticWorkload>(&studied.workload)) {
    load->any_rate = load->any_rate || std::isfinite(load->request_rate);
    if (question.free_length && may_grow(studied)) {
      set_arrivals(studied, first_arrivals(studied));
    }
  }
  return load_workload(studied).description;
}

/// Why a deployment does not start, in a few words: the longest context that fits, where the full
/// one is all that does not.
std::string refusal_in_short(const SimulationRun& run) {
  const PoolRun& pool = run.pools.front();
  const std::int64_t full = pool.deployment.engine.max_model_len;
  const std::string& reason = pool.plan.reason.empty() ? run.refusal : pool.plan.reason;
  const auto longest = max_context_at(pool.deployment, pool.plan, 1);
  if (!longest || *longest >= full) return reason;
  std::int64_t needed = 0;
  for (const Request& request : load_workload(run.scenario).requests) {
    needed = std::max(needed, request.input_tokens + request.output_tokens);
  }
  if (*longest <= needed) return reason;
  return fmt::format("{} tokens of context do not fit, {} would (`max_model_len`)",
                     with_separators(full), with_separators(*longest));
}

/// A row's own error (degrees that do not divide the model) is its reason.
CapacityTableRow row_of(const CapacityTableQuestion& question, const std::string& gpu, int size,
                        Execution& execution) {
  CapacityTableRow row{.gpu = gpu, .tensor_parallel_size = size};
  Scenario scenario = question.each.scenario;
  scenario.deployment.gpu = gpu;
  scenario.deployment.parallel.tensor = size;
  const LoadStudy study = study_of(scenario, {.min_goodput_share = question.each.min_goodput_share},
                                   question.each.free_length);
  row.gpu = study.run.pools.front().deployment.gpu.name;
  const PoolRun& first = study.run.pools.front();
  row.title = short_name(
      Shape{.gpu_title = first.deployment.gpu.display_name, .parallel = first.deployment.parallel});
  for (const PoolRun& pool : study.run.pools) {
    row.gpus += static_cast<std::int64_t>(pool.replicas) * pool.deployment.parallel.gpus();
  }
  row.cost = cost_of(study.run.pools, {});
  row.load = study.kind;
  if (!study.run.refusal.empty()) {
    row.reason = refusal_in_short(study.run);
    return row;
  }
  take_capacity(row, study, execution);
  return row;
}

bool is_better(const CapacityTableRow& a, const CapacityTableRow& b) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const auto rank = [&](const CapacityTableRow& row) {
    return std::tuple(!row.capacity, row.cost.dollars_per_million_tokens.value_or(kNone),
                      -row.capacity.value_or(0));
  };
  return rank(a) < rank(b);
}

}  // namespace

CapacityTableAnswer capacity_table(const CapacityTableQuestion& question,
                                   const Progress& progress) {
  CapacityTableAnswer answer{.head = answer_head(kCommand),
                             .inputs = {.scenario = with_pooled_output(question.each.scenario),
                                        .gpus = question.gpus,
                                        .sizes = question.sizes}};
  answer.inputs.scenario.deployment.gpu = question.gpus.front();
  if (const Scenario studied = with_load(answer.inputs.scenario);
      question.each.free_length && may_grow(studied)) {
    set_arrivals(answer.inputs.scenario, first_arrivals(studied));  // as each row begins with
  }
  answer.workload = load_of(question.each);
  const bool any_size = question.sizes.empty();
  if (any_size) answer.inputs.sizes.assign(kAnySizes.begin(), kAnySizes.end());
  Execution execution{.threads =
                          question.each.threads > 0 ? question.each.threads : available_threads()};
  const std::int64_t all = std::ssize(question.gpus) * std::ssize(answer.inputs.sizes);
  std::int64_t done = 0;
  std::string failure;
  for (const std::string& gpu : question.gpus) {
    load_gpu(gpu);  // a GPU that does not exist is an error of the question
    for (const int size : answer.inputs.sizes) {
      if (progress && !progress(done++, all)) throw_interrupted();
      try {
        answer.rows.push_back(row_of(question, gpu, size, execution));
      } catch (const Error& error) {
        failure = error.what();
        if (any_size) continue;  // a degree that was not asked for need not divide the model
        answer.rows.push_back(
            {.gpu = gpu, .tensor_parallel_size = size, .title = gpu, .reason = failure});
      }
    }
  }
  if (std::ranges::all_of(answer.rows, [](const CapacityTableRow& row) { return row.gpus == 0; })) {
    throw Error(failure);
  }
  std::ranges::stable_sort(answer.rows, is_better);
  answer.holds = answer.rows.front().capacity.has_value();
  answer.simulations = execution.simulations;
  return answer;
}

bool is_yes(const CapacityTableAnswer& answer) { return answer.holds; }

Json to_json(const CapacityTableAnswer& answer) { return record_to_json(answer); }

CapacityTableAnswer capacity_table_answer_from_json(const Json& json) {
  auto answer = answer_from_json<CapacityTableAnswer>(json, kCommand);
  if (answer.rows.empty()) throw Error("rows: expected at least one");
  return answer;
}

Json capacity_table_answer_schema() {
  return schema_document<CapacityTableAnswer>("Answer of roofcast capacity over several GPUs");
}

}  // namespace roofcast
