#include "simulator/results/saturation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/wording.hpp"
#include "simulator/results/request_tally.hpp"

namespace roofcast {
namespace {

constexpr double kBacklogShare = 0.05;      // share of the arrivals in the window
constexpr double kBacklogNoise = 2.0;       // standard deviations of a Poisson count
constexpr double kFillTimes = 4.0;          // service times after which the engine has certainly
                                            // filled
constexpr double kQueueingDominates = 0.5;  // share of mean TTFT

/// The second half of the arrivals.
struct Window {
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
  std::int64_t arrived = 0;
  std::int64_t completed = 0;

  double backlog() const { return static_cast<double>(arrived - completed); }
};

/// Served or still to be served, and in a reported stage.
bool counts(const RequestRecord& record, std::span<const LoadStage> stages) {
  if (record.rejected || record.lost || !has_arrived(record)) return false;
  return is_reported(stages, record.request);
}

Window second_half(const std::vector<RequestRecord>& records, std::span<const LoadStage> stages) {
  std::vector<Nanoseconds> arrivals;
  arrivals.reserve(records.size());
  for (const RequestRecord& record : records) {
    if (counts(record, stages)) arrivals.push_back(record.request.arrival);
  }
  Window window;
  if (arrivals.size() < 2) return window;
  // Session turns are stored at their session's position, not in order of arrival.
  if (!std::is_sorted(arrivals.begin(), arrivals.end())) {
    std::sort(arrivals.begin(), arrivals.end());
  }
  window.begin = arrivals[arrivals.size() / 2 - 1];
  window.end = arrivals.back();
  window.arrived =
      arrivals.end() - std::upper_bound(arrivals.begin(), arrivals.end(), window.begin);
  for (const RequestRecord& record : records) {
    const bool inside = record.finished > window.begin && record.finished <= window.end;
    if (inside && counts(record, stages)) ++window.completed;
  }
  return window;
}

/// Wait for the engine or for the client's limit, averaged over the last quarter of the requests.
double late_wait_s(const std::vector<RequestRecord>& records, std::span<const LoadStage> stages) {
  double sum = 0;
  std::int64_t count = 0;
  for (std::size_t i = records.size() - records.size() / 4; i < records.size(); ++i) {
    const RequestRecord& record = records[i];
    if (record.scheduled == kNever || !counts(record, stages)) continue;
    sum += to_seconds(record.scheduled - record.request.arrival).value;
    ++count;
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

std::string where_ttft_goes(const SimulationResult& result, double queueing_share) {
  const bool queueing = queueing_share >= kQueueingDominates;
  std::string text = fmt::format(
      "{:.0f} % of the mean TTFT of {} is {}",
      100 * (queueing ? queueing_share : 1 - queueing_share), duration(result.ttft.mean),
      queueing ? "waiting in the queue" : "prefill and host time, not queueing");
  if (result.client_queue.mean > result.queue.mean) {
    text += fmt::format("; the client's concurrency limit delays requests by {} on average",
                        duration(result.client_queue.mean));
  }
  return text;
}

std::string verdict_in_words(const SimulationResult& result, bool backlog_grew, bool saturated,
                             double service_s) {
  if (saturated && result.client_queue.mean > result.queue.mean) {
    return "beyond the client's concurrency limit, where the backlog grows for as long as the load "
           "lasts";
  }
  if (saturated) return "beyond saturation, the backlog grows for as long as the load lasts";
  if (!backlog_grew) return "keeps up";
  return fmt::format(
      "too short to tell: arrivals end before the engine has filled (a request takes {})",
      duration(service_s));
}

}  // namespace

SaturationVerdict judge_saturation(const SimulationResult& result, double median_service_s,
                                   std::span<const LoadStage> stages) {
  SaturationVerdict verdict;
  if (result.stopped) {
    verdict.reason = "stopped early: no statement about the load";
    return verdict;
  }
  if (result.completed == 0) {
    verdict.reason = "no request finished";
    return verdict;
  }
  if (result.ttft.mean > 0) verdict.queueing_share = result.queue.mean / result.ttft.mean;
  const std::string ttft = where_ttft_goes(result, verdict.queueing_share);
  const Window window = second_half(result.requests, stages);
  if (window.arrived < 2) {
    const bool single = result.completed + result.rejected + result.lost + result.unfinished == 1;
    verdict.reason = (single ? "a single request has no rate; "
                             : "all requests arrive at once, so there is no rate; ") +
                     ttft;
    return verdict;
  }
  const auto arrived = static_cast<double>(window.arrived);
  const bool backlog_grew =
      window.backlog() > std::max(kBacklogShare * arrived, kBacklogNoise * std::sqrt(arrived));
  const double length = to_seconds(window.end - window.begin).value;
  const bool long_enough = length >= kFillTimes * median_service_s ||
                           late_wait_s(result.requests, stages) >= median_service_s;
  verdict.saturated = backlog_grew && long_enough;
  verdict.reason =
      fmt::format("{}: the last {} arrived within {}, in which {} finished; {}",
                  verdict_in_words(result, backlog_grew, verdict.saturated, median_service_s),
                  counted(window.arrived, "request"), duration(length),
                  counted(window.completed, "request"), ttft);
  return verdict;
}

}  // namespace roofcast
