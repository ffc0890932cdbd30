#include "model/step/expert_kernels.hpp"

#include "base/dotted_version.hpp"
#include "model/curves/curve_source.hpp"
#include "model/curves/operator_shape.hpp"

namespace roofcast {

namespace {

std::string_view automatic_kernels(const Deployment& deployment, const Layer& layer) {
  const std::string_view version = stated_version(deployment.engine.version);
  const auto from = [&](std::string_view first) {
    return version.empty() || !is_older(version, first);
  };
  const std::string_view capability = deployment.gpu.compute_capability;
  const bool datacentre_blackwell = capability.starts_with("10.");
  if (deployment.model.architecture == "GptOssForCausalLM" && from("1.2")) {
    if (datacentre_blackwell) return kTrtllmGenExperts;
    if (capability.starts_with("9.")) return {};  // Triton, of which there is one
  }
  const bool blocks = kernel_format_name(layer.ffn_format) == "fp8_block";
  if (blocks && datacentre_blackwell && from("1.3")) return kTrtllmGenExperts;
  return from("0.19") ? kCutlassExperts : std::string_view();
}

}  // namespace

std::string_view expert_kernels(const Deployment& deployment, const Layer& layer) {
  const MoeBackend backend = deployment.engine.moe_backend;
  if (deployment.engine.memory_rule == MemoryRule::vllm) {
    const bool marlin = backend == MoeBackend::marlin && layer.ffn_format.name == "mxfp4";
    return marlin ? kMarlinExperts : std::string_view();
  }
  if (!deployment.engine.version.starts_with("trtllm")) return {};
  switch (backend) {
    case MoeBackend::automatic:
      break;
    case MoeBackend::marlin:
    case MoeBackend::triton:
      return {};
    case MoeBackend::cutlass:
      return kCutlassExperts;
    case MoeBackend::trtllm:
      return kTrtllmGenExperts;
    case MoeBackend::deepgemm:
      return kDeepgemmExperts;
  }
  return automatic_kernels(deployment, layer);
}

}  // namespace roofcast
