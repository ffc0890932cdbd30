#include "simulator/simulate.hpp"

#include <algorithm>
#include <cassert>

#include "base/wording.hpp"
#include "simulator/cluster/cluster_admission.hpp"
#include "simulator/cluster/cluster_run.hpp"
#include "simulator/cluster/cluster_use.hpp"
#include "simulator/results/metrics.hpp"

namespace roofcast {
namespace {

std::vector<RequestRecord> records_of(const Workload& workload) {
  std::vector<RequestRecord> records;
  records.reserve(workload.requests.size());
  for (const Request& request : workload.requests) records.push_back({.request = request});
  return records;
}

std::size_t classes_of(const Workload& workload) {
  std::int32_t last = 0;
  for (const Request& request : workload.requests) last = std::max(last, request.slo_class);
  return static_cast<std::size_t>(last) + 1;
}

/// The time over which use is averaged: the makespan, plus any work on lost requests that outlasted
/// it.
Nanoseconds time_of_use(const SimulationResult& result, Nanoseconds end) {
  const Nanoseconds makespan = to_nanoseconds(result.whole_makespan);
  if (result.lost == 0) return makespan;
  return std::max(makespan, end - result.requests.front().request.arrival);
}

/// Replicas are reported separately if there are several or their number can change.
bool shows_replicas(const Cluster& cluster, const Fleet& fleet) {
  const bool scales = std::any_of(cluster.pools.begin(), cluster.pools.end(),
                                  [](const Pool& pool) { return pool.autoscaling.has_value(); });
  return fleet.replicas().size() > 1 || scales || !cluster.failures.empty();
}

/// Notes how many requests failures affected, and failures that had no effect.
void note_failures(SimulationResult& result, std::int64_t without_effect) {
  const auto retried = std::count_if(result.requests.begin(), result.requests.end(),
                                     [](const RequestRecord& record) { return record.retried; });
  if (retried > 0) {
    result.notes.push_back(
        counted(retried, "request") +
        " sent again after their replica failed: the lost time counts as queueing");
  }
  if (without_effect > 0) {
    result.notes.push_back(counted(without_effect, "failure") +
                           " hit no replica: it was not running, or the run was over");
  }
}

/// Notes the requests that were not served.
void note_unserved(SimulationResult& result) {
  if (result.lost > 0)
    result.notes.push_back(counted(result.lost, "request") +
                           " lost with their replica, or because none was left");
  if (result.unfinished > 0) {
    result.notes.push_back(counted(result.unfinished, "request") +
                           " unfinished when the run was stopped");
  }
}

}  // namespace

SimulationResult simulate(const Cluster& cluster, const Workload& workload,
                          const SimulationOptions& options) {
  assert(!options.max_concurrency || *options.max_concurrency > 0);
  check_cluster(cluster);
  SimulationResult result;
  result.requests = records_of(workload);
  const ClusterAdmission admission = admit(result.requests, cluster, workload.class_names);
  result.notes = admission.notes;
  const auto rejected = std::count_if(result.requests.begin(), result.requests.end(),
                                      [](const RequestRecord& record) { return record.rejected; });
  const auto to_serve = static_cast<std::int64_t>(result.requests.size()) - rejected;

  TokenGaps gaps(classes_of(workload), std::max<std::size_t>(1, workload.stages.size()));
  RequestTable table(result.requests, workload.contents);
  Fleet fleet(cluster, options.engine_kind, table, gaps);
  if (options.attach) options.attach(fleet.engine({}), table);
  fleet.record_in(options.levels);
  Client client(result.requests, options.max_concurrency);
  ClusterRun run(fleet, client, table, admission.refused);
  const auto report = [&](std::int64_t finished, std::int64_t total) {
    result.stopped = options.progress && !options.progress(finished, total);
    return !result.stopped;
  };
  const Nanoseconds end = run.run(to_serve, report);
  if (options.levels != nullptr) options.levels->end(end);

  if (shows_replicas(cluster, fleet)) result.replicas.resize(fleet.replicas().size());
  summarise(result, gaps, options.slo, end, workload.stages, options.first_token_factor);
  const Nanoseconds time = time_of_use(result, end);
  result.use = use_of_all(fleet, time, end);
  describe_replicas(fleet, time, end, result.replicas);
  note_failures(result, std::ssize(cluster.failures) - run.failures_hit());
  note_unserved(result);
  return result;
}

SimulationResult simulate(const Replica& replica, const Workload& workload,
                          const SimulationOptions& options) {
  Cluster cluster;
  cluster.pools.push_back({.replica = replica});
  return simulate(cluster, workload, options);
}

}  // namespace roofcast
