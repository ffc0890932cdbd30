// Counts over a group of requests, made in one pass. The tallies of two groups can be added.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "simulator/results/duration_histogram.hpp"
#include "simulator/results/result.hpp"
#include "simulator/results/slo.hpp"

namespace roofcast {

/// The parts of a request's life that are measured.
enum class LatencyPart { ttft, tpot, e2e, queue, client_queue, tokenizer_queue, service };
inline constexpr std::size_t kParts = 7;
inline constexpr std::array<LatencyPart, kParts> kAllParts = {
    LatencyPart::ttft,   LatencyPart::tpot,         LatencyPart::e2e,
    LatencyPart::queue,  LatencyPart::client_queue, LatencyPart::tokenizer_queue,
    LatencyPart::service};

/// The part that a limit on a metric is about; nothing for ITL, whose gaps are not by request.
std::optional<LatencyPart> part_of(LatencyMetric metric);

/// Mean gap between the tokens of a finished request, to the nearest nanosecond; 0 for one token.
inline Nanoseconds mean_gap(const RequestRecord& record) {
  const std::int64_t gaps = record.request.output_tokens - 1;
  if (gaps == 0) return 0;
  return (record.finished - record.first_token + gaps / 2) / gaps;
}

/// How long it took, as a benchmark collects it; nothing when the request did not finish, and no
/// TPOT of a single token. TPOT is rounded to the nanosecond. Service: from first being scheduled
/// to the last token.
inline std::optional<Nanoseconds> duration_of(const RequestRecord& record, LatencyPart part) {
  if (record.finished == kNever) return std::nullopt;
  switch (part) {
    case LatencyPart::ttft:
      return record.first_token - record.sent;
    case LatencyPart::tpot:
      if (record.request.output_tokens == 1) return std::nullopt;
      return mean_gap(record);
    case LatencyPart::e2e:
      return record.finished - record.sent;
    case LatencyPart::queue:
      return record.scheduled - record.queued;
    case LatencyPart::client_queue:
      return record.sent - record.request.arrival;
    case LatencyPart::tokenizer_queue:
      return record.tokenizer_wait;
    case LatencyPart::service:
      break;
  }
  return record.finished - record.scheduled;
}

/// One request's value for comparison with a limit; nullopt if it did not finish. TPOT of a single
/// token is 0, ITL is the longest gap.
std::optional<Nanoseconds> latency_of(const RequestRecord& record, LatencyMetric metric);

/// Whether it finished within every limit.
bool is_good(const RequestRecord& record, std::span<const GoodputLimit> limits);

/// End of a run that is not stopped.
inline constexpr Nanoseconds kEndless = std::numeric_limits<Nanoseconds>::max();

/// A request that follows another has not arrived until that one has finished.
inline bool has_arrived(const RequestRecord& record) {
  return record.request.follows == kNoRequest || record.sent != kNever;
}

struct RequestTally {
  Nanoseconds end = kEndless;  // when the run was stopped: later requests have not arrived
  std::int64_t requests = 0;
  std::int64_t arrived = 0;
  std::int64_t completed = 0;
  std::int64_t rejected = 0;
  std::int64_t lost = 0;
  std::int64_t good = 0;           // within every goodput limit
  std::int64_t input_tokens = 0;   // of completed requests
  std::int64_t output_tokens = 0;  // of completed requests
  Nanoseconds first_arrival = kNever;
  Nanoseconds last_arrival = kNever;
  std::int64_t starts = 0;     // that arrived and follow no other
  std::int64_t followers = 0;  // later turns of a session, arrived or not
  Nanoseconds first_start = kNever;
  Nanoseconds last_start = kNever;
  Nanoseconds last_finish = kNever;
  std::array<DurationHistogram, kParts> durations{};  // by LatencyPart

  /// Requests that have an outcome: served, or known never to be.
  std::int64_t answered() const { return completed + unserved(); }
  std::int64_t unserved() const { return rejected + lost; }
  std::int64_t unfinished() const { return requests - answered(); }
  const DurationHistogram& of(LatencyPart part) const {
    return durations[static_cast<std::size_t>(part)];
  }

  /// Arrivals of sessions (of requests, if none follows another) per second, from the first to the
  /// last; 0 if all come at once.
  double start_rate_per_s() const;
  /// The same times the requests that each start brings.
  double offered_rate_per_s() const;

  /// First arrival to last finish, or to `now` if some have not finished; 0 if there are no
  /// requests.
  Seconds makespan(Nanoseconds now) const;

  void add(const RequestRecord& record, std::span<const GoodputLimit> goodput);
  void add(const RequestTally& other);
  /// Adds the counts and times of the record, but not its token counts.
  void add_times(const RequestRecord& record);
};

}  // namespace roofcast
