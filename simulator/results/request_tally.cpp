#include "simulator/results/request_tally.hpp"

#include <algorithm>

namespace roofcast {
namespace {

/// The earlier of two times, either of which may be kNever.
Nanoseconds earlier(Nanoseconds a, Nanoseconds b) {
  if (a == kNever || b == kNever) return std::max(a, b);
  return std::min(a, b);
}

}  // namespace

std::optional<LatencyPart> part_of(LatencyMetric metric) {
  switch (metric) {
    case LatencyMetric::ttft:
      return LatencyPart::ttft;
    case LatencyMetric::tpot:
      return LatencyPart::tpot;
    case LatencyMetric::itl:
      return std::nullopt;
    case LatencyMetric::e2e:
      break;
  }
  return LatencyPart::e2e;
}

std::optional<Nanoseconds> latency_of(const RequestRecord& record, LatencyMetric metric) {
  if (record.finished == kNever) return std::nullopt;
  const std::optional<LatencyPart> part = part_of(metric);
  // Without a part: ITL. Without a duration: TPOT of a single token.
  return part ? duration_of(record, *part).value_or(0) : record.largest_gap;
}

bool is_good(const RequestRecord& record, std::span<const GoodputLimit> limits) {
  return std::all_of(limits.begin(), limits.end(), [&](const GoodputLimit& limit) {
    const auto value = latency_of(record, limit.metric);
    return value && to_seconds(*value).value <= limit.limit.value;
  });
}

Seconds RequestTally::makespan(Nanoseconds now) const {
  if (arrived == 0) return Seconds{0};
  Nanoseconds last = std::max(first_arrival, last_finish);
  if (unfinished() > 0) last = std::max(last, now);
  return to_seconds(last - first_arrival);
}

double RequestTally::start_rate_per_s() const {
  const double span = starts < 2 ? 0 : to_seconds(last_start - first_start).value;
  return span > 0 ? static_cast<double>(starts - 1) / span : 0;
}

double RequestTally::offered_rate_per_s() const {
  if (followers == 0) return start_rate_per_s();
  const auto all = static_cast<double>(requests);
  return start_rate_per_s() * all / static_cast<double>(requests - followers);
}

void RequestTally::add_times(const RequestRecord& record) {
  ++requests;
  if (has_arrived(record) && record.request.arrival <= end) {
    ++arrived;
    first_arrival = earlier(first_arrival, record.request.arrival);
    last_arrival = std::max(last_arrival, record.request.arrival);
    if (record.request.follows == kNoRequest) {
      ++starts;
      first_start = earlier(first_start, record.request.arrival);
      last_start = std::max(last_start, record.request.arrival);
    }
  }
  if (record.request.follows != kNoRequest) ++followers;
  if (record.rejected) ++rejected;
  if (record.lost) ++lost;
  if (record.finished == kNever) return;
  ++completed;
  last_finish = std::max(last_finish, record.finished);
}

void RequestTally::add(const RequestRecord& record, std::span<const GoodputLimit> goodput) {
  add_times(record);
  if (record.finished == kNever) return;
  input_tokens += record.request.input_tokens;
  output_tokens += record.request.output_tokens;
  if (!goodput.empty() && is_good(record, goodput)) ++good;
  for (const LatencyPart part : kAllParts) {
    const auto duration = duration_of(record, part);
    if (duration) durations[static_cast<std::size_t>(part)].add(*duration);
  }
}

void RequestTally::add(const RequestTally& other) {
  requests += other.requests;
  arrived += other.arrived;
  completed += other.completed;
  rejected += other.rejected;
  lost += other.lost;
  good += other.good;
  input_tokens += other.input_tokens;
  output_tokens += other.output_tokens;
  first_arrival = earlier(first_arrival, other.first_arrival);
  last_arrival = std::max(last_arrival, other.last_arrival);
  starts += other.starts;
  followers += other.followers;
  first_start = earlier(first_start, other.first_start);
  last_start = std::max(last_start, other.last_start);
  last_finish = std::max(last_finish, other.last_finish);
  for (std::size_t part = 0; part < kParts; ++part) durations[part].add(other.durations[part]);
}

}  // namespace roofcast
