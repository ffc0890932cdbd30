#include "planner/search/plan_catalogue.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "model/architecture/requantise.hpp"
#include "model/engines/engine.hpp"
#include "planner/scenario/prices.hpp"
#include "simulator/io/scenario_workload.hpp"
#include "simulator/simulate.hpp"

namespace roofcast {
namespace {

/// Values of a dimension, or the base's value if it is not searched.
std::vector<std::string> values_of(const SearchSpace& space, const std::string& key,
                                   const std::string& base) {
  for (const Knob& dimension : space.dimensions) {
    if (dimension.key == key) return dimension.values;
  }
  return {base};
}

void load_gpus(PlanCatalogue& catalogue, SearchSpace& space) {
  std::vector<std::string> names;
  for (const std::string& spelling : space.gpus) {
    GpuProfile profile = load_gpu(spelling);
    take_price(profile.gpu, spelling, catalogue.base.pricing);
    const std::string name = is_profile_path(spelling) ? spelling : profile.gpu.name;
    if (catalogue.gpus.emplace(name, std::move(profile)).second) names.push_back(name);
  }
  space.gpus = std::move(names);
}

void load_models(PlanCatalogue& catalogue, const SearchSpace& space) {
  const Transformer as_stored = load_model_as(catalogue.base.deployment.model, std::nullopt);
  const std::string base = space.base.weight_format.value_or("");
  for (const std::string& value : values_of(space, "quantization", base)) {
    const std::string format = value == "default" ? "" : value;
    Transformer model = as_stored;
    if (!format.empty()) requantise(model, format);
    catalogue.models.emplace(format, std::move(model));
  }
}

/// A misspelt engine is a usage error: otherwise its shapes would silently be left out.
void load_engines(PlanCatalogue& catalogue, const SearchSpace& space) {
  for (const std::string& engine : values_of(space, "engine", space.base.engine)) {
    EngineChoice choice = engine_choice(engine);
    try {
      find_preset(choice.preset);
    } catch (const Error& error) {
      throw UsageError(error.what());
    }
    catalogue.engines.emplace(engine, std::move(choice));
  }
}

}  // namespace

std::string gpu_key(const std::string& gpu) {
  return is_profile_path(gpu) ? gpu : load_gpu(gpu).gpu.name;
}

std::vector<std::string> priced_gpus() {
  std::vector<std::string> names;
  for (const std::string& name : gpu_names()) {
    if (load_gpu(name).gpu.price) names.push_back(name);
  }
  return names;
}

PlanCatalogue load_catalogue(const Scenario& base, SearchSpace& space, bool free_length) {
  PlanCatalogue catalogue{.base = base};
  load_gpus(catalogue, space);
  load_models(catalogue, space);
  load_engines(catalogue, space);
  catalogue.workload = load_workload(base);
  catalogue.growing = std::make_shared<const GrowingLoad>(base, catalogue.workload, free_length);
  if (!base.max_concurrency) catalogue.base.max_concurrency = catalogue.workload.recorded_limit;
  return catalogue;
}

Deployment deploy(const PlanCatalogue& catalogue, const Shape& shape) {
  const EngineChoice& engine = catalogue.engines.at(shape.engine);
  Deployment deployment =
      deploy(catalogue.models.at(shape.weight_format.value_or("")),
             catalogue.gpus.at(shape.gpu).gpu, shape.parallel, engine, shape.overrides);
  return as_started(std::move(deployment), engine, shape.overrides);
}

SimulationRun run_of(const PlanCatalogue& catalogue, const Candidate& candidate) {
  SimulationRun run;
  run.scenario = scenario_of(catalogue.base, candidate);
  run.workload = catalogue.workload;
  run.stopped = catalogue.stopped;
  run.pools.clear();
  const Deployment deployment = deploy(catalogue, candidate.shape);
  const MemoryPlan plan = plan_memory(deployment);
  for (const PoolScenario& pool : pools_of(run.scenario)) {
    run.pools.push_back({.name = pool.name,
                         .role = pool.role,
                         .replicas = pool.replicas,
                         .deployment = deployment,
                         .profile_hash = catalogue.gpus.at(candidate.shape.gpu).hash,
                         .plan = plan});
  }
  return run;
}

SimulationResult simulate_candidate(const SimulationRun& run) {
  const PoolStepTimes step_times = step_times_of(run);
  std::vector<const StepTime*> seams;
  for (const RooflineStepTime& times : step_times) seams.push_back(&times);
  return simulate(cluster_of(run.scenario, run.pools, seams), run.workload,
                  {.max_concurrency = run.scenario.max_concurrency,
                   .slo = run.scenario.slo,
                   .progress = ended_by(run, {})});
}

}  // namespace roofcast
