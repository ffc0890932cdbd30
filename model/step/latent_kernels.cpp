#include "model/step/latent_kernels.hpp"

#include <string_view>

#include "base/dotted_version.hpp"
#include "model/curves/curve_source.hpp"

namespace roofcast {

namespace {

constexpr int kOutputCopies = 1;
constexpr int kConcatenations = 2;  // of queries and of keys
constexpr int kWidenings = 2 * 2;   // of two weights: each widened, then scaled

LatentKernels sglang_kernels(const Deployment& deployment, const WeightFormat& format) {
  const bool blocks = format.name == "fp8_block";
  const bool narrow = blocks || format.name.starts_with("mxfp4");
  const std::string_view version = stated_version(deployment.engine.version);
  const auto from = [&](std::string_view first) {
    return version.empty() || !is_older(version, first);
  };
  const std::string_view chip = deployment.gpu.compute_capability;
  if (chip != "gfx950") {
    return {.joint_norms = from("0.5.11"),
            .rotations = kNativeRotations,
            .prompt_rotations = kNativeRotations,
            .copies = kConcatenations + kOutputCopies,
            .widenings = blocks ? kWidenings : 0};
  }
  if (!from("0.5.5.post3")) {
    return {.prompt_rotations = kNativeRotations,
            .copies = kOutputCopies,
            .widenings = blocks ? kWidenings : 0};
  }
  return {.quantised_input = narrow,
          .joint_norms = narrow,
          .quantised_query = narrow,
          .rotations = 0,
          .prompt_rotations = kNativeRotations};
}

}  // namespace

LatentKernels latent_kernels(const Deployment& deployment, const WeightFormat& format) {
  if (deployment.gpu.vendor != "AMD" || is_cpu(deployment.gpu)) return {};
  const std::string_view engine = deployment.engine.version;
  if (engine.starts_with("sglang")) return sglang_kernels(deployment, format);
  if (engine.starts_with("atom")) {
    return {.joint_norms = true,
            .quantised_query = format.name == "fp8_block",
            .rotations = 0,
            .prompt_rotations = 0};
  }
  return {};
}

bool norms_within_all_reduce(const Deployment& deployment) {
  return deployment.engine.version.starts_with("atom") && deployment.parallel.tensor > 1;
}

}  // namespace roofcast
