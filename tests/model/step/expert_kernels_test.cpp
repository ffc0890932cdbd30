#include "model/step/expert_kernels.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "model/architecture/requantise.hpp"
#include "model/curves/curve_source.hpp"
#include "tests/model/deployments.hpp"
#include "tests/model/step/step_time_cases.hpp"
#include "tests/support/shapes.hpp"

namespace roofcast {
namespace {

constexpr std::string_view kNone;
constexpr const char* kBlackwell = "10.0";
constexpr const char* kHopper = "9.0";
constexpr const char* kAda = "8.9";

/// Kernels of the first layer, with experts in `format` unless that is empty.
std::string_view kernels_of(const char* version, const char* capability, Transformer model,
                            const std::string& format = "",
                            MoeBackend backend = MoeBackend::automatic) {
  Deployment d = test::deployment_of(std::move(model), test::round_gpu());
  d.engine.memory_rule = MemoryRule::tensorrt_llm;
  d.engine.version = version;
  d.engine.moe_backend = backend;
  d.gpu.compute_capability = capability;
  Layer layer = d.model.layers.front();
  if (!format.empty()) layer.ffn_format = weight_format_named(format);
  return expert_kernels(d, layer);
}

TEST(ExpertKernels, GptOssHasItsOwnFrom12On) {
  const Transformer model = test::gpt_oss_20b();
  EXPECT_EQ(kernels_of("trtllm-1.1", kBlackwell, model), kCutlassExperts);
  EXPECT_EQ(kernels_of("trtllm-1.1", kHopper, model), kCutlassExperts);
  EXPECT_EQ(kernels_of("trtllm-1.2", kBlackwell, model), kTrtllmGenExperts);
  EXPECT_EQ(kernels_of("trtllm-1.2", kHopper, model), kNone);  // Triton
  EXPECT_EQ(kernels_of("trtllm-1.2", kAda, model), kCutlassExperts);
}

TEST(ExpertKernels, ScalesOfBlocksInFp8AreTrtllmGensFrom13OnOnBlackwell) {
  const Transformer model = test::qwen3_30b_a3b();
  EXPECT_EQ(kernels_of("trtllm-1.2", kBlackwell, model, "fp8_block"), kCutlassExperts);
  EXPECT_EQ(kernels_of("trtllm-1.3", kBlackwell, model, "fp8_block"), kTrtllmGenExperts);
  EXPECT_EQ(kernels_of("trtllm-1.3", kHopper, model, "fp8_block"), kCutlassExperts);
  EXPECT_EQ(kernels_of("trtllm-1.3", kBlackwell, model, "fp8"), kCutlassExperts);
}

TEST(ExpertKernels, WithoutAVersionAreTheNewest) {
  EXPECT_EQ(kernels_of("trtllm", kBlackwell, test::gpt_oss_20b()), kTrtllmGenExperts);
  EXPECT_EQ(kernels_of("trtllm", kBlackwell, test::qwen3_30b_a3b(), "fp8_block"),
            kTrtllmGenExperts);
}

TEST(ExpertKernels, AreTheBackendsThatIsAskedFor) {
  const Transformer model = test::gpt_oss_20b();
  const auto asked = [&](MoeBackend backend) {
    return kernels_of("trtllm-1.3", kHopper, model, "", backend);
  };
  EXPECT_EQ(asked(MoeBackend::cutlass), kCutlassExperts);
  EXPECT_EQ(asked(MoeBackend::trtllm), kTrtllmGenExperts);
  EXPECT_EQ(asked(MoeBackend::deepgemm), kDeepgemmExperts);
}

TEST(ExpertKernels, OfVllmAreNamedWhereTheyAreMarlinsForMxfp4) {
  const auto of_vllm = [](const char* engine, const char* capability, Transformer model,
                          std::optional<MoeBackend> given = {}) {
    Gpu gpu = test::round_gpu();
    gpu.compute_capability = capability;
    EngineOverrides overrides;
    overrides.moe_backend = given;
    const Deployment d = test::deploy(std::move(model), gpu, engine, overrides);
    return expert_kernels(d, d.model.layers.front());
  };
  const Transformer model = test::gpt_oss_20b();
  EXPECT_EQ(of_vllm("vllm-0.24", kHopper, model), kNone);  // Triton's
  EXPECT_EQ(of_vllm("vllm-0.11", kHopper, model), kMarlinExperts);
  EXPECT_EQ(of_vllm("vllm-0.24", kHopper, model, MoeBackend::marlin), kMarlinExperts);
  EXPECT_EQ(of_vllm("vllm-0.11", kHopper, model, MoeBackend::triton), kNone);
  Transformer other = test::qwen3_30b_a3b();
  requantise(other, "mxfp4");
  EXPECT_EQ(of_vllm("vllm-0.24", kHopper, other), kMarlinExperts);  // Triton's are gpt-oss's alone
  // Of one kind elsewhere, and in other formats.
  EXPECT_EQ(of_vllm("vllm-0.24", kBlackwell, model), kNone);
  EXPECT_EQ(of_vllm("vllm-0.11", kHopper, test::qwen3_30b_a3b()), kNone);
  EXPECT_EQ(of_vllm("vllm-0.24", kBlackwell, model, MoeBackend::marlin), kNone);
  EXPECT_THROW(of_vllm("vllm-0.24", kHopper, model, MoeBackend::cutlass), UsageError);
  EXPECT_THROW(of_vllm("vllm-0.24", kHopper, other, MoeBackend::triton), UsageError);
}

}  // namespace
}  // namespace roofcast
