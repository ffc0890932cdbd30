#include "simulator/results/saturation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "simulator/results/steady_state.hpp"

namespace roofcast {
namespace {

constexpr double kFirstServiceTimes = 2.0;  // service times before the window
constexpr double kFillTimes = 8.0;    // service times that the window lasts: with those before
                                      // it ten times what is in the system arrives
constexpr double kFirstShare = 0.1;   // share of the arrivals before the window
constexpr std::int64_t kFewest = 40;  // arrivals in a window

/// A request, or all turns of a session.
struct Visit {
  Nanoseconds arrival = 0;
  Nanoseconds end = 0;     // of the last turn; kNever: not finished
  Nanoseconds waited = 0;  // for the client's limit and in queues
  bool counts = true;      // served or still to be served, and in a reported stage

  Nanoseconds service() const { return end - arrival - waited; }
};

bool has_sessions(std::span<const RequestRecord> records) {
  return std::ranges::any_of(
      records, [](const RequestRecord& record) { return record.request.follows != kNoRequest; });
}

/// From a request's arrival to its end.
struct Stay {
  Nanoseconds arrival = 0;
  Nanoseconds end = 0;  // kNever: not finished
};

/// Visits and turns by which a backlog is counted.
struct Load {
  std::vector<Visit> visits{};  // in order of arrival
  /// Stays of the requests that sessions send: between them a session is not in the system. Empty
  /// without sessions, whose visits are their stays.
  std::vector<Stay> turns{};
};

Load load_of(const std::vector<RequestRecord>& records, std::span<const LoadStage> stages) {
  Load load;
  std::vector<Visit>& visits = load.visits;
  visits.reserve(records.size());
  std::vector<std::size_t> visit_of;  // by record, if there are sessions
  const bool sessions = has_sessions(records);
  if (sessions) visit_of.resize(records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    const RequestRecord& record = records[i];
    const RequestId before = record.request.follows;
    if (before == kNoRequest) visits.push_back({.arrival = record.request.arrival});
    const std::size_t index =
        before == kNoRequest ? visits.size() - 1 : visit_of[static_cast<std::size_t>(before)];
    if (sessions) visit_of[i] = index;
    Visit& visit = visits[index];
    if (record.rejected || record.lost || !is_reported(stages, record.request)) {
      visit.counts = false;
    }
    if (record.finished == kNever || visit.end == kNever) {
      visit.end = kNever;
      continue;
    }
    visit.end = std::max(visit.end, record.finished);
    visit.waited += record.scheduled - record.request.arrival;
  }
  for (std::size_t i = 0; i < visit_of.size(); ++i) {
    if (!visits[visit_of[i]].counts) continue;
    load.turns.push_back({.arrival = records[i].request.arrival, .end = records[i].finished});
  }
  std::erase_if(visits, [](const Visit& visit) { return !visit.counts; });
  const auto earlier = [](const Visit& a, const Visit& b) { return a.arrival < b.arrival; };
  if (!std::ranges::is_sorted(visits, earlier)) std::ranges::stable_sort(visits, earlier);
  return load;
}

/// Median over those that finished; 0 if none did.
Nanoseconds median_service(std::span<const Visit> visits) {
  std::vector<Nanoseconds> values;
  for (const Visit& visit : visits) {
    if (visit.end != kNever) values.push_back(visit.service());
  }
  if (values.empty()) return 0;
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// The arrivals that are judged.
struct Window {
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
  std::int64_t arrived = 0;
  std::int64_t finished = 0;
  std::vector<double> levels{};  // requests in the system, at kLevelSteps + 1 times
};

Window window_of(const Load& load, Nanoseconds service) {
  const std::vector<Visit>& visits = load.visits;
  Window window;
  if (visits.size() < 2) return window;
  const auto share = static_cast<std::size_t>(kFirstShare * static_cast<double>(visits.size()));
  const auto filling = static_cast<Nanoseconds>(kFirstServiceTimes * static_cast<double>(service));
  const Nanoseconds middle = visits[visits.size() / 2 - 1].arrival;
  window.begin =
      std::min(middle, std::max(visits[share].arrival, visits.front().arrival + filling));
  window.end = visits.back().arrival;
  if (window.end <= window.begin) return window;
  // Events by step: those before the window in the first place, those after it nowhere.
  std::vector<double> change(kLevelSteps + 1, 0);
  const double step =
      static_cast<double>(window.end - window.begin) / static_cast<double>(kLevelSteps);
  const auto count = [&](Nanoseconds time, double by) {
    if (time > window.end) return;
    const double steps = std::ceil(static_cast<double>(time - window.begin) / step);
    change[static_cast<std::size_t>(std::clamp(steps, 0.0, double{kLevelSteps}))] += by;
  };
  const auto stays = [&](const auto& stay) {
    count(stay.arrival, 1);
    if (stay.end != kNever) count(stay.end, -1);
  };
  for (const Stay& turn : load.turns) stays(turn);
  for (const Visit& visit : visits) {
    if (load.turns.empty()) stays(visit);
    if (visit.arrival > window.begin) ++window.arrived;
    if (visit.end > window.begin && visit.end <= window.end) ++window.finished;
  }
  double level = 0;
  for (const double by : change) window.levels.push_back(level += by);
  return window;
}

/// Mean over the last quarter.
double late_wait_s(std::span<const Visit> visits) {
  double sum = 0;
  std::int64_t count = 0;
  for (const Visit& visit : visits.last(visits.size() / 4)) {
    if (visit.end == kNever) continue;
    sum += to_seconds(visit.waited).value;
    ++count;
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

/// "62 % of the mean TTFT of 80 ms is prefill and host time, not queueing"
std::string where_ttft_goes(const SimulationResult& result, double queueing_share) {
  constexpr double kWorthSaying = 0.05;
  const double tokenizing = tokenizer_share(result);
  const Seconds mean{result.ttft.mean};
  std::string text;
  if (queueing_share >= kQueueingDominates) {
    text = fmt::format("{:.0f} % of the mean TTFT of {} is waiting in the queue",
                       100 * queueing_share, as_time(mean));
  } else if (tokenizing >= kQueueingDominates) {
    text = fmt::format("{:.0f} % of the mean TTFT of {} is waiting for the tokeniser",
                       100 * tokenizing, as_time(mean));
  } else if (tokenizing >= kWorthSaying) {
    text = fmt::format(
        "{:.0f} % of the mean TTFT of {} is prefill and host time, {:.0f} % waiting for the "
        "tokeniser and {:.0f} % in the queue",
        100 * (1 - queueing_share - tokenizing), as_time(mean), 100 * tokenizing,
        100 * queueing_share);
  } else {
    text = fmt::format("{:.0f} % of the mean TTFT of {} is prefill and host time, not queueing",
                       100 * (1 - queueing_share - tokenizing), as_time(mean));
  }
  if (result.client_queue.mean > result.queue.mean) {
    text += fmt::format("; the client's concurrency limit delays requests by {} on average",
                        as_time(Seconds{result.client_queue.mean}));
  }
  return text;
}

std::string percent_range(const ConfidenceInterval& interval) {
  return fmt::format("{:.1f} to {:.1f} %", 100 * interval.low, 100 * interval.high);
}

/// "grows by 5.6 to 11.4 % of what arrives", "may shrink by 10.7 % or grow by 11.4 % of what
/// arrives"
std::string growth_in_words(const ConfidenceInterval& growth) {
  const char* of = "of what arrives";
  if (growth.low >= 0) return fmt::format("grows by {} {}", percent_range(growth), of);
  if (growth.high > 0) {
    return fmt::format("may shrink by {:.1f} % or grow by {:.1f} % {}", -100 * growth.low,
                       100 * growth.high, of);
  }
  return fmt::format("shrinks by {} {}", percent_range({-growth.high, -growth.low}), of);
}

std::string verdict_in_words(const SimulationResult& result, const SaturationVerdict& verdict,
                             bool long_enough, const std::string& service) {
  const ConfidenceInterval& growth = *verdict.growth;
  if (verdict.saturated) {
    const bool at_client = result.client_queue.mean > result.queue.mean;
    return fmt::format("{}: the backlog grows for as long as the load lasts, by {} of what arrives",
                       at_client ? "throttled by the client's concurrency limit" : "saturated",
                       percent_range(growth));
  }
  constexpr double kShown = 0.0005;  // of which one decimal in percent shows something
  if (!verdict.undecided && growth.high < kShown) return "keeps up: the backlog does not grow";
  if (!verdict.undecided) {
    return fmt::format("keeps up: the backlog grows by at most {:.1f} % of what arrives",
                       100 * growth.high);
  }
  if (!long_enough) {
    return fmt::format("undecided: {}, so the arrivals end before the engine has filled", service);
  }
  return "undecided: the backlog " + growth_in_words(growth);
}

}  // namespace

SaturationVerdict judge_saturation(const SimulationResult& result,
                                   std::span<const LoadStage> stages) {
  SaturationVerdict verdict;
  if (result.stopped) {
    verdict.judged = false;
    verdict.finding = "stopped early: no statement about the load";
    return verdict;
  }
  if (result.completed == 0) {
    verdict.finding = "no request finished";
    return verdict;
  }
  if (result.ttft.mean > 0) verdict.queueing_share = result.queue.mean / result.ttft.mean;
  const std::string ttft = where_ttft_goes(result, verdict.queueing_share);
  const Load load = load_of(result.requests, stages);
  const std::vector<Visit>& visits = load.visits;
  const Nanoseconds service = median_service(visits);
  const Window window = window_of(load, service);
  if (window.arrived < 2) {
    const bool single = result.completed + result.rejected + result.lost + result.unfinished == 1;
    const bool at_once =
        result.offered_rate_per_s <= 0 || !std::isfinite(result.offered_rate_per_s);
    verdict.finding = single    ? "a single request has no rate"
                      : at_once ? "all requests arrive at once, so there is no rate"
                                : "too few requests arrive to speak of a rate";
    verdict.ttft = ttft;
    // A closed loop settles; a batch has no steady state to wait for.
    verdict.filled =
        result.client_queue.mean <= 0 ||
        result.makespan.value >= (kFirstServiceTimes + kFillTimes) * to_seconds(service).value;
    return verdict;
  }
  const double service_s = to_seconds(service).value;
  const double length_s = to_seconds(window.end - window.begin).value;
  const bool filled = length_s >= kFillTimes * service_s;
  const bool queues = late_wait_s(visits) >= service_s;
  const auto growth = backlog_growth(window.levels, static_cast<double>(window.arrived));
  verdict.growth = growth.interval;
  verdict.filled = filled;
  const bool enough = window.arrived >= kFewest;
  // A level that returns to its mean may step up with the rate of a trace, by less than lasts.
  const double least = growth.settles ? kSustainableGrowth : 0;
  verdict.saturated = enough && (filled || queues) && growth.interval.low > least;
  verdict.undecided =
      !verdict.saturated && !(enough && filled && growth.interval.high < kSustainableGrowth);
  const std::string what = has_sessions(result.requests) ? "session" : "request";
  verdict.finding =
      verdict_in_words(result, verdict, filled || queues,
                       fmt::format("a {} takes {}", what, as_time(Seconds{service_s})));
  verdict.counts = fmt::format("the last {} arrived within {}, in which {} finished",
                               counted(window.arrived, what), as_time(Seconds{length_s}),
                               counted(window.finished, what));
  // Beyond saturation TTFT is waiting, or will be.
  if (!verdict.saturated || verdict.queueing_share >= kQueueingDominates ||
      result.client_queue.mean > result.queue.mean) {
    verdict.ttft = ttft;
  }
  return verdict;
}

void settle_by_throughput(SaturationVerdict& verdict, double offered, double throughput) {
  if (!verdict.undecided && !verdict.saturated) return;
  if (!(throughput > offered * (1 + kSustainableGrowth))) return;
  verdict.undecided = false;
  verdict.saturated = false;
  if (!verdict.filled) verdict.growth.reset();  // of a window too short to say anything
  verdict.finding = fmt::format(
      "keeps up: {:.2f} requests/s are offered; sent all at once they are served at {:.2f} "
      "requests/s",
      offered, throughput);
}

std::string SaturationVerdict::reason() const {
  return finding + (counts.empty() ? "" : " (" + counts + ")") + (ttft.empty() ? "" : "; " + ttft);
}

}  // namespace roofcast
