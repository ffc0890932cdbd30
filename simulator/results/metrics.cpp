#include "simulator/results/metrics.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "simulator/results/request_groups.hpp"
#include "simulator/results/saturation.hpp"

namespace roofcast {
namespace {

/// Fills counts, and rates over the time from first arrival to last finish.
void count(LoadResult& result, const RequestTally& tally, Nanoseconds now) {
  result.completed = tally.completed;
  result.rejected = tally.rejected;
  result.lost = tally.lost;
  result.unfinished = tally.unfinished();
  if (tally.arrived == 0) return;
  result.makespan = tally.makespan(now);
  result.offered_rate_per_s = tally.offered_rate_per_s();
  if (result.makespan.value <= 0) return;
  auto rate = [&](std::int64_t number) {
    return static_cast<double>(number) / result.makespan.value;
  };
  result.request_rate_per_s = rate(tally.completed);
  result.input_tokens_per_s = rate(tally.input_tokens);
  result.output_tokens_per_s = rate(tally.output_tokens);
}

void fill(LoadResult& result, const RequestGroup& group, const TokenGaps& gaps, const Slo& slo,
          Nanoseconds now) {
  count(result, group.tally, now);
  result.ttft = distribution_of(group.of(LatencyPart::ttft));
  result.tpot = distribution_of(group.of(LatencyPart::tpot));
  result.e2e = distribution_of(group.of(LatencyPart::e2e));
  result.queue = distribution_of(group.of(LatencyPart::queue));
  result.client_queue = distribution_of(group.of(LatencyPart::client_queue));
  const Distribution tokenizer = distribution_of(group.of(LatencyPart::tokenizer_queue));
  if (tokenizer.max > 0) result.tokenizer_queue = tokenizer;
  result.itl = distribution_of(gap_percentiles(gaps, group.logs, distribution_percents(), 0));
  if (slo.goodput.empty()) return;
  const auto good = static_cast<double>(group.tally.good);
  const auto answered = static_cast<double>(group.tally.answered());
  result.goodput_share = answered > 0 ? good / answered : 0.0;
  result.goodput_per_s = result.makespan.value > 0 ? good / result.makespan.value : 0.0;
}

TargetOutcome outcome_of(const PercentileTarget& target, const RequestGroup& group,
                         std::int64_t within, const TokenGaps& gaps) {
  TargetOutcome outcome;
  outcome.target = target;
  outcome.requests = group.tally.answered();
  if (outcome.requests == 0) return outcome;
  outcome.attainment = static_cast<double>(within) / static_cast<double>(outcome.requests);
  const Percentiles values =
      target.metric == LatencyMetric::itl
          ? gap_percentiles(gaps, group.logs, {target.percentile}, group.tally.unserved())
          : group.of(*part_of(target.metric));
  outcome.exact = values.exact();
  if (values.count() == 0) {
    // Nothing was measured: single-token outputs have no TPOT or ITL, rejected requests no latency.
    outcome.met = group.tally.unserved() == 0;
    return outcome;
  }
  const auto value = values.percentile(target.percentile);
  outcome.achieved = value.value_or(to_seconds(values.counted().max()).value);
  outcome.met = value && *value <= target.limit.value;
  return outcome;
}

// ---- the steady state

/// Reported requests that have an outcome, in the order in which they were sent. Empty if they were
/// all sent at once: a batch has no steady state.
std::vector<const RequestRecord*> in_order(const SimulationResult& result,
                                           std::span<const LoadStage> stages) {
  std::vector<const RequestRecord*> order;
  order.reserve(result.requests.size());
  for (const RequestRecord& record : result.requests) {
    const bool answered = record.finished != kNever || record.rejected || record.lost;
    if (answered && is_reported(stages, record.request)) order.push_back(&record);
  }
  const auto earlier = [](const RequestRecord* a, const RequestRecord* b) {
    return a->sent < b->sent;
  };
  if (!std::ranges::is_sorted(order, earlier)) std::ranges::stable_sort(order, earlier);
  if (order.empty() || order.front()->sent == order.back()->sent) order.clear();
  return order;
}

bool is_clear_of(const ConfidenceInterval& interval, double limit, bool met) {
  return met ? interval.low > limit : interval.high < limit;
}

/// Sets the interval of the share within the limit, and whether the verdict holds for a longer
/// load: the interval is clear of the percentile on the side of `met`, and the percentiles of
/// batches do not contradict it.
void estimate(TargetOutcome& outcome, std::span<const RequestRecord* const> order,
              std::optional<std::int32_t> slo_class) {
  const PercentileTarget& target = outcome.target;
  if (target.metric == LatencyMetric::itl || order.empty()) return;
  std::vector<double> latencies;
  std::vector<std::uint8_t> within;
  bool all_served = true;
  for (const RequestRecord* record : order) {
    if (slo_class && record->request.slo_class != *slo_class) continue;
    const auto latency = latency_of(*record, target.metric);
    const double seconds = latency ? to_seconds(*latency).value : 0;
    if (!latency) all_served = false;
    latencies.push_back(seconds);
    within.push_back(latency && seconds <= target.limit.value ? 1 : 0);
  }
  const std::size_t warm_up = warm_up_of(latencies);
  outcome.share = share_interval(std::span(within).subspan(warm_up));
  outcome.decided =
      outcome.share && is_clear_of(*outcome.share, target.percentile / 100, outcome.met);
  if (!outcome.decided || !all_served) return;
  const auto values = percentile_interval(std::span(latencies).subspan(warm_up), target.percentile);
  if (!values) return;
  outcome.decided =
      outcome.met ? values->high <= target.limit.value : values->low > target.limit.value;
}

void estimate_goodput(SimulationResult& result, std::span<const RequestRecord* const> order,
                      const Slo& slo) {
  if (slo.goodput.empty() || order.empty()) return;
  std::vector<double> latencies;
  std::vector<std::uint8_t> good;
  for (const RequestRecord* record : order) {
    const auto latency = latency_of(*record, LatencyMetric::e2e);
    latencies.push_back(latency ? to_seconds(*latency).value : 0);
    good.push_back(is_good(*record, slo.goodput) ? 1 : 0);
  }
  result.goodput_interval = share_interval(std::span(good).subspan(warm_up_of(latencies)));
}

void judge_targets(SimulationResult& result, const TargetGroup& group, const TokenGaps& gaps,
                   const std::vector<PercentileTarget>& targets, const std::string& name) {
  for (std::size_t t = 0; t < targets.size(); ++t) {
    TargetOutcome outcome = outcome_of(targets[t], group.group, group.within[t], gaps);
    outcome.slo_class = name;
    outcome.judged = !result.stopped;
    outcome.met = outcome.met && outcome.judged;
    result.slo.push_back(std::move(outcome));
  }
}

void judge_slo(SimulationResult& result, const RequestGroups& groups, const TokenGaps& gaps,
               const Slo& slo, std::span<const LoadStage> stages) {
  judge_targets(result, groups.whole, gaps, slo.targets, "all");
  for (std::size_t i = 0; i < slo.classes.size(); ++i) {
    judge_targets(result, groups.classes[i], gaps, slo.classes[i].targets, slo.classes[i].name);
  }
  if (result.stopped || (result.slo.empty() && slo.goodput.empty())) return;
  const std::vector<const RequestRecord*> order = in_order(result, stages);
  std::size_t next = 0;
  for (; next < slo.targets.size(); ++next) estimate(result.slo[next], order, {});
  for (std::size_t i = 0; i < slo.classes.size(); ++i) {
    for (std::size_t t = 0; t < slo.classes[i].targets.size(); ++t) {
      estimate(result.slo[next++], order, static_cast<std::int32_t>(i));
    }
  }
  estimate_goodput(result, order, slo);
}

/// Times to first tokens become `factor` times as long; what follows them moves with them, and
/// what would then be after them (the end of the queue) ends with them.
void delay_first_tokens(std::vector<RequestRecord>& records, double factor) {
  for (RequestRecord& record : records) {
    if (record.finished == kNever) continue;
    const auto waited = static_cast<double>(record.first_token - record.sent);
    const Nanoseconds delay = std::llround((factor - 1) * waited);
    record.first_token += delay;
    record.finished += delay;
    record.scheduled = std::min(record.scheduled, record.first_token);
    record.queued = std::min(record.queued, record.scheduled);
  }
}

/// Late first tokens are so for their users alone: the load ends when it was simulated to, so that
/// rates stay as they are.
void keep_ends(RequestGroups& late, const RequestGroups& simulated) {
  late.all.tally.last_finish = simulated.all.tally.last_finish;
  for (std::size_t i = 0; i < late.stages.size(); ++i) {
    late.stages[i].group.tally.last_finish = simulated.stages[i].group.tally.last_finish;
  }
}

/// First arrival to last finish (to `now` if some are unfinished), unreported stages included.
Seconds whole_makespan(const std::vector<RequestRecord>& records, Nanoseconds now,
                       Nanoseconds end) {
  RequestTally times{.end = end};
  for (const RequestRecord& record : records) times.add_times(record);
  return times.makespan(now);
}

/// Precondition: `replicas` has an entry for each replica that the records name.
void share_out(std::vector<ReplicaResult>& replicas, const std::vector<RequestRecord>& records) {
  if (replicas.empty()) return;
  for (const RequestRecord& record : records) {
    if (record.replica < 0) continue;  // never assigned to a replica
    ReplicaResult& replica = replicas[static_cast<std::size_t>(record.replica)];
    if (record.lost) ++replica.lost;
    if (record.finished != kNever) ++replica.completed;
  }
}

}  // namespace

void summarise(SimulationResult& result, const TokenGaps& gaps, const Slo& slo, Nanoseconds now,
               std::span<const LoadStage> stages, double first_token_factor) {
  std::vector<RequestRecord> simulated;
  if (first_token_factor != 1) {
    simulated = result.requests;
    delay_first_tokens(result.requests, first_token_factor);
  }
  const Nanoseconds end = result.stopped ? now : kEndless;
  RequestGroups groups = group_requests(result.requests, gaps, slo, stages, end);
  if (first_token_factor != 1) {
    keep_ends(groups, group_requests(simulated, gaps, slo, stages, end));
  }
  fill(result, groups.all, gaps, slo, now);
  result.unreported = static_cast<std::int64_t>(result.requests.size()) - groups.all.tally.requests;
  result.whole_makespan =
      result.unreported == 0
          ? result.makespan
          : whole_makespan(first_token_factor != 1 ? simulated : result.requests, now, end);
  for (const StageGroup& stage : groups.stages) {
    StageResult by_itself;
    by_itself.name = stages[stage.index].name;
    fill(by_itself, stage.group, gaps, slo, now);
    result.stages.push_back(std::move(by_itself));
  }
  judge_slo(result, groups, gaps, slo, stages);
  share_out(result.replicas, result.requests);
  if (groups.all.tally.followers > 0) {
    result.session_rate_per_s = groups.all.tally.start_rate_per_s();
  }
  if (first_token_factor != 1) result.requests = std::move(simulated);
  result.saturation = judge_saturation(result, stages);
}

SimulationResult with_late_first_tokens(const SimulationResult& result, const Slo& slo,
                                        std::span<const LoadStage> stages,
                                        double first_token_factor) {
  assert(!result.stopped && result.unfinished == 0);
  std::int32_t last_class = 0;
  for (const RequestRecord& record : result.requests) {
    last_class = std::max(last_class, record.request.slo_class);
  }
  const TokenGaps no_gaps(static_cast<std::size_t>(last_class) + 1,
                          std::max<std::size_t>(1, stages.size()));
  SimulationResult late;
  late.requests = result.requests;
  late.requirement = result.requirement;
  summarise(late, no_gaps, slo, 0, stages, first_token_factor);
  late.itl = result.itl;
  for (std::size_t i = 0; i < late.stages.size(); ++i) late.stages[i].itl = result.stages[i].itl;
  for (std::size_t i = 0; i < late.slo.size(); ++i) {
    if (late.slo[i].target.metric == LatencyMetric::itl) late.slo[i] = result.slo[i];
  }
  late.use = result.use;
  late.replicas = result.replicas;
  late.notes = result.notes;
  return late;
}

}  // namespace roofcast
