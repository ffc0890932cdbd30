#include "model/step/eager_launches.hpp"

#include <limits>
#include <variant>

#include "model/step/shared_experts.hpp"

namespace roofcast {

std::int64_t expert_launches(const WeightFormat& format, const Engine& engine) {
  constexpr std::int64_t kChoice = 1;
  constexpr std::int64_t kSorting = 2;
  constexpr std::int64_t kProducts = 2;
  constexpr std::int64_t kActivation = 1;
  constexpr std::int64_t kSum = 1;
  const std::int64_t quantised = bits_of(format.compute) > 8 ? 0 : kProducts;
  constexpr std::int64_t kLookups = 7;
  const bool looks_up = engine.scheduler == SchedulerKind::tensorrt_llm && !engine.exact_graphs;
  const std::int64_t lookups = looks_up ? kLookups : 0;
  return kChoice + kSorting + quantised + kProducts + kActivation + kSum + lookups;
}

std::int64_t scan_launches(const Layer& layer) {
  if (std::holds_alternative<GatedDeltaNet>(layer.mixer)) return 17 - 1;
  if (std::holds_alternative<Mamba2>(layer.mixer)) return 5 - 1;
  return 0;
}

bool folds_shared_experts(const Deployment& deployment, const Layer& layer) {
  const SharedExpertOverlap overlap = shared_expert_overlap(deployment, layer);
  return !overlap.only_in_graphs && overlap.up_to == std::numeric_limits<std::int64_t>::max();
}

}  // namespace roofcast
