#include "simulator/results/metrics.hpp"

#include <algorithm>

#include "simulator/results/sample.hpp"
#include "simulator/results/saturation.hpp"

namespace roofcast {
namespace {

double seconds_between(Nanoseconds from, Nanoseconds to) { return to_seconds(to - from).value; }

/// What a benchmark collects of a request: as latency_of, but single-token outputs have no TPOT.
std::optional<double> benchmark_value(const RequestRecord& record, LatencyMetric metric) {
  if (metric == LatencyMetric::tpot && record.request.output_tokens == 1) return std::nullopt;
  return latency_of(record, metric);
}

/// The values of all records that have one.
template <class Value>
Sample sample_of(const std::vector<RequestRecord>& records, Value value) {
  std::vector<double> values;
  values.reserve(records.size());
  for (const RequestRecord& record : records) {
    const std::optional<double> v = value(record);
    if (v) values.push_back(*v);
  }
  return Sample(values);
}

Sample latency_sample(const std::vector<RequestRecord>& records, LatencyMetric metric) {
  return sample_of(records, [&](const RequestRecord& r) { return benchmark_value(r, metric); });
}

bool is_good(const RequestRecord& record, const std::vector<GoodputLimit>& limits) {
  return std::all_of(limits.begin(), limits.end(), [&](const GoodputLimit& limit) {
    const auto value = latency_of(record, limit.metric);
    return value && *value <= limit.limit.value;
  });
}

/// Of a whole run: counts, the time from first arrival to last finish, and rates over it.
void count(SimulationResult& result, Nanoseconds now) {
  if (result.requests.empty()) return;
  const Nanoseconds first = result.requests.front().request.arrival;
  Nanoseconds last_arrival = first;
  Nanoseconds last_finish = first;
  double input_tokens = 0, output_tokens = 0;
  for (const RequestRecord& record : result.requests) {
    last_arrival = std::max(last_arrival, record.request.arrival);
    if (record.rejected) ++result.rejected;
    if (record.finished == kNever) continue;
    ++result.completed;
    last_finish = std::max(last_finish, record.finished);
    input_tokens += static_cast<double>(record.request.input_tokens);
    output_tokens += static_cast<double>(record.request.output_tokens);
  }
  const auto total = static_cast<std::int64_t>(result.requests.size());
  result.unfinished = total - result.completed - result.rejected;
  if (result.unfinished > 0) last_finish = std::max(last_finish, now);
  result.makespan = to_seconds(last_finish - first);
  const double span = seconds_between(first, last_arrival);
  if (span > 0) result.offered_rate_per_s = static_cast<double>(total - 1) / span;
  if (result.makespan.value <= 0) return;
  result.request_rate_per_s = static_cast<double>(result.completed) / result.makespan.value;
  result.input_tokens_per_s = input_tokens / result.makespan.value;
  result.output_tokens_per_s = output_tokens / result.makespan.value;
}

void measure(SimulationResult& result, const TokenGaps& gaps) {
  const auto& records = result.requests;
  result.ttft = distribution_of(latency_sample(records, LatencyMetric::ttft));
  result.tpot = distribution_of(latency_sample(records, LatencyMetric::tpot));
  result.itl = distribution_of(Sample(gaps.all()));
  result.e2e = distribution_of(latency_sample(records, LatencyMetric::e2e));
  auto finished_only = [&](auto value) {
    return sample_of(records, [&](const RequestRecord& r) {
      return r.finished == kNever ? std::nullopt : std::optional<double>(value(r));
    });
  };
  result.queue = distribution_of(
      finished_only([](const RequestRecord& r) { return seconds_between(r.queued, r.scheduled); }));
  result.client_queue = distribution_of(finished_only(
      [](const RequestRecord& r) { return seconds_between(r.request.arrival, r.sent); }));
}

void count_goodput(SimulationResult& result, const std::vector<GoodputLimit>& limits) {
  if (limits.empty()) return;
  const auto good = static_cast<double>(
      std::count_if(result.requests.begin(), result.requests.end(),
                    [&](const RequestRecord& r) { return is_good(r, limits); }));
  const auto answered = static_cast<double>(result.completed + result.rejected);
  result.goodput_share = answered > 0 ? good / answered : 0.0;
  result.goodput_per_s = result.makespan.value > 0 ? good / result.makespan.value : 0.0;
}

/// The requests of one class that were answered, rejections apart.
struct ClassRecords {
  std::vector<RequestRecord> completed;
  std::int64_t rejected = 0;
};

ClassRecords records_of_class(const std::vector<RequestRecord>& records, std::size_t slo_class) {
  ClassRecords result;
  for (const RequestRecord& record : records) {
    if (static_cast<std::size_t>(record.request.slo_class) != slo_class) continue;
    if (record.rejected) ++result.rejected;
    if (record.finished != kNever) result.completed.push_back(record);
  }
  return result;
}

TargetOutcome outcome_of(const PercentileTarget& target, const ClassRecords& records,
                         const std::vector<GapCount>& gaps) {
  TargetOutcome outcome;
  outcome.target = target;
  outcome.requests = static_cast<std::int64_t>(records.completed.size()) + records.rejected;
  if (outcome.requests == 0) return outcome;
  const GoodputLimit limit{.metric = target.metric, .limit = target.limit};
  const auto within = std::count_if(records.completed.begin(), records.completed.end(),
                                    [&](const RequestRecord& r) { return is_good(r, {limit}); });
  outcome.attainment = static_cast<double>(within) / static_cast<double>(outcome.requests);
  const Sample sample = target.metric == LatencyMetric::itl
                            ? Sample(gaps)
                            : latency_sample(records.completed, target.metric);
  if (sample.count() == 0) {
    // Nothing to measure: single-token outputs have no TPOT or ITL, rejected requests nothing.
    outcome.met = records.rejected == 0;
    return outcome;
  }
  const auto value = sample.percentile(target.percentile, records.rejected);
  outcome.achieved = value.value_or(sample.max());
  outcome.met = value && *value <= target.limit.value;
  return outcome;
}

void judge_slo(SimulationResult& result, const TokenGaps& gaps, const Slo& slo) {
  for (std::size_t i = 0; i < slo.classes.size(); ++i) {
    const ClassRecords records = records_of_class(result.requests, i);
    for (const PercentileTarget& target : slo.classes[i].targets) {
      TargetOutcome outcome = outcome_of(target, records, gaps.of_class(i));
      outcome.slo_class = slo.classes[i].name;
      result.slo.push_back(std::move(outcome));
    }
  }
}

}  // namespace

std::optional<double> latency_of(const RequestRecord& record, LatencyMetric metric) {
  if (record.finished == kNever) return std::nullopt;
  switch (metric) {
    case LatencyMetric::ttft:
      return seconds_between(record.sent, record.first_token);
    case LatencyMetric::tpot:
      break;
    case LatencyMetric::itl:
      return to_seconds(record.largest_gap).value;
    case LatencyMetric::e2e:
      return seconds_between(record.sent, record.finished);
  }
  const std::int64_t gaps = record.request.output_tokens - 1;
  if (gaps == 0) return 0.0;
  return seconds_between(record.first_token, record.finished) / static_cast<double>(gaps);
}

void summarise(SimulationResult& result, const TokenGaps& gaps, const Slo& slo, Nanoseconds now) {
  count(result, now);
  measure(result, gaps);
  count_goodput(result, slo.goodput);
  judge_slo(result, gaps, slo);
  result.saturation = judge_saturation(result);
}

}  // namespace roofcast
