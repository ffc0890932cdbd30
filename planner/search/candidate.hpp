// One way to deploy, as a search sees it: a shape (what one replica is and how it is configured)
// and how many of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/architecture/parallelism.hpp"
#include "model/engines/engine.hpp"
#include "simulator/scenario.hpp"

namespace roofcast {

/// Prompts and their continuations in pools of their own: so many prefill replicas to so many
/// decode replicas. Both 0: every replica does both.
struct PoolSplit {
  std::int32_t prefill = 0;
  std::int32_t decode = 0;

  bool apart() const { return prefill > 0; }
  /// Replicas of one unit: what a candidate is multiplied by.
  std::int32_t replicas() const { return apart() ? prefill + decode : 1; }
  bool operator==(const PoolSplit&) const = default;
};

/// A replica with every knob of the search set; what is not set follows the engine.
struct Shape {
  std::string gpu{};        // name of a profile, or its path
  std::string gpu_title{};  // for people
  std::string engine{};     // preset, or the path of an engine profile
  std::optional<std::string> weight_format{};
  Parallelism parallel{};
  EngineOverrides overrides{};
  PoolSplit split{};
};

struct Candidate {
  Shape shape{};
  std::int32_t units = 1;  // replicas, or as many times the split's
};

/// GPUs of one unit.
std::int64_t gpus_per_unit(const Shape& shape);

/// `base` (its model, load, SLO and seed) served by the candidate. A cluster of `base` gives its
/// routers and its link; its pools are replaced.
Scenario scenario_of(const Scenario& base, const Candidate& candidate);

/// What is bought and loaded: GPU, degrees, split, weight format, KV dtype, engine. Candidates of
/// one placement differ in the scheduler's knobs and in their number.
std::string placement_key(const Shape& shape);

/// "2x NVIDIA H200 SXM TP2"
std::string short_name(const Shape& shape);

/// "3 replicas of 2x NVIDIA H200 SXM TP2, weights fp8, KV fp8"
std::string short_name(const Candidate& candidate);

/// The knobs that are set beyond the placement, named as flags: "max-num-seqs 64".
std::string knobs_of(const Shape& shape);

}  // namespace roofcast
