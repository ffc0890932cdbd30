#include "reports/importers/request_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/error.hpp"
#include "reports/importers/metric_rows.hpp"

namespace roofcast {
namespace {

void shift(std::optional<double>& time, double by) {
  if (time) *time -= by;
}

void order_by_arrival(std::vector<RequestRow>& requests) {
  std::stable_sort(requests.begin(), requests.end(), [](const RequestRow& a, const RequestRow& b) {
    return a.arrival_s < b.arrival_s;
  });
  const double start = requests.front().arrival_s;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    RequestRow& request = requests[i];
    request.index = static_cast<std::int64_t>(i);
    request.arrival_s -= start;
    shift(request.sent_s, start);
    shift(request.scheduled_s, start);
    shift(request.first_token_s, start);
    shift(request.finished_s, start);
  }
}

/// Rows of a store must be finite.
void drop_unreal_times(RequestRow& request) {
  for (auto* time :
       {&request.sent_s, &request.scheduled_s, &request.first_token_s, &request.finished_s}) {
    if (*time && !std::isfinite(**time)) time->reset();
  }
}

struct Totals {
  double completed = 0, input_tokens = 0, output_tokens = 0;
  double makespan = 0;  // seconds
};

Totals totals_of(const std::vector<RequestRow>& requests) {
  Totals totals;
  for (const RequestRow& request : requests) {
    if (!request.finished_s) continue;
    totals.completed += 1;
    totals.input_tokens += static_cast<double>(request.input_tokens);
    totals.output_tokens += static_cast<double>(request.output_tokens);
    totals.makespan = std::max(totals.makespan, *request.finished_s);
  }
  return totals;
}

}  // namespace

void check_requests(MeasuredRun& run) {
  for (RequestRow& request : run.requests) {
    if (!std::isfinite(request.arrival_s)) {
      throw Error(run.origin + ": contains a request without an arrival time");
    }
    drop_unreal_times(request);
  }
}

void finish_request_run(MeasuredRun& run) {
  if (run.requests.empty()) throw Error(run.origin + ": contains no requests");
  check_requests(run);
  order_by_arrival(run.requests);
  const Totals totals = totals_of(run.requests);
  const auto count = static_cast<double>(run.requests.size());
  add_metric(run, "requests_completed", "value", totals.completed);
  add_metric(run, "requests_failed", "value", count - totals.completed);
  add_metric(run, "input_tokens", "value", totals.input_tokens);
  add_metric(run, "output_tokens", "value", totals.output_tokens);
  if (totals.makespan > 0) {
    add_metric(run, "makespan_s", "value", totals.makespan);
    add_metric(run, "request_rate_per_s", "value", totals.completed / totals.makespan);
    add_metric(run, "input_tokens_per_s", "value", totals.input_tokens / totals.makespan);
    add_metric(run, "output_tokens_per_s", "value", totals.output_tokens / totals.makespan);
  }
  const double sending = run.requests.back().arrival_s;
  if (sending > 0) add_metric(run, "offered_rate_per_s", "value", (count - 1) / sending);
  set_mean_lengths(run);
  add_request_metrics(run);
}

}  // namespace roofcast
