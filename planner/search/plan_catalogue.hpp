// Inputs of a plan's candidates, read once: GPUs, the model in each weight format, engines, and the
// load.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/io/gpu_reader.hpp"
#include "planner/scenario/simulation_run.hpp"
#include "planner/search/candidate.hpp"
#include "planner/search/search_space.hpp"
#include "planner/verdict/steady_run.hpp"

namespace roofcast {

struct PlanCatalogue {
  Scenario base{};                               // common to all candidates
  Workload workload{};                           // as many requests as are simulated first
  std::shared_ptr<const GrowingLoad> growing{};  // those, and more if their number is free
  std::map<std::string, GpuProfile> gpus{};      // keyed as Shape::gpu
  std::map<std::string, Transformer> models{};   // keyed by weight format; "": the checkpoint's own
  std::map<std::string, EngineChoice> engines{};  // keyed as Shape::engine
  std::function<bool()> stopped{};                // that of every run (SimulationRun::stopped)
};

/// The key of a GPU in Shape::gpu and in the limits of a plan: the path of a profile as written,
/// else the profile's name. Throws Error for an unknown GPU.
std::string gpu_key(const std::string& gpu);

/// Every built-in profile with a price.
std::vector<std::string> priced_gpus();

/// Reads everything that shapes of the space name. Replaces the space's GPUs by their profiles'
/// names without duplicates. Throws Error as the readers do, UsageError for an unknown engine.
/// `free_length`: more requests of the same load may be drawn.
PlanCatalogue load_catalogue(const Scenario& base, SearchSpace& space, bool free_length = false);

/// The shape as a deployment, as its engine starts (as_started). Reads no files. Throws Error if it
/// cannot run.
Deployment deploy(const PlanCatalogue& catalogue, const Shape& shape);

/// The candidate with its load, ready to be simulated.
SimulationRun run_of(const PlanCatalogue& catalogue, const Candidate& candidate);

/// Simulates `run` without accounting for the provenance of its steps. Thread-safe. Ends early with
/// a result to discard once run.stopped says so.
SimulationResult simulate_candidate(const SimulationRun& run);

}  // namespace roofcast
