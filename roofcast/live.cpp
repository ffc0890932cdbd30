#include "roofcast/live.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "planner/scenario/deployment_description.hpp"
#include "planner/scenario/simulation_run.hpp"
#include "simulator/cluster/front_end.hpp"
#include "simulator/engine/replica_engine.hpp"

namespace roofcast {
namespace {

using Clock = std::chrono::steady_clock;

/// A submitted request that has not reached the engine: its front end has it.
struct Delivery {
  Nanoseconds time = 0;
  RequestId id = 0;
};

/// A request in the engine, or on its way.
struct LiveState {
  LiveEngine::Id name = 0;
  LiveEngine::OnTokens on_tokens{};
  Nanoseconds submitted = 0;
  std::int64_t emitted = 0;
  bool cancelled = false;
};

/// The only pool of the scenario.
Cluster single_replica(const SimulationRun& run, const PoolStepTimes& times) {
  if (!run.refusal.empty()) throw Error(run.refusal);
  if (run.pools.size() != 1 || run.pools.front().replicas != 1) {
    throw Error("`replicas`: a live engine is a single replica of a single pool");
  }
  if (run.pools.front().deployment.parallel.data != 1) {
    throw Error("`data_parallel_size`: a live engine has no data-parallel ranks");
  }
  const std::vector<const StepTime*> of_pools = {&times.front()};
  return cluster_of(run.scenario, run.pools, of_pools);
}

/// Nothing is drawn: requests come from outside.
Scenario without_load(Scenario scenario) {
  scenario.workload = SyntheticWorkload{.num_prompts = 1};
  return scenario;
}

}  // namespace

struct LiveEngine::Impl {
  explicit Impl(const Scenario& scenario)
      : run(prepare_simulation(without_load(scenario))),
        times(run.refusal.empty() ? step_times_of(run) : PoolStepTimes{}),
        cluster(single_replica(run, times)),
        records(static_cast<std::size_t>(kMaxLive)),
        contents(static_cast<std::size_t>(kMaxLive)),
        table(records, contents),
        gaps(1),
        front_end(cluster.pools.front()),
        engine(make_replica_engine(EngineKind::plain, cluster.pools.front().replica, table, gaps)),
        states(static_cast<std::size_t>(kMaxLive)),
        began(Clock::now()) {
    for (std::int64_t i = kMaxLive; i > 0; --i) vacant.push_back(static_cast<RequestId>(i - 1));
    const PoolRun& pool = run.pools.front();
    facts = {.model = pool.deployment.model.name,
             .headline = headline(pool.deployment),
             .max_model_len = pool.deployment.engine.max_model_len,
             .kv_blocks = pool.plan.kv_blocks,
             .block_tokens = pool.deployment.engine.block_size};
    start_thread();
  }

  /// Signals are for the threads of the program.
  void start_thread() {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    thread = std::thread([this] { work(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  ~Impl() {
    {
      const std::lock_guard lock(mutex);
      ending = true;
    }
    changed.notify_one();
    thread.join();
  }

  Nanoseconds clock() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - began).count();
  }

  std::optional<Nanoseconds> next_event() const {
    std::optional<Nanoseconds> next = step_end ? step_end : wake;
    if (!deliveries.empty()) {
      next = std::min(next.value_or(deliveries.front().time), deliveries.front().time);
    }
    return next;
  }

  /// Handles events when their time has come, in simulated order.
  void work() {
    std::unique_lock lock(mutex);
    while (!ending) {
      const auto next = next_event();
      if (!next) {
        changed.wait(lock);
        continue;
      }
      if (clock() < *next) {
        changed.wait_until(lock, began + std::chrono::nanoseconds(*next));
        continue;
      }
      handle(*next);
    }
  }

  /// Ends a step before requests are delivered at the same time, as clusters do.
  void handle(Nanoseconds time) {
    now = std::max(now, time);
    if (step_end && *step_end <= now) end_step();
    while (!deliveries.empty() && deliveries.front().time <= now) {
      const RequestId id = deliveries.front().id;
      deliveries.pop_front();
      records[static_cast<std::size_t>(id)].queued = now;
      table.enter(id).waiting_since = now;
      inside.push_back(id);
      engine->enqueue(id);
    }
    if (step_end) return;
    step_end = engine->start_step(now);
    wake = step_end ? std::nullopt : engine->next_wake();
  }

  void end_step() {
    step_end.reset();
    const auto finished = engine->finish_step();
    for (const RequestId id : finished) tell(id, records[static_cast<std::size_t>(id)], true);
    for (const RequestId id : finished) {
      std::erase(inside, id);
      vacant.push_back(id);
    }
    // With hundreds of listeners the last ones wake some milliseconds late, which a first token
    // shows and a gap between tokens does not: first tokens go first.
    for (const bool first : {true, false}) {
      for (const RequestId id : inside) {
        const std::int64_t emitted = states[static_cast<std::size_t>(id)].emitted;
        if (table[id].streamed > emitted && (emitted == 0) == first) {
          tell(id, records[static_cast<std::size_t>(id)], false);
        }
      }
    }
  }

  void tell(RequestId id, const RequestRecord& record, bool finished) {
    LiveState& state = states[static_cast<std::size_t>(id)];
    state.emitted = finished ? record.request.output_tokens : table[id].streamed;
    if (finished) names.erase(state.name);
    if (state.cancelled || !state.on_tokens) return;
    state.on_tokens({.emitted = state.emitted,
                     .finished = finished,
                     .cached_tokens = record.cached_tokens,
                     .queued = record.scheduled - state.submitted,
                     .first_token = record.first_token - state.submitted,
                     .latest = now - state.submitted});
    if (finished) state.on_tokens = nullptr;
  }

  Id submit(const LiveRequest& request, OnTokens on_tokens) {
    if (request.input_tokens + request.output_tokens > facts.max_model_len) {
      throw Error(fmt::format("{} tokens given, expected at most {} (`max_model_len`)",
                              request.input_tokens + request.output_tokens, facts.max_model_len));
    }
    Id name = 0;
    {
      const std::lock_guard lock(mutex);
      if (vacant.empty()) throw Error(fmt::format("{} requests are in the engine", kMaxLive));
      const RequestId id = vacant.back();
      vacant.pop_back();
      const auto place = static_cast<std::size_t>(id);
      const Nanoseconds arrival = clock();
      contents[place] = {.content = request.shared_content, .tokens = request.shared_tokens};
      records[place] = {
          .request = {.arrival = arrival,
                      .input_tokens = request.input_tokens,
                      .output_tokens = request.output_tokens,
                      .max_tokens = request.max_tokens > 0 ? request.max_tokens : kNoMaxTokens,
                      .priority = request.priority,
                      .contents_begin = static_cast<std::uint32_t>(id),
                      .contents_count = request.shared_tokens > 0 ? 1u : 0u},
          .sent = arrival};
      name = ++last_name;
      states[place] = {.name = name, .on_tokens = std::move(on_tokens), .submitted = arrival};
      names[name] = id;
      const Delivery delivery{front_end.delivery(arrival, records[place].request).time, id};
      deliveries.insert(std::ranges::upper_bound(deliveries, delivery.time, {}, &Delivery::time),
                        delivery);
    }
    changed.notify_one();
    return name;
  }

  /// A request whose last token is already decided ends by itself.
  void cancel(Id name) {
    const std::lock_guard lock(mutex);
    const auto found = names.find(name);
    if (found == names.end()) return;
    const RequestId id = found->second;
    LiveState& state = states[static_cast<std::size_t>(id)];
    state.cancelled = true;
    RequestRecord& record = records[static_cast<std::size_t>(id)];
    if (std::ranges::find(inside, id) == inside.end()) {
      record.request.output_tokens = 1;  // on its way
      return;
    }
    RequestState& request = table[id];
    const std::int64_t last = request.generated + 1;
    if (last < request.output_tokens) request.output_tokens = record.request.output_tokens = last;
  }

  LiveFigures figures() const {
    const std::lock_guard lock(mutex);
    const EngineLoad load = engine->load();
    const EngineCounters& counters = engine->counters();
    return {.running = load.running,
            .waiting = load.waiting,
            .kv_cache_use = load.blocks_usable > 0 ? static_cast<double>(load.blocks_used) /
                                                         static_cast<double>(load.blocks_usable)
                                                   : 0,
            .preemptions = counters.preemptions,
            .prefix_queries = counters.prefix_queries,
            .prefix_hits = counters.prefix_hits};
  }

  SimulationRun run;
  PoolStepTimes times;
  Cluster cluster;
  LiveFacts facts{};

  mutable std::mutex mutex{};  // for all below
  std::condition_variable changed{};
  bool ending = false;
  std::vector<RequestRecord> records;  // by RequestId, which is used again
  std::vector<ContentSpan> contents;   // one of each
  RequestTable table;
  TokenGaps gaps;
  FrontEnd front_end;
  std::unique_ptr<ReplicaEngine> engine;
  std::vector<LiveState> states;
  std::vector<RequestId> vacant{};
  std::vector<RequestId> inside{};
  std::deque<Delivery> deliveries{};
  std::map<Id, RequestId> names{};
  Id last_name = 0;
  Nanoseconds now = 0;  // simulated; the clock is never behind it
  std::optional<Nanoseconds> step_end{};
  std::optional<Nanoseconds> wake{};
  Clock::time_point began;
  std::thread thread{};
};

LiveEngine::LiveEngine(const Scenario& scenario) : impl_(std::make_unique<Impl>(scenario)) {}
LiveEngine::~LiveEngine() = default;

const LiveFacts& LiveEngine::facts() const { return impl_->facts; }

LiveEngine::Id LiveEngine::submit(const LiveRequest& request, OnTokens on_tokens) {
  return impl_->submit(request, std::move(on_tokens));
}

void LiveEngine::cancel(Id id) { impl_->cancel(id); }

LiveFigures LiveEngine::figures() const { return impl_->figures(); }

}  // namespace roofcast
