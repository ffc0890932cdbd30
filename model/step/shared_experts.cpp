#include "model/step/shared_experts.hpp"

#include <limits>
#include <string_view>
#include <variant>

#include "base/dotted_version.hpp"
#include "model/curves/curve_source.hpp"

namespace roofcast {

namespace {

constexpr std::int64_t kSglangTokens = 1024;  // DUAL_STREAM_TOKEN_THRESHOLD
constexpr std::int64_t kAtomTokens = 1024;    // ATOM_DUAL_STREAM_MOE_TOKEN_THRESHOLD
constexpr std::int64_t kVllmTokens = 256;     // VLLM_SHARED_EXPERTS_STREAM_TOKEN_THRESHOLD
constexpr std::int64_t kFusedExperts = 256;   // routed ones of a model whose shared one is fused
constexpr std::int64_t kAnyTokens = std::numeric_limits<std::int64_t>::max();

/// Whether SGLang fuses the layer's shared expert with the routed ones.
bool sglang_fuses(const Deployment& deployment, const MoeFfn& moe) {
  if (moe.experts != kFusedExperts || moe.shared_intermediate != moe.expert_intermediate) {
    return false;
  }
  if (deployment.gpu.vendor == "AMD") return true;
  return !deployment.parallel.expert_parallel &&
         !deployment.gpu.compute_capability.starts_with("10.");
}

/// Whether ATOM does.
bool atom_fuses(const Deployment& deployment, const MoeFfn& moe) {
  return moe.shared_intermediate % moe.expert_intermediate == 0 && deployment.parallel.data == 1;
}

}  // namespace

SharedExpertOverlap shared_expert_overlap(const Deployment& deployment, const Layer& layer) {
  const auto* moe = std::get_if<MoeFfn>(&layer.ffn);
  if (moe == nullptr || moe->shared_intermediate == 0) return {};
  const std::string_view engine = deployment.engine.version;
  const bool nvidia = deployment.gpu.vendor == "NVIDIA";
  if (engine.starts_with("sglang")) {
    if (sglang_fuses(deployment, *moe)) return {.up_to = kAnyTokens};
    const bool streams = nvidia && moe->experts_per_token > 1;
    return {.up_to = streams ? kSglangTokens : 0, .only_in_graphs = true};
  }
  if (engine.starts_with("atom")) {
    return {.up_to = atom_fuses(deployment, *moe) ? kAnyTokens : kAtomTokens};
  }
  if (!nvidia) return {};
  const std::string_view version = stated_version(deployment.engine.version);
  if (engine.starts_with("trtllm")) {
    const bool built = is_older(version, "1.0") && !version.empty();
    return {.up_to = built ? 0 : kAnyTokens, .only_in_graphs = true};
  }
  if (engine.starts_with("vllm")) {
    const bool serial = is_older(version, "0.12") && !version.empty();
    return {.up_to = serial ? 0 : kVllmTokens};
  }
  return {};
}

}  // namespace roofcast
