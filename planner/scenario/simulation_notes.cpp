#include "planner/scenario/simulation_notes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "model/engines/engine_version.hpp"
#include "model/step/carried_time.hpp"
#include "model/step/error_causes.hpp"
#include "model/step/version_terms.hpp"
#include "planner/scenario/resolve_deployment.hpp"
#include "planner/scenario/step_description.hpp"
#include "simulator/engine/batching_policy.hpp"

namespace roofcast {
namespace {

const char* describe_basis(VersionBasis basis) {
  switch (basis) {
    case VersionBasis::fastest:
      break;
    case VersionBasis::slower_kernels:
      return "slower kernels of this version that are on record are counted, others are not";
    case VersionBasis::nearest:
      return "the answer is that of the nearest version that is known";
  }
  return "the answer stands for the fastest";
}

/// How far servers of the engine's single versions are off, where that is known to matter.
void note_version(std::vector<std::string>& notes, const std::string& whose,
                  const Deployment& deployment) {
  const double version = version_deviation(deployment);
  if (version <= 0) return;
  const VersionBasis basis = version_basis(deployment);
  notes.push_back(
      fmt::format("{}{}: a further ±{} of step times (one standard deviation), as far as {} on {} "
                  "GPUs; {}",
                  whose, kVersionCause, as_percent(version, 0),
                  basis == VersionBasis::nearest ? "versions have differed"
                                                 : "servers of single versions were off",
                  deployment.gpu.vendor, describe_basis(basis)));
}

/// How far servers of such models were off, which is much of what is not known of them.
void note_model(std::vector<std::string>& notes, const std::string& whose,
                const Deployment& deployment) {
  const double model = model_deviation(deployment);
  if (model <= 0) return;
  notes.push_back(fmt::format(
      "{}of this ±{}, as far as this engine's servers of models that are neither dense nor "
      "DeepSeek-V3 or R1 were off",
      whose, as_percent(model, 0)));
}

/// "pool X: ", if there are several.
std::string prefix_of(const SimulationRun& run, const PoolRun& pool) {
  return run.pools.size() > 1 ? "pool " + pool.name + ": " : "";
}

/// States how precise a pool's numbers are.
void note_precision(std::vector<std::string>& notes, const SimulationRun& run, const PoolRun& pool,
                    const StepEstimate& steps) {
  const std::string whose = prefix_of(run, pool);
  const Gpu& gpu = pool.deployment.gpu;
  const bool tables = gpu.has_tables_for(pool.deployment.engine.version);
  const char* source = gpu.measured ? "from a calibrated profile"
                       : tables     ? "from measured kernels"
                                    : "roofline";
  if (steps.total.value > 0) {  // else nothing was served
    notes.push_back(fmt::format("{}step times: {}, {} of the time; ±{} (one standard deviation)",
                                whose, source, describe_provenance(steps),
                                as_percent(pool.step_uncertainty, 0)));
    note_model(notes, whose, pool.deployment);
    note_version(notes, whose, pool.deployment);
  }
  notes.push_back(
      fmt::format("{}KV capacity: ±{}", whose, as_percent(pool.plan.relative_uncertainty)));
}

/// Where an engine started with a cache smaller than the model's context.
void note_context(std::vector<std::string>& notes, const SimulationRun& run, std::size_t pool) {
  const std::optional<std::int64_t> longest = shortened_length(run, pool);
  if (!longest) return;
  const Deployment& deployment = run.pools[pool].deployment;
  notes.push_back(
      fmt::format("{}{} accepts requests of up to {}, prompt and output, which its KV cache holds; "
                  "the model takes {}",
                  prefix_of(run, run.pools[pool]), engine_title(deployment.engine),
                  counted(*longest, "token"), with_separators(deployment.model.max_context)));
}

/// What a profile leaves open.
void note_profile(std::vector<std::string>& notes, const PoolRun& pool) {
  const Gpu& gpu = pool.deployment.gpu;
  if (!gpu.assumed.empty()) {
    notes.push_back(fmt::format("{}: the profile leaves out {}; assumed values are used",
                                gpu.display_name, fmt::join(gpu.assumed, ", ")));
  }
  if (gpu.untimed_chip) {
    notes.push_back(fmt::format(
        "{}: nothing was timed on this chip; shares of its datasheet that kernels reach "
        "are those of others: a further ±{} (one standard deviation)",
        gpu.display_name, as_percent(kOtherChipDeviation, 0)));
  }
  if (gpu.sister && !gpu.sister->same_chip) {
    notes.push_back(
        fmt::format("{}: kernel times are carried over from {}, another chip by its facts: a "
                    "further ±{} (one standard deviation)",
                    gpu.display_name, gpu.sister->name, as_percent(kOtherChipDeviation, 0)));
  }
}

/// bf16 checkpoints on cards without it: planner/scenario/resolve_deployment.cpp says how engines
/// run them.
void note_formats(std::vector<std::string>& notes, const PoolRun& pool) {
  const Gpu& gpu = pool.deployment.gpu;
  if (is_cpu(gpu) || gpu.dense_peak.contains(DType::bf16)) return;
  notes.push_back(gpu.display_name + " has no bf16: such weights run as fp16");
}

/// How far the watts can be trusted (docs/accuracy.md, "Power"), once for pools of which the same
/// is to be said. A profile with active power says itself where it is from.
void note_power(std::vector<std::string>& notes, const PoolRun& pool) {
  if (!pool.step_energy) return;
  const Gpu& gpu = pool.deployment.gpu;
  std::string note =
      "watts: from datasheets and the literature, not verified on this GPU; on MI355X measured "
      "power was twice such estimates";
  if (gpu.power.active) {
    const auto source = gpu.sources.find("power.active_w");
    note = source == gpu.sources.end()
               ? "watts: from the profile's `power.active_w`, which has no source"
               : "watts: from the profile's `power.active_w`, " + source->second;
  }
  if (std::ranges::find(notes, note) == notes.end()) notes.push_back(std::move(note));
}

std::string describe_link(const KvLink& link) {
  const std::string rate =
      fmt::format("KV transfers run at {:g} GB/s per GPU", link.bandwidth.value / 1e9);
  if (link.name.empty()) return rate + ", as given";
  return fmt::format("{}, the peak of {}; real networks reach less", rate, link.name);
}

/// What a request waits for until K and V may be sent, once for pools of which the same is to be
/// said. A profile of the user's own states its source itself.
void note_handovers(std::vector<std::string>& notes, const Scenario& scenario,
                    std::span<const PoolScenario> named, std::span<const PoolRun> pools) {
  for (std::size_t i = 0; i < named.size(); ++i) {
    const Engine& engine = pools[i].deployment.engine;
    if (named[i].role != PoolRole::decode || engine.host.handover.value <= 0) continue;
    const auto profile = engine_choice(engine_name(deployment_options(scenario, named[i]))).profile;
    const bool stated = profile && std::ranges::any_of(profile->host, [](const auto& value) {
                          return value.term->member == &HostOverhead::handover;
                        });
    std::string note = fmt::format(
        "prefill and decode replicas of {} take {} to agree where a request's K and V go "
        "(handover_s), {}",
        engine_title(engine), as_time(engine.host.handover),
        stated ? "as its profile says" : "from runs of DeepSeek-R1, carried over to other models");
    if (std::ranges::find(notes, note) == notes.end()) notes.push_back(std::move(note));
  }
}

/// Notes on what the numbers for several replicas assume and leave out.
std::vector<std::string> notes_on_cluster(const Scenario& scenario,
                                          std::span<const PoolRun> pools) {
  std::vector<std::string> notes;
  const std::vector<PoolScenario> named = pools_of(scenario);
  for (std::size_t i = 0; i < named.size(); ++i) {
    if (pools[i].deployment.parallel.data == 1) continue;
    const bool lockstep = steps_in_lockstep(named[i], pools[i].deployment.model);
    notes.push_back(fmt::format(
        "pool {}: {} data-parallel ranks per replica, {}; KV blocks are per rank", named[i].name,
        pools[i].deployment.parallel.data, lockstep ? "in lockstep" : "each independently"));
  }
  if (has_role(named, PoolRole::decode)) {
    notes.push_back(describe_link(scenario.cluster->link));
    note_handovers(notes, scenario, named, pools);
    notes.emplace_back(
        "a prefill replica frees its blocks as soon as the prompt is computed, before K and V have "
        "been transferred");
  }
  return notes;
}

/// Notes how max_tokens is treated: what clients declare matters to engines that reserve for it.
void note_max_tokens(std::vector<std::string>& notes, const SimulationRun& run) {
  const bool reserved = std::ranges::any_of(run.pools, [](const PoolRun& pool) {
    const Engine& engine = pool.deployment.engine;
    return make_policy(engine)->reserves_output(engine);
  });
  const bool exact = std::ranges::all_of(run.workload.requests, [](const Request& request) {
    return request.max_tokens == kExactMaxTokens;
  });
  if (reserved && exact) {
    notes.emplace_back(
        "clients are taken to declare as max_tokens exactly what is generated: the engine reserves "
        "K and V for it (`max_tokens`)");
  } else if (!reserved && !exact) {
    notes.emplace_back("the engine reserves nothing for max_tokens; it only cuts outputs");
  }
}

/// Notes on engines named by a version that their presets were not compared with.
std::vector<std::string> notes_on_versions(const Scenario& scenario) {
  std::vector<std::string> names = {engine_name(scenario.deployment)};
  if (scenario.cluster) {
    for (const PoolScenario& pool : scenario.cluster->pools) {
      if (!pool.own.engine.empty()) names.push_back(pool.own.engine);
    }
  }
  std::vector<std::string> notes;
  for (const std::string& name : names) {
    if (const auto note = uncompared_version(engine_choice(name).preset)) notes.push_back(*note);
  }
  return notes;
}

std::vector<std::string> notes_on(const SimulationRun& run,
                                  const std::vector<StepEstimate>& steps) {
  std::vector<std::string> notes;
  for (std::size_t i = 0; i < run.pools.size(); ++i) {
    note_precision(notes, run, run.pools[i], steps[i]);
    const auto is_same = [&](const PoolRun& other) {
      return other.deployment.gpu.name == run.pools[i].deployment.gpu.name;
    };
    const auto first = std::ranges::find_if(run.pools, is_same) - run.pools.begin();
    if (first == static_cast<std::ptrdiff_t>(i)) note_profile(notes, run.pools[i]);
    note_formats(notes, run.pools[i]);
    note_context(notes, run, i);
    note_power(notes, run.pools[i]);
  }
  const auto caches = [](const PoolRun& pool) { return pool.deployment.engine.prefix_caching; };
  const auto staged = [](const PoolRun& pool) { return pool.deployment.parallel.pipeline > 1; };
  if (run.workload.contents.empty() && std::any_of(run.pools.begin(), run.pools.end(), caches)) {
    notes.emplace_back(
        "prefix caching has no effect: no two prompts of this workload share a prefix");
  }
  note_max_tokens(notes, run);
  if (std::any_of(run.pools.begin(), run.pools.end(), staged)) {
    notes.emplace_back(
        "pipeline stages: as many steps in progress as stages, each with a part of the requests");
  }
  const std::vector<std::string> of_cluster = notes_on_cluster(run.scenario, run.pools);
  notes.insert(notes.end(), of_cluster.begin(), of_cluster.end());
  const std::vector<std::string> uncompared = notes_on_versions(run.scenario);
  notes.insert(notes.end(), uncompared.begin(), uncompared.end());
  const std::vector<std::string>& of_model = run.pools.front().deployment.model.notes;
  notes.insert(notes.end(), of_model.begin(), of_model.end());
  return notes;
}

}  // namespace

void simulate_with_notes(SimulationRun& run, const PoolStepTimes& step_times,
                         const Progress& progress) {
  const std::vector<StepEstimate> steps = simulate_sampled(run, step_times, progress);
  run.notes = notes_on(run, steps);
}

void simulate_with_notes(SimulationRun& run, const Progress& progress) {
  simulate_with_notes(run, step_times_of(run), progress);
}

}  // namespace roofcast
