// One way to deploy, as the search sees it: a shape (what one replica is and how it is configured)
// and the number of units.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/architecture/parallelism.hpp"
#include "model/engines/engine.hpp"
#include "simulator/scenario.hpp"

namespace roofcast {

/// Disaggregated prefill and decode: this many prefill replicas per this many decode replicas. Both
/// 0: every replica does both.
struct PoolSplit {
  std::int32_t prefill = 0;
  std::int32_t decode = 0;

  bool apart() const { return prefill > 0; }
  /// Replicas per unit, which a candidate multiplies.
  std::int32_t replicas() const { return apart() ? prefill + decode : 1; }
  bool operator==(const PoolSplit&) const = default;
};

/// A replica with every searched knob set; unset ones follow the engine.
struct Shape {
  std::string gpu{};           // profile name or path
  std::string gpu_title{};     // for display
  std::string engine{};        // preset, or path of an engine profile
  std::string engine_title{};  // for display, where several engines are searched; else empty
  std::optional<std::string> weight_format{};
  Parallelism parallel{};
  EngineOverrides overrides{};
  PoolSplit split{};
};

struct Candidate {
  Shape shape{};
  std::int32_t units = 1;  // replicas, or copies of the split
};

/// GPUs per unit.
std::int64_t gpus_per_unit(const Shape& shape);

/// What one replica is, without the model.
DeploymentOptions options_of(const Shape& shape);

/// `base` (its model, load, SLO and seed) served by the candidate. Keeps the routers and the link
/// of a cluster in `base`, and replaces its pools.
Scenario scenario_of(const Scenario& base, const Candidate& candidate);

/// What is rented and loaded: GPU, degrees, split, weight format, KV dtype, engine. Candidates of
/// one placement differ only in scheduler knobs and number of units.
std::string placement_key(const Shape& shape);

/// "2x NVIDIA H200 SXM TP2", "2x NVIDIA H200 SXM TP2, sglang-0.5.7" where engines are searched
std::string short_name(const Shape& shape);

/// "3 replicas of 2x NVIDIA H200 SXM TP2, weights fp8, KV fp8"
std::string short_name(const Candidate& candidate);

/// The knobs set in addition to the placement, named as flags: "max-num-seqs 64,
/// enable-prefix-caching off".
std::string knobs_of(const Shape& shape);

}  // namespace roofcast
