// Simulations that last until their verdict stands: the one rule for how many requests answer a
// question, for every command.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "planner/scenario/simulation_run.hpp"
#include "simulator/results/verdict.hpp"

namespace roofcast {

/// Arrivals of a synthetic load whose number is free: it starts with the first, and is doubled
/// until the verdict stands or the limit is reached. Every question passes through the same
/// lengths, so that a verdict which stands early is the same in all of them; one that a search
/// leaves undecided may stand in a longer run.
struct ArrivalLimits {
  std::int64_t first = 2'000;    // 100 lie beyond the 95th percentile
  std::int64_t search = 16'000;  // in searches
  std::int64_t one = 128'000;    // for one answer
};
inline constexpr ArrivalLimits kRequestLimits{};
/// Of sessions, each of which brings several requests.
inline constexpr ArrivalLimits kSessionLimits{.first = 500, .search = 16'000, .one = 16'000};
/// Beyond this, sessions are not doubled: with twenty turns 2,000 of them bring 40,000 requests.
inline constexpr std::int64_t kMostSessionRequests = 64'000;

/// With how many arrivals the scenario's load starts: ArrivalLimits::first.
std::int64_t first_arrivals(const Scenario& scenario);

/// Whether more of the same requests may be drawn: a synthetic load at a steady rate or in a closed
/// loop, whose questions are not counted.
bool may_grow(const Scenario& scenario);

/// Sets the number of arrivals. Precondition: the load is synthetic.
void set_arrivals(Scenario& scenario, std::int64_t arrivals);

/// Whether the requests are a sample of a longer load (SloRequirement::sample).
bool is_sample(const Scenario& scenario);

/// The requests of a scenario, as drawn first and of any greater number. Thread-safe.
class GrowingLoad {
 public:
  /// `grows`: their number is free, and is that of ArrivalLimits::first.
  GrowingLoad(Scenario scenario, Workload first, bool grows);

  bool grows() const { return grows_; }
  const Scenario& scenario() const { return scenario_; }
  std::int64_t first() const;
  /// Those of its arrivals: of sessions with many turns fewer (kMostSessionRequests).
  ArrivalLimits limits() const;
  /// `arrivals` must be in ArrivalLimits' series (first, twice that, and so on); a load that does
  /// not grow always returns the first.
  std::shared_ptr<const Workload> of(std::int64_t arrivals) const;

 private:
  Scenario scenario_;
  bool grows_ = false;
  mutable std::mutex mutex_;
  mutable std::map<std::int64_t, std::shared_ptr<const Workload>> drawn_;
};

/// Throughput of all requests at once, requests/s, by arrivals: the same at every rate of a search.
/// Thread-safe.
class KnownThroughput {
 public:
  std::optional<double> of(std::int64_t requests) const;
  void set(std::int64_t requests, double per_s);

 private:
  mutable std::mutex mutex_;
  std::map<std::int64_t, double> known_;
};

/// What is simulated, and how far.
struct SteadyQuestion {
  const GrowingLoad* load = nullptr;  // null: the run's own requests
  double factor = 1;                  // on the rate of its arrivals
  std::int64_t most = 0;              // arrivals; see ArrivalLimits
  SloRequirement requirement{};
  KnownThroughput* throughput = nullptr;  // of the same pools; null: found for each run
};

/// Fills in run.result.
using SimulateRun = std::function<void(SimulationRun&)>;

/// The verdict on a run that has been simulated. Where only the backlog leaves it undecided, one
/// simulation with all requests at once decides by their throughput (settle_by_throughput).
SloVerdict settled_verdict(SimulationRun& run, const SloRequirement& requirement,
                           KnownThroughput* throughput = nullptr);

/// Simulates `run` with the load's first requests, then with twice as many until its verdict stands
/// or `most` is reached (settled_verdict). Leaves the last workload and result in `run`. A run that
/// was stopped is not judged further.
SloVerdict simulate_until_decided(SimulationRun& run, const SteadyQuestion& question,
                                  const SimulateRun& simulate);

/// The same of a run that has been simulated with some of ArrivalLimits' series: from there on.
SloVerdict lengthen_until_decided(SimulationRun& run, const SteadyQuestion& question,
                                  const SimulateRun& simulate);

}  // namespace roofcast
