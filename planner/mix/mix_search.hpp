// Looks for a fleet of several pools, each of another kind of replica and behind a router by prompt
// length or request class, that costs less than the best of one kind: the capacity of one replica
// of each kind for each band of the load, an integer program (planner/mix/fleet_program.hpp), and
// its answers simulated and judged as any candidate is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "planner/search/candidate_figures.hpp"
#include "planner/search/plan_shapes.hpp"

namespace roofcast {

/// A pool of a mixed fleet.
struct MixPool {
  std::string name{};  // unique in the fleet
  Shape shape{};
  std::int32_t units = 1;  // replicas
  UnitNeeds needs{};       // of one replica
  double unit_objective = 0;
  PoolRoute route{};
  double share = 0;                       // of all requests
  double ttft_p95_s = 0, tpot_p95_s = 0;  // of its own requests, in the answer
  /// The targets over all requests, as its own requests meet or miss them: "p95 TTFT of l40s".
  std::vector<TargetMargin> targets{};
};

struct MixFindings {
  std::vector<MixPool> pools{};  // shorter prompts first; empty: no mix is better
  std::string why{};             // then: the reason
  CandidateFigures figures{};
  FinalistFigures finalist{};
  std::int64_t simulations = 0;
  bool stopped = false;  // cancelled; pools are then the best found before, complete
};

/// Why the load cannot be divided among pools; empty if it can.
std::string why_no_mix(const PlanCatalogue& catalogue, const SearchSpace& space);

/// `base` served by the pools; other parts as scenario_of() of a candidate.
Scenario scenario_of(const Scenario& base, const std::vector<MixPool>& pools);

/// The pools with the catalogue's load, ready to be simulated.
SimulationRun run_of(const PlanCatalogue& catalogue, const std::vector<MixPool>& pools);

/// A mix that holds (with the probability that the task asks for) and whose objective is below
/// `best`, that of the best candidate, infinity if there is none. The capacity of a replica is that
/// of a band alone, with every input of the simulation off by the quantile of that probability; as
/// several replicas carry more than several times one, and as percentiles over all bands may hold
/// where that of one does not, programs from 0.6 to 1.5 times the load are solved, and the first
/// whose solution holds is the answer, without the replicas that it can spare. Then the bands of
/// prompt lengths beside the pools' borders are cut finer, and the same is done again. Turns of a
/// session may change pools as its prompts grow, where they find nothing cached.
MixFindings find_mix(const PlanCatalogue& catalogue, const PlanTask& task, double best, int threads,
                     const Progress& progress);

}  // namespace roofcast
