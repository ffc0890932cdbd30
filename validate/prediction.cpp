#include "validate/prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/dates.hpp"
#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/statistics.hpp"
#include "base/version.hpp"
#include "model/engines/engine_version.hpp"
#include "model/memory/memory_plan.hpp"
#include "model/step/power.hpp"
#include "model/step/step_work.hpp"
#include "planner/scenario/cost.hpp"
#include "planner/scenario/late_first_tokens.hpp"
#include "planner/scenario/pool_description.hpp"
#include "planner/scenario/simulation_run.hpp"
#include "reports/rows/simulation_rows.hpp"
#include "simulator/io/scenario_reader.hpp"
#include "simulator/io/scenario_workload.hpp"

namespace roofcast {
namespace {

// ---- intervals

/// Sums of squared deviations of figures above and below their middle, over the causes.
class Spread {
 public:
  explicit Spread(const std::vector<MetricRow>& middle) : middle_(&middle), parts_(middle.size()) {}

  /// Adds the same figures with one cause of error shifted up and down. Ignores a figure that
  /// either lacks (no request was served).
  void add(const std::vector<MetricRow>& up, const std::vector<MetricRow>& down) {
    for (std::size_t i = 0; i < middle_->size(); ++i) {
      const MetricRow& row = (*middle_)[i];
      double above = 0;
      double below = 0;
      for (const std::vector<MetricRow>* rows : {&up, &down}) {
        const double difference = value_in(*rows, row) - row.value;
        above = std::max(above, difference);
        below = std::max(below, -difference);
      }
      parts_[i].above += above * above;
      parts_[i].below += below * below;
    }
  }

  std::vector<Interval> intervals() const {
    std::vector<Interval> result;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const double value = (*middle_)[i].value;
      result.push_back({.low = std::max(0.0, value - std::sqrt(parts_[i].below)),
                        .high = value + std::sqrt(parts_[i].above)});
    }
    return result;
  }

 private:
  struct Squares {
    double above = 0;
    double below = 0;
  };

  static double value_in(const std::vector<MetricRow>& rows, const MetricRow& wanted) {
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const MetricRow& row) {
      return row.name == wanted.name && row.statistic == wanted.statistic;
    });
    return found == rows.end() ? wanted.value : found->value;
  }

  const std::vector<MetricRow>* middle_;
  std::vector<Squares> parts_;
};

/// Interval for times and counts with log-normal error.
Interval interval_around(double value, double relative_uncertainty) {
  const double factor = std::exp(kIntervalDeviations * relative_uncertainty);
  return {.low = value / factor, .high = value * factor};
}

// ---- simulations

std::int64_t gpus_of(const SimulationRun& run) {
  std::int64_t gpus = 0;
  for (const PoolRun& pool : run.pools) {
    const Parallelism& parallel = pool.deployment.parallel;
    gpus += std::int64_t{pool.replicas} * parallel.gpus();
  }
  return gpus;
}

/// Whether fewer blocks would change the result: blocks run out, or hold shared prefixes.
bool depends_on_capacity(const SimulationRun& run) {
  constexpr double kNearlyFull = 0.9;  // beyond the error of predicted capacities
  return run.result.use.peak_kv_use > kNearlyFull || !run.workload.contents.empty();
}

std::vector<UncertainInput> causes_of_error(const SimulationRun& run) {
  std::vector<UncertainInput> causes;
  for (const UncertainInput& input : kUncertainInputs) {
    const bool matters = input.member != &Deviations::kv_capacity || depends_on_capacity(run);
    if (matters && is_uncertain(run, input)) causes.push_back(input);
  }
  return causes;
}

/// Capacities depend only on the plan, not on the load.
void set_capacity_intervals(Prediction& prediction, const SimulationRun& run) {
  const double uncertainty = run.pools.front().plan.relative_uncertainty;
  for (std::size_t i = 0; i < prediction.intervals.size(); ++i) {
    const MetricRow& row = prediction.run.metrics[i];
    const bool is_capacity = row.name == "kv_blocks" || row.name == "kv_tokens" ||
                             row.name == "max_concurrency" || row.name == "max_sequences";
    if (is_capacity) prediction.intervals[i] = interval_around(row.value, uncertainty);
  }
}

/// The figures with all GPUs drawing `factor` times as much.
std::vector<MetricRow> with_power(std::vector<MetricRow> rows, double factor) {
  for (MetricRow& row : rows) {
    if (row.name.starts_with("mean_power_w") || row.name.starts_with("joules_")) {
      row.value *= factor;
    }
  }
  return rows;
}

/// Predicts a prepared run whose model fits.
Prediction predict_load(SimulationRun& run, const std::optional<std::int64_t>& stage,
                        const Progress& progress) {
  const PoolStepTimes step_times = step_times_of(run);
  simulate_with_notes(run, step_times, progress);
  const SimulationRun whole = run;  // its result is of all stages
  keep_stage(run, stage);
  Prediction prediction;
  prediction.run = simulation_row(run, "", false);
  prediction.run.metrics = figures_of(run);
  prediction.notes = run.notes;
  prediction.causes = run.pools.front().step_causes;
  if (run.result.completed == 0) prediction.refusal = "nothing is served";
  Spread spread(prediction.run.metrics);
  const std::vector<UncertainInput> causes = causes_of_error(run);
  const auto figures_with = [&](const UncertainInput& input, double deviation) {
    Deviations deviations;
    deviations.*input.member = deviation;
    run.result = deviating_result(whole, step_times, deviations, progress);
    keep_stage(run, stage);
    return figures_of(run);
  };
  for (const UncertainInput& input : causes) {
    spread.add(figures_with(input, kIntervalDeviations), figures_with(input, -kIntervalDeviations));
  }
  const double power = kIntervalDeviations * power_uncertainty_of(run.pools.front().deployment.gpu);
  spread.add(with_power(prediction.run.metrics, std::exp(power)),
             with_power(prediction.run.metrics, std::exp(-power)));
  prediction.intervals = spread.intervals();
  set_capacity_intervals(prediction, run);
  return prediction;
}

Prediction refused(const SimulationRun& run) {
  Prediction prediction;
  prediction.run = simulation_row(run, "", false);
  prediction.run.metrics.clear();
  prediction.refusal = run.refusal;
  return prediction;
}

// ---- saturation

/// Maximum requests running at once, over all replicas.
double max_running(const SimulationRun& run, std::int64_t tokens_each) {
  double running = 0;
  for (const PoolRun& pool : run.pools) {
    const Engine& engine = pool.deployment.engine;
    const double engines = static_cast<double>(pool.replicas) * pool.deployment.parallel.data;
    const std::int64_t fitting = max_batch_at(pool.deployment, pool.plan, tokens_each);
    running += engines * static_cast<double>(std::min(engine.max_num_seqs, fitting));
  }
  return running;
}

std::int64_t mean_tokens(const Workload& workload) {
  std::int64_t tokens = 0;
  for (const Request& request : workload.requests) {
    tokens += request.input_tokens + request.output_tokens;
  }
  return tokens / std::max<std::int64_t>(1, std::ssize(workload.requests));
}

/// Sends everything at once. Of n waves the last runs with fewer and fewer requests; at twenty it
/// is 5 % of the time, in which throughput falls short by half.
SimulationRun prepare_saturation(const ValidationCase& question) {
  constexpr double kWaves = 20;
  constexpr double kMaxRequests = 200'000;
  Scenario scenario = question.scenario;
  auto* synthetic = std::get_if<SyntheticWorkload>(&scenario.workload);
  if (synthetic == nullptr) {
    throw Error(question.place + ".scenario.workload: is a trace, expected a synthetic load");
  }
  synthetic->request_rate = kAllAtOnce;
  SimulationRun run = prepare_simulation(scenario);
  if (run.refusal.empty() && !question.states_num_prompts) {
    const double requests = kWaves * max_running(run, mean_tokens(run.workload));
    synthetic->num_prompts = std::llround(std::clamp(requests, 1.0, kMaxRequests));
    run.scenario = scenario;
    run.workload = load_workload(scenario);
  }
  return run;
}

// ---- one deployment

RunRow row_of(const ValidationCase& question, const ResolvedDeployment& resolved) {
  return {.id = 0,
          .kind = "",
          .created_at = utc_now(),
          .tool_version = kVersion,
          .command_line = "",
          .model = resolved.deployment.model.name,
          .gpu = resolved.deployment.gpu.name,
          .engine = engine_title(resolved.deployment.engine),
          .scenario_json = to_json(question.scenario),
          .profile_hash = resolved.profile_hash,
          .seed = question.scenario.seed,
          .summary = ""};
}

Prediction predict_memory(const ValidationCase& question) {
  const ResolvedDeployment resolved = deployment_of(question);
  const MemoryPlan plan = plan_memory(resolved.deployment);
  Prediction prediction;
  prediction.run.row = row_of(question, resolved);
  if (!plan.fits) {
    prediction.refusal = "does not fit: " + plan.reason;
    return prediction;
  }
  prediction.run.row.summary = fmt::format("{} KV blocks", with_separators(plan.kv_blocks));
  prediction.run.metrics = {{"kv_blocks", "value", static_cast<double>(plan.kv_blocks)},
                            {"kv_tokens", "value", static_cast<double>(plan.kv_tokens)},
                            {"kv_bytes", "value", plan.kv_budget.value},
                            {"max_concurrency", "value", plan.max_concurrency},
                            {"max_sequences", "value", std::floor(plan.max_concurrency)}};
  for (const MetricRow& row : prediction.run.metrics) {
    prediction.intervals.push_back(interval_around(row.value, plan.relative_uncertainty));
  }
  return prediction;
}

Prediction predict_step(const ValidationCase& question) {
  const ResolvedDeployment resolved = deployment_of(question);
  const RooflineStepTime step_time(resolved.deployment);
  const StepEstimate step = step_time.explain(batch_of(question.step, resolved.deployment.model));
  Prediction prediction;
  prediction.run.row = row_of(question, resolved);
  prediction.run.row.summary = "step of " + as_time(step.total);
  prediction.run.metrics = {{"step_s", "value", step.total.value}};
  prediction.intervals = {interval_around(step.total.value, step.relative_uncertainty)};
  return prediction;
}

Prediction answer(const ValidationCase& question, const Progress& progress) {
  switch (question.ask) {
    case ValidationAsk::step:
      return predict_step(question);
    case ValidationAsk::memory:
      return predict_memory(question);
    case ValidationAsk::saturation:
    case ValidationAsk::simulate:
      break;
  }
  SimulationRun run = prepare(question);
  return run.refusal.empty() ? predict_load(run, question.stage, progress) : refused(run);
}

}  // namespace

void keep_stage(SimulationRun& run, const std::optional<std::int64_t>& stage) {
  if (!stage) return;
  const std::int64_t stages = std::max<std::int64_t>(1, std::ssize(run.result.stages));
  if (*stage > stages) {
    throw Error(fmt::format("stage {} was measured, but the load has only {}", *stage, stages));
  }
  if (run.result.stages.empty()) return;  // a single stage is the whole result
  LoadResult& whole = run.result;
  whole = run.result.stages[static_cast<std::size_t>(*stage - 1)];
}

std::vector<MetricRow> figures_of(const SimulationRun& run) {
  std::vector<MetricRow> rows = simulation_metrics(run);
  rows.push_back({"total_tokens_per_s", "value",
                  run.result.input_tokens_per_s + run.result.output_tokens_per_s});
  rows.push_back({"output_tokens_per_s_per_gpu", "value",
                  run.result.output_tokens_per_s / static_cast<double>(gpus_of(run))});
  const ServingCost cost = cost_of(run.pools, run.result);
  if (cost.mean_power_w) {
    rows.push_back(
        {"mean_power_w_per_gpu", "value", *cost.mean_power_w / static_cast<double>(gpus_of(run))});
  }
  if (cost.joules_per_output_token) {
    rows.push_back({"joules_per_output_token", "value", *cost.joules_per_output_token});
  }
  if (!are_alike(run.pools)) return rows;
  const MemoryPlan& plan = run.pools.front().plan;
  rows.push_back({"kv_tokens", "value", static_cast<double>(plan.kv_tokens)});
  rows.push_back({"max_concurrency", "value", plan.max_concurrency});
  rows.push_back({"max_sequences", "value", std::floor(plan.max_concurrency)});
  return rows;
}

ResolvedDeployment deployment_of(const ValidationCase& question) {
  const std::vector<PoolScenario> pools = pools_of(question.scenario);
  if (pools.size() > 1) {
    throw Error(question.place + ".scenario.cluster: expected one pool for memory and steps");
  }
  return resolve_as_started(deployment_options(question.scenario, pools.front()));
}

StepBatch batch_of(const StepQuestion& step, const Transformer& model) {
  StepBatch batch;
  if (step.decode_sequences > 0) {
    const std::int64_t each = step.decode_context_tokens / step.decode_sequences;
    batch = decode_batch(model, step.decode_sequences, each);
    const std::vector<AttentionSpan> spans = attention_spans(model);
    for (std::size_t i = 0; i < spans.size(); ++i) {
      if (spans[i].kind != AttentionSpan::Kind::full) continue;
      batch.decode_attended[i] = step.decode_context_tokens + step.decode_sequences;
    }
  } else {
    batch.decode_attended.assign(attention_spans(model).size(), 0);
  }
  batch.prefills = step.prefills;
  return batch;
}

SimulationRun prepare(const ValidationCase& question) {
  return question.ask == ValidationAsk::saturation
             ? prepare_saturation(question)
             : prepare_simulation(question.scenario, question.recorded);
}

Prediction predict(const ValidationCase& question, const Progress& progress) {
  Prediction prediction = answer(question, progress);
  prediction.run.row.kind = "validate";
  return prediction;
}

}  // namespace roofcast
