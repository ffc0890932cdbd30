#include "planner/verdict/steady_run.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "planner/load/offered_load.hpp"
#include "simulator/io/scenario_workload.hpp"
#include "simulator/results/saturation.hpp"

namespace roofcast {
namespace {

// Beyond this a batch of all requests takes seconds, and their own backlog says enough.
constexpr std::int64_t kMaxBurst = 200'000;

/// All requests at once; nullopt if the run was stopped.
std::optional<double> throughput_at_once(const SimulationRun& run) {
  SimulationRun batch{.scenario = run.scenario, .pools = run.pools};
  batch.stopped = run.stopped;
  batch.workload = all_at_once(run.workload);
  const SimulationResult result = simulate_run(batch);
  if (result.stopped) return std::nullopt;
  return result.request_rate_per_s;
}

/// Compares the load with the throughput of a burst of all its requests. Skipped for sessions: a
/// burst of them would evict each other's prefixes, unlike sessions that arrive one by one.
void settle(SimulationRun& run, KnownThroughput* known) {
  const auto requests = std::ssize(run.workload.requests);
  const SaturationVerdict& verdict = run.result.saturation;
  const bool waits = verdict.queueing_share >= kQueueingDominates;
  if (!verdict.undecided && (!verdict.saturated || waits)) return;
  if (requests > kMaxBurst) return;
  if (run.result.session_rate_per_s > 0) return;
  std::optional<double> throughput;
  if (known != nullptr) throughput = known->of(requests);
  if (!throughput) throughput = throughput_at_once(run);
  if (!throughput) return;
  if (known != nullptr) known->set(requests, *throughput);
  settle_by_throughput(run.result.saturation, run.result.offered_rate_per_s, *throughput);
}

/// Requests, or sessions.
std::int64_t arrivals_of(const Workload& workload) {
  return std::ranges::count(workload.requests, kNoRequest, &Request::follows);
}

ArrivalLimits limits_of(const Scenario& scenario) {
  const auto* synthetic = std::get_if<SyntheticWorkload>(&scenario.workload);
  return synthetic != nullptr && synthetic->sessions ? kSessionLimits : kRequestLimits;
}

void take_load(SimulationRun& run, const SteadyQuestion& question, std::int64_t arrivals) {
  if (question.load == nullptr) return;
  const auto drawn = question.load->of(arrivals);
  run.workload = question.factor == 1 ? *drawn : at_factor(*drawn, question.factor);
  if (question.load->grows()) set_arrivals(run.scenario, arrivals);
}

}  // namespace

std::int64_t first_arrivals(const Scenario& scenario) { return limits_of(scenario).first; }

bool may_grow(const Scenario& scenario) {
  const auto* synthetic = std::get_if<SyntheticWorkload>(&scenario.workload);
  if (synthetic == nullptr || !std::holds_alternative<SteadyRate>(synthetic->pattern)) return false;
  if (synthetic->shared_prefix && prompts_of(*synthetic->shared_prefix) > 0) return false;
  return std::isfinite(synthetic->request_rate) || scenario.max_concurrency;
}

void set_arrivals(Scenario& scenario, std::int64_t arrivals) {
  std::get<SyntheticWorkload>(scenario.workload).num_prompts = arrivals;
}

bool is_sample(const Scenario& scenario) {
  const auto* synthetic = std::get_if<SyntheticWorkload>(&scenario.workload);
  return synthetic != nullptr && std::holds_alternative<SteadyRate>(synthetic->pattern);
}

GrowingLoad::GrowingLoad(Scenario scenario, Workload first, bool grows)
    : scenario_(std::move(scenario)), grows_(grows) {
  drawn_.emplace(this->first(), std::make_shared<const Workload>(std::move(first)));
}

std::int64_t GrowingLoad::first() const { return grows_ ? first_arrivals(scenario_) : 0; }

ArrivalLimits GrowingLoad::limits() const {
  ArrivalLimits limits = limits_of(scenario_);
  if (!grows_) return limits;
  const std::shared_ptr<const Workload> drawn = of(limits.first);
  const std::int64_t arrivals = arrivals_of(*drawn);
  const auto requests = std::ssize(drawn->requests);
  if (requests == arrivals) return limits;
  for (std::int64_t* most : {&limits.search, &limits.one}) {
    while (*most > limits.first && *most / arrivals * requests > kMostSessionRequests) *most /= 2;
  }
  return limits;
}

std::shared_ptr<const Workload> GrowingLoad::of(std::int64_t arrivals) const {
  const std::scoped_lock lock(mutex_);
  if (!grows_) return drawn_.begin()->second;
  std::shared_ptr<const Workload>& drawn = drawn_[arrivals];
  if (!drawn) {
    Scenario longer = scenario_;
    set_arrivals(longer, arrivals);
    drawn = std::make_shared<const Workload>(load_workload(longer));
  }
  return drawn;
}

std::optional<double> KnownThroughput::of(std::int64_t requests) const {
  const std::scoped_lock lock(mutex_);
  const auto found = known_.find(requests);
  return found == known_.end() ? std::nullopt : std::optional(found->second);
}

void KnownThroughput::set(std::int64_t requests, double per_s) {
  const std::scoped_lock lock(mutex_);
  known_.insert_or_assign(requests, per_s);
}

SloVerdict settled_verdict(SimulationRun& run, const SloRequirement& requirement,
                           KnownThroughput* throughput) {
  run.result.requirement = requirement;
  SloVerdict verdict = judge(run.result);
  if (run.result.stopped || !verdict.undecided) return verdict;
  settle(run, throughput);
  return judge(run.result);
}

SloVerdict simulate_until_decided(SimulationRun& run, const SteadyQuestion& question,
                                  const SimulateRun& simulate) {
  take_load(run, question, question.load == nullptr ? 0 : question.load->first());
  simulate(run);
  return lengthen_until_decided(run, question, simulate);
}

SloVerdict lengthen_until_decided(SimulationRun& run, const SteadyQuestion& question,
                                  const SimulateRun& simulate) {
  const bool grows = question.load != nullptr && question.load->grows();
  for (std::int64_t arrivals = grows ? arrivals_of(run.workload) : 0;;) {
    SloVerdict verdict = settled_verdict(run, question.requirement, question.throughput);
    const bool stands = !verdict.undecided;
    if (run.result.stopped || stands || !grows || 2 * arrivals > question.most) return verdict;
    arrivals *= 2;
    take_load(run, question, arrivals);
    simulate(run);
  }
}

}  // namespace roofcast
