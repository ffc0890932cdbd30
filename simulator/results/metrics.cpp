#include "simulator/results/metrics.hpp"

#include <algorithm>
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
  const double span = to_seconds(tally.last_arrival - tally.first_arrival).value;
  if (span > 0) result.offered_rate_per_s = static_cast<double>(tally.arrived - 1) / span;
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

void judge_targets(SimulationResult& result, const TargetGroup& group, const TokenGaps& gaps,
                   const std::vector<PercentileTarget>& targets, const std::string& name) {
  for (std::size_t t = 0; t < targets.size(); ++t) {
    TargetOutcome outcome = outcome_of(targets[t], group.group, group.within[t], gaps);
    outcome.slo_class = name;
    if (result.stopped) outcome.met = false;
    result.slo.push_back(std::move(outcome));
  }
}

void judge_slo(SimulationResult& result, const RequestGroups& groups, const TokenGaps& gaps,
               const Slo& slo) {
  judge_targets(result, groups.whole, gaps, slo.targets, "all");
  for (std::size_t i = 0; i < slo.classes.size(); ++i) {
    judge_targets(result, groups.classes[i], gaps, slo.classes[i].targets, slo.classes[i].name);
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

double median_s(const Percentiles& values) {
  return values.count() == 0 ? 0 : *values.percentile(50);
}

}  // namespace

void summarise(SimulationResult& result, const TokenGaps& gaps, const Slo& slo, Nanoseconds now,
               std::span<const LoadStage> stages) {
  const Nanoseconds end = result.stopped ? now : kEndless;
  const RequestGroups groups = group_requests(result.requests, gaps, slo, stages, end);
  fill(result, groups.all, gaps, slo, now);
  result.unreported = static_cast<std::int64_t>(result.requests.size()) - groups.all.tally.requests;
  result.whole_makespan =
      result.unreported == 0 ? result.makespan : whole_makespan(result.requests, now, end);
  for (const StageGroup& stage : groups.stages) {
    StageResult by_itself;
    by_itself.name = stages[stage.index].name;
    fill(by_itself, stage.group, gaps, slo, now);
    result.stages.push_back(std::move(by_itself));
  }
  judge_slo(result, groups, gaps, slo);
  share_out(result.replicas, result.requests);
  result.saturation =
      judge_saturation(result, median_s(groups.all.of(LatencyPart::service)), stages);
}

}  // namespace roofcast
