// What the candidates of a plan are made of, read once: GPUs, the model in each weight format,
// engines, and the load.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/io/gpu_reader.hpp"
#include "planner/scenario_run.hpp"
#include "planner/search/candidate.hpp"
#include "planner/search/search_space.hpp"

namespace roofcast {

struct PlanCatalogue {
  Scenario base{};  // what all candidates share
  Workload workload{};
  std::map<std::string, GpuProfile> gpus{};       // by name or path, as Shape::gpu
  std::map<std::string, Transformer> models{};    // by weight format; "": the checkpoint's own
  std::map<std::string, EngineChoice> engines{};  // by Shape::engine
};

/// The name under which a GPU stands in Shape::gpu and in the limits of a plan: the path of a
/// profile as it is written, the name of any other. Throws Error for a GPU that is not known.
std::string gpu_key(const std::string& gpu);

/// Every built-in profile with a price.
std::vector<std::string> priced_gpus();

/// Reads everything that shapes of the space name. The space's GPUs get the names of their
/// profiles; one that is named twice stays once. Throws Error as the readers do, UsageError for an
/// engine that is not known.
PlanCatalogue load_catalogue(const Scenario& base, SearchSpace& space);

/// The shape as it would be deployed. Reads nothing. Throws Error where it cannot run.
Deployment deploy(const PlanCatalogue& catalogue, const Shape& shape);

/// The candidate with its load, ready to be simulated.
SimulationRun run_of(const PlanCatalogue& catalogue, const Candidate& candidate);

/// `run` simulated without the account of what its steps rest on. Safe from several threads.
SimulationResult simulate_candidate(const SimulationRun& run);

}  // namespace roofcast
