#include "planner/search/candidate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "base/wording.hpp"
#include "model/architecture/dtype.hpp"
#include "model/engines/knobs.hpp"

namespace roofcast {
namespace {

/// The knob that is part of the placement: formats_of() names it.
constexpr std::string_view kInPlacement = "kv_cache_dtype";

PoolScenario pool_of(PoolRole role, const char* name, std::int32_t replicas) {
  return {.name = name, .role = role, .replicas = replicas};
}

std::vector<PoolScenario> pools_of(const Candidate& candidate) {
  const PoolSplit& split = candidate.shape.split;
  if (!split.apart()) return {pool_of(PoolRole::both, "replicas", candidate.units)};
  return {pool_of(PoolRole::prefill, "prefill", split.prefill * candidate.units),
          pool_of(PoolRole::decode, "decode", split.decode * candidate.units)};
}

/// "TP2 PP2 EP", the degrees above 1.
std::string degrees_of(const Parallelism& parallel) {
  std::string text;
  visit_short_degrees(
      parallel, [&](const char* name, int degree) { text += fmt::format(" {}{}", name, degree); });
  if (parallel.expert_parallel) text += " EP";
  return text;
}

/// Number formats, if chosen.
std::string formats_of(const Shape& shape) {
  std::string text;
  if (shape.weight_format) text += fmt::format(", weights {}", *shape.weight_format);
  if (shape.overrides.kv_cache_dtype) {
    text += fmt::format(", KV {}", name_of(*shape.overrides.kv_cache_dtype));
  }
  return text;
}

std::string text_of(const KnobValue& value) {
  if (const auto* on = std::get_if<bool>(&value)) return *on ? "on" : "off";
  if (const auto* list = std::get_if<std::vector<double>>(&value)) {
    return fmt::format("{}", fmt::join(*list, ","));
  }
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) {
    return fmt::format("{}", fmt::join(*list, ","));
  }
  if (const auto* name = std::get_if<std::string>(&value)) return *name;
  return fmt::format("{:.12g}", *number_in(value));
}

}  // namespace

std::int64_t gpus_per_unit(const Shape& shape) {
  return static_cast<std::int64_t>(shape.parallel.gpus()) * shape.split.replicas();
}

DeploymentOptions options_of(const Shape& shape) {
  return {.gpu = shape.gpu,
          .engine = shape.engine,
          .weight_format = shape.weight_format,
          .parallel = as_given(shape.parallel),
          .overrides = shape.overrides};
}

Scenario scenario_of(const Scenario& base, const Candidate& candidate) {
  Scenario scenario = base;
  scenario.deployment = options_of(candidate.shape);
  scenario.deployment.model = base.deployment.model;
  ClusterScenario cluster = base.cluster.value_or(ClusterScenario{});
  cluster.pools = pools_of(candidate);
  scenario.cluster = std::move(cluster);
  return scenario;
}

std::string placement_key(const Shape& shape) {
  return fmt::format("{} {}|{}:{}{}|{}", shape.gpu, short_name(shape), shape.split.prefill,
                     shape.split.decode, formats_of(shape), shape.engine);
}

std::string short_name(const Shape& shape) {
  return fmt::format("{}x {}{}{}{}", shape.parallel.gpus(), shape.gpu_title,
                     degrees_of(shape.parallel), shape.engine_title.empty() ? "" : ", ",
                     shape.engine_title);
}

std::string short_name(const Candidate& candidate) {
  const Shape& shape = candidate.shape;
  if (!shape.split.apart()) {
    return fmt::format("{} of {}{}", counted(candidate.units, "replica"), short_name(shape),
                       formats_of(shape));
  }
  return fmt::format("{} prefill and {} decode replicas of {}{}",
                     shape.split.prefill * candidate.units, shape.split.decode * candidate.units,
                     short_name(shape), formats_of(shape));
}

std::string knobs_of(const Shape& shape) {
  std::vector<std::string> knobs;
  for (const EngineKnob& knob : engine_knobs()) {
    if (knob.key == kInPlacement) continue;
    if (const auto value = knob.get(shape.overrides)) {
      knobs.push_back(fmt::format("{} {}", knob.flag, text_of(*value)));
    }
  }
  return joined(knobs);
}

}  // namespace roofcast
