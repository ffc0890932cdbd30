#include "simulator/simulate.hpp"

#include <algorithm>
#include <cassert>

#include "simulator/engine/admission.hpp"
#include "simulator/results/metrics.hpp"
#include "simulator/wording.hpp"
#include "simulator/workload/client.hpp"

namespace roofcast {
namespace {

constexpr std::int64_t kStepsBetweenReports = 4096;

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

/// Client and engine until all requests are served; returns when. Each turn of the loop is one
/// step, or a jump to the next request when there is nothing to run.
Nanoseconds run(Client& client, ReplicaEngine& engine, RequestTable& table, std::int64_t total,
                const SimulationOptions& options) {
  Nanoseconds now = 0;
  std::int64_t finished = 0;
  while (true) {
    client.send_until(now);
    while (const auto id = client.take_delivered(now)) {
      table.enter(*id);
      engine.enqueue(*id);
    }
    const auto step_end = engine.start_step(now);
    if (!step_end) {
      const auto next = client.next_delivery();
      if (!next) return now;
      now = std::max(now, *next);
      continue;
    }
    client.send_until(*step_end);
    const std::int64_t newly_finished = std::ssize(engine.finish_step());
    client.release(newly_finished, *step_end);
    finished += newly_finished;
    now = *step_end;
    const bool report = engine.counters().steps % kStepsBetweenReports == 0;
    if (report && options.progress && !options.progress(finished, total)) return now;
  }
}

}  // namespace

SimulationResult simulate(const Replica& replica, const Workload& workload,
                          const SimulationOptions& options) {
  assert(!options.max_concurrency || *options.max_concurrency > 0);
  assert(std::is_sorted(workload.requests.begin(), workload.requests.end(),
                        [](const Request& a, const Request& b) { return a.arrival < b.arrival; }));
  SimulationResult result;
  result.requests = records_of(workload);
  result.notes = reject_impossible(result.requests, replica);
  const auto rejected = std::count_if(result.requests.begin(), result.requests.end(),
                                      [](const RequestRecord& record) { return record.rejected; });
  const auto to_serve = static_cast<std::int64_t>(result.requests.size()) - rejected;

  TokenGaps gaps(classes_of(workload), std::max<std::size_t>(1, workload.stages.size()));
  RequestTable table(result.requests, workload.contents);
  const auto engine = make_replica_engine(options.engine_kind, replica, table, gaps);
  Client client(result.requests, options.max_concurrency,
                to_nanoseconds(replica.engine.host.per_request));
  const Nanoseconds end = run(client, *engine, table, to_serve, options);

  summarise(result, gaps, options.slo, end, workload.stages);
  result.use =
      engine_use(engine->counters(), engine->load().blocks_usable, to_nanoseconds(result.makespan));
  if (result.unfinished > 0) {
    result.notes.push_back(counted(result.unfinished, "request") +
                           " had not finished when the run was stopped");
  }
  return result;
}

}  // namespace roofcast
