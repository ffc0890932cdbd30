#include "model/step/shared_experts.hpp"

#include <algorithm>
#include <string_view>
#include <variant>

#include "model/curves/curve_source.hpp"

namespace roofcast {

namespace {

constexpr std::int64_t kSglangTokens = 1024;  // DUAL_STREAM_TOKEN_THRESHOLD
constexpr std::int64_t kVllmTokens = 256;     // VLLM_SHARED_EXPERTS_STREAM_TOKEN_THRESHOLD
constexpr std::int64_t kFusedExperts = 256;   // routed ones of a model whose shared one is fused

/// The part after the engine's name: "0.24" of "vllm-0.24".
std::string_view stated_version(std::string_view engine) {
  const std::size_t dash = engine.find('-');
  return dash == std::string_view::npos ? std::string_view() : engine.substr(dash + 1);
}

std::int64_t captured_tokens(const Deployment& deployment) {
  const auto& sizes = deployment.engine.graph_batch_sizes;
  return deployment.engine.cuda_graphs && !sizes.empty() ? sizes.back() : 0;
}

}  // namespace

std::int64_t shared_experts_beside(const Deployment& deployment, const Layer& layer) {
  const auto* moe = std::get_if<MoeFfn>(&layer.ffn);
  if (moe == nullptr || moe->shared_intermediate == 0) return 0;
  const std::string_view engine = deployment.engine.name;
  const bool nvidia = deployment.gpu.vendor == "NVIDIA";
  if (engine.starts_with("sglang")) {
    const bool fused =
        moe->experts == kFusedExperts && moe->shared_intermediate == moe->expert_intermediate;
    if (fused && !deployment.parallel.expert_parallel) return kSglangTokens;
    const bool streams = nvidia && moe->experts_per_token > 1;
    return streams ? std::min(kSglangTokens, captured_tokens(deployment)) : 0;
  }
  if (!nvidia) return 0;
  const std::string_view version = stated_version(deployment.engine.version);
  if (engine.starts_with("trtllm")) {
    return is_older(version, "1.0") && !version.empty() ? 0 : captured_tokens(deployment);
  }
  if (engine.starts_with("vllm")) return is_older(version, "0.12") ? 0 : kVllmTokens;
  return 0;
}

}  // namespace roofcast
