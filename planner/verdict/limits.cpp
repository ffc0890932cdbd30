#include "planner/verdict/limits.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <span>
#include <utility>

#include "model/engines/host_terms.hpp"
#include "planner/evaluate_all.hpp"
#include "planner/load/offered_load.hpp"
#include "simulator/results/figures.hpp"
#include "simulator/simulate.hpp"

namespace roofcast {
namespace {

// ---- composition of steps

/// Time of steps by what bounds their operators, and the total.
struct StepTimeParts {
  double total = 0;
  StepShares seconds{};

  StepShares shares() const {
    if (total <= 0) return {};
    return {.compute = seconds.compute / total,
            .bandwidth = seconds.bandwidth / total,
            .interconnect = seconds.interconnect / total,
            .host = seconds.host / total};
  }
};

void add_operator(StepShares& seconds, const OperatorEstimate& part) {
  switch (part.bound) {
    case Bound::compute:
      seconds.compute += part.time.value;
      return;
    case Bound::memory:
      seconds.bandwidth += part.time.value;
      return;
    case Bound::communication:
      seconds.interconnect += part.time.value;
      return;
    case Bound::latency:
      return;
  }
}

/// Whether the host determines the step's duration: otherwise, with asynchronous scheduling, only
/// the graph launch and the serial work remain uncovered. Penalties prevent the overlap.
bool waits_for_host(const StepEstimate& step, const StepBatch& batch, const Engine& engine) {
  if (!engine.async_scheduling || engine.sampling == SamplingKind::penalty) return false;
  const auto sequences =
      static_cast<double>(batch.decode_sequences) + static_cast<double>(batch.prefills.size());
  const Seconds serial = engine.host.graph_launch + engine.host.serial_per_sequence * sequences;
  constexpr double kRounding = 1e-9;  // seconds: from adding and subtracting step times
  return step.host.value > serial.value + kRounding;
}

/// Where each stage of a pipeline has a host: the share of the busiest stage's time in which only
/// its host works.
double host_share(const StagedTime& time) {
  double longest = 0;
  double share = 0;
  for (std::size_t i = 0; i < time.stages.size(); ++i) {
    const Seconds period = time.period(i);
    if (period.value <= longest) continue;
    longest = period.value;
    share = std::max(0.0, 1 - time.stages[i] / period);
  }
  return share;
}

/// A step's time, of which its kernels share what is not the host's.
void add_staged_step(StepTimeParts& parts, const StepEstimate& step, const StagedTime& time) {
  const double host = host_share(time);
  parts.total += step.total.value;
  parts.seconds.host += step.total.value * host;
  Seconds kernels;
  for (const OperatorEstimate& part : step.operators) kernels += part.time;
  if (kernels.value <= 0) return;
  const double scale = step.total.value * (1 - host) / kernels.value;
  for (OperatorEstimate part : step.operators) {
    part.time = part.time * scale;
    add_operator(parts.seconds, part);
  }
}

void add_step(StepTimeParts& parts, const StepEstimate& step, bool waits) {
  parts.total += step.total.value;
  if (waits) {
    parts.seconds.host += step.total.value;
    return;
  }
  Seconds kernels;
  for (const OperatorEstimate& part : step.operators) kernels += part.time;
  // Kernels limited by their launch rate count as host time too.
  constexpr double kSame = 0.999;
  if (kernels.value < kSame * step.device.value) {
    parts.seconds.host += step.total.value;
    return;
  }
  parts.seconds.host += step.host.value;
  for (const OperatorEstimate& part : step.operators) add_operator(parts.seconds, part);
}

StepTimeParts parts_of(const std::vector<StepBatch>& sample, const RooflineStepTime& step_time,
                       const Engine& engine) {
  StepTimeParts parts;
  StagedTime staged;
  for (const StepBatch& batch : sample) {
    const StepEstimate step = step_time.explain(batch);
    if (step_time.stages() > 1) step_time.divide(batch, staged);
    if (!staged.hosts.empty()) {
      add_staged_step(parts, step, staged);
      continue;
    }
    add_step(parts, step, waits_for_host(step, batch, engine));
  }
  return parts;
}

// ---- use of limits

constexpr std::array kStepKinds = {LimitKind::compute, LimitKind::bandwidth,
                                   LimitKind::interconnect, LimitKind::host};

double share_of(const StepShares& shares, LimitKind kind) {
  switch (kind) {
    case LimitKind::compute:
      return shares.compute;
    case LimitKind::bandwidth:
      return shares.bandwidth;
    case LimitKind::interconnect:
      return shares.interconnect;
    case LimitKind::host:
      return shares.host;
    default:
      return 0;
  }
}

/// Over all pools' steps together.
double step_share(const std::vector<PoolSteps>& pools, LimitKind kind) {
  double part = 0;
  double total = 0;
  for (const PoolSteps& pool : pools) {
    part += pool.census.with_prompts.time.value * share_of(pool.prompts, kind) +
            pool.census.decode_only.time.value * share_of(pool.decodes, kind);
    total += pool.census.total().value;
  }
  return total > 0 ? part / total : 0;
}

double time_share(const std::vector<PoolSteps>& pools, Seconds StepCensus::*part) {
  Seconds sum;
  Seconds total;
  for (const PoolSteps& pool : pools) {
    sum += pool.census.*part;
    total += pool.census.total();
  }
  return total.value > 0 ? sum / total : 0;
}

std::vector<LimitUse> uses_of(const SimulationRun& run, const std::vector<PoolSteps>& pools) {
  std::vector<LimitUse> uses = {
      {LimitKind::kv_memory, run.result.use.peak_kv_use},
      {LimitKind::token_budget, time_share(pools, &StepCensus::at_token_budget)},
      {LimitKind::max_num_seqs, time_share(pools, &StepCensus::at_max_num_seqs)}};
  for (const LimitKind kind : kStepKinds) {
    const double share = step_share(pools, kind);
    const bool has_links = share > 0 || has_role(run.pools, PoolRole::decode);
    if (kind == LimitKind::interconnect && !has_links) continue;
    uses.push_back({kind, share});
  }
  if (offered_rate_per_s(run.workload) > 0) {
    uses.push_back({LimitKind::queueing, run.result.saturation.queueing_share});
  }
  return uses;
}

// ---- 10 % more of each limit

/// Scales steps with and without prompts by one factor each.
class RelaxedSteps final : public StepTime {
 public:
  RelaxedSteps(const StepTime& times, const RelaxedShares& factors)
      : times_(&times), factors_(factors) {}

  const std::vector<AttentionSpan>& spans() const override { return times_->spans(); }
  Seconds seconds(const StepBatch& batch) const override {
    return times_->seconds(batch) * factor_of(batch);
  }
  int stages() const override { return times_->stages(); }
  void divide(const StepBatch& batch, StagedTime& time) const override {
    times_->divide(batch, time);
    time.scale(factor_of(batch));
  }

 private:
  double factor_of(const StepBatch& batch) const {
    return batch.prefills.empty() ? factors_.decode_steps : factors_.prompt_steps;
  }

  const StepTime* times_;
  RelaxedShares factors_;
};

/// Time that is a share of a step shrinks by the kind's share; the host's own terms are scaled in
/// place.
RelaxedShares relaxed_shares(const PoolSteps& steps, LimitKind kind) {
  if (kind == LimitKind::host) return {};
  const double saved = 1 - 1 / (1 + kRelaxation);
  return {.prompt_steps = 1 - saved * share_of(steps.prompts, kind),
          .decode_steps = 1 - saved * share_of(steps.decodes, kind)};
}

std::int64_t more_of(std::int64_t count) {
  return std::llround(std::ceil(static_cast<double>(count) * (1 + kRelaxation)));
}

void speed_up(HostOverhead& host) {
  for (Seconds HostOverhead::*term : host_times()) {
    host.*term = host.*term * (1 / (1 + kRelaxation));
  }
}

void relax_pool(PoolRun& pool, LimitKind kind) {
  Engine& engine = pool.deployment.engine;
  if (kind == LimitKind::kv_memory) pool.plan.kv_blocks = more_of(pool.plan.kv_blocks);
  if (kind == LimitKind::token_budget) {
    engine.max_num_batched_tokens = more_of(engine.max_num_batched_tokens);
  }
  if (kind == LimitKind::max_num_seqs) engine.max_num_seqs = more_of(engine.max_num_seqs);
  if (kind == LimitKind::host) speed_up(engine.host);
}

/// The same requests at the same mean rate without randomness: equal gaps between arrivals.
void space_evenly(Workload& workload) {
  std::vector<Request*> starts;
  for (Request& request : workload.requests) {
    if (request.follows == kNoRequest) starts.push_back(&request);
  }
  if (starts.size() < 2) return;
  const Nanoseconds first = starts.front()->arrival;
  const auto span = static_cast<double>(starts.back()->arrival - first);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const double place = static_cast<double>(i) / static_cast<double>(starts.size() - 1);
    starts[i]->arrival = first + std::llround(span * place);
  }
}

SimulationRun relaxed_run(const SimulationRun& run, LimitKind kind) {
  SimulationRun relaxed{.scenario = run.scenario, .pools = run.pools, .workload = run.workload};
  relaxed.stopped = run.stopped;
  for (PoolRun& pool : relaxed.pools) relax_pool(pool, kind);
  if (kind == LimitKind::queueing) space_evenly(relaxed.workload);
  if (kind == LimitKind::interconnect && relaxed.scenario.cluster) {
    KvLink& link = relaxed.scenario.cluster->link;
    link.bandwidth = link.bandwidth * (1 + kRelaxation);
  }
  return relaxed;
}

SimulationResult simulate_on(const SimulationRun& run, std::span<const StepTime* const> seams,
                             const Progress& progress) {
  return simulate(cluster_of(run.scenario, run.pools, seams), run.workload,
                  {.max_concurrency = run.scenario.max_concurrency,
                   .slo = run.scenario.slo,
                   .progress = ended_by(run, progress)});
}

/// Whether the limit is on what may run at once, so that it is why requests wait.
bool is_of_admission(const std::optional<LimitKind>& kind) {
  return kind == LimitKind::kv_memory || kind == LimitKind::token_budget ||
         kind == LimitKind::max_num_seqs;
}

/// Whether nearly all of what the yardstick measures is waiting, and not for admission.
bool is_waiting(const LimitReport& report) {
  constexpr double kNearlyAll = 0.9;  // of the mean TTFT
  if (is_of_admission(report.binding)) return false;
  if (!report.target || report.target->target.metric != LatencyMetric::ttft) return false;
  return std::ranges::any_of(report.gains, [](const LimitGain& gain) {
    return gain.use.kind == LimitKind::queueing && gain.use.share >= kNearlyAll;
  });
}

}  // namespace

std::string_view name_of(LimitKind kind) {
  constexpr std::array<std::string_view, 8> kNames = {"kv_memory", "token_budget", "max_num_seqs",
                                                      "compute",   "bandwidth",    "interconnect",
                                                      "host",      "queueing"};
  return kNames[static_cast<std::size_t>(kind)];
}

LimitAccount simulate_with_account(SimulationRun& run, const PoolStepTimes& step_times,
                                   const Progress& progress) {
  std::deque<CountedSteps> counted;
  std::vector<const StepTime*> seams;
  for (std::size_t i = 0; i < run.pools.size(); ++i) {
    seams.push_back(&counted.emplace_back(step_times[i], run.pools[i].deployment.engine));
  }
  run.result = simulate_on(run, seams, progress);
  LimitAccount account;
  for (std::size_t i = 0; i < run.pools.size(); ++i) {
    const Engine& engine = run.pools[i].deployment.engine;
    account.pools.push_back(
        {.census = counted[i].census(),
         .prompts = parts_of(counted[i].prompt_sample(), step_times[i], engine).shares(),
         .decodes = parts_of(counted[i].decode_sample(), step_times[i], engine).shares()});
    take_use(run.pools[i], use_of(counted[i], step_times[i], run.pools[i].deployment.gpu),
             run.result);
  }
  account.uses = uses_of(run, account.pools);
  return account;
}

SimulationResult simulate_relaxed(const SimulationRun& run, const LimitAccount& account,
                                  LimitKind kind) {
  const SimulationRun relaxed = relaxed_run(run, kind);
  const PoolStepTimes step_times = step_times_of(relaxed);
  std::deque<RelaxedSteps> faster;
  std::vector<const StepTime*> seams;
  for (std::size_t i = 0; i < relaxed.pools.size(); ++i) {
    const RelaxedShares shares = relaxed_shares(account.pools[i], kind);
    seams.push_back(&faster.emplace_back(step_times[i], shares));
  }
  return simulate_on(relaxed, seams, {});
}

double Yardstick::of(const SimulationResult& result) const {
  return target ? result.slo[*target].achieved : result.e2e.mean;
}

Yardstick yardstick_of(const SimulationResult& result) {
  Yardstick yardstick;
  double worst = 0;
  for (std::size_t i = 0; i < result.slo.size(); ++i) {
    const TargetOutcome& outcome = result.slo[i];
    // An engine that does not keep up fails by what grows, not by its time per token.
    if (result.saturation.saturated && !figure_of(outcome.target.metric).waits) continue;
    const double used = outcome.achieved / outcome.target.limit.value;
    if (used <= worst) continue;
    worst = used;
    yardstick.target = i;
  }
  return yardstick;
}

std::optional<LimitReport> report_limits(const SimulationRun& run, const LimitAccount& account,
                                         int threads, const Progress& progress) {
  const Yardstick yardstick = yardstick_of(run.result);
  LimitReport report{.as_is_s = yardstick.of(run.result),
                     .use = run.result.use,
                     .tokenizer_share = tokenizer_share(run.result)};
  if (yardstick.target) report.target = run.result.slo[*yardstick.target];
  const auto gain_of = [&](std::int64_t i) {
    const LimitUse& use = account.uses[static_cast<std::size_t>(i)];
    const double relaxed = yardstick.of(simulate_relaxed(run, account, use.kind));
    const double gain = report.as_is_s > 0 ? 1 - relaxed / report.as_is_s : 0;
    return LimitGain{.use = use, .relaxed_s = relaxed, .gain = gain};
  };
  auto gains = answers_here_or_on(std::ssize(account.uses), threads, gain_of, progress);
  if (!gains) return std::nullopt;
  std::stable_sort(gains->begin(), gains->end(),
                   [](const LimitGain& a, const LimitGain& b) { return a.gain > b.gain; });
  report.gains = std::move(*gains);
  report.binding = binding_limit(report.gains);
  if (is_waiting(report)) report.binding = LimitKind::queueing;
  return report;
}

std::optional<LimitKind> binding_limit(const std::vector<LimitGain>& gains) {
  for (const bool chance : {false, true}) {
    for (const LimitGain& gain : gains) {
      const bool is_chance = gain.use.kind == LimitKind::queueing;
      if (is_chance == chance && gain.gain >= kNoticeableGain) return gain.use.kind;
    }
  }
  return std::nullopt;
}

}  // namespace roofcast
