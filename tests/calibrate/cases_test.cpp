#include "calibrate/cases.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "calibrate/bind.hpp"
#include "model/io/gpu_reader.hpp"
#include "model/io/model_reader.hpp"
#include "model/step/deployment_operators.hpp"
#include "tests/calibrate/fake_backend.hpp"

namespace roofcast {
namespace {

using test::FakeBackend;
using testing::Contains;
using testing::HasSubstr;

Deployment deployment_of(const std::string& model) {
  Deployment d{.model = load_model(model), .gpu = load_gpu("h200").gpu};
  d.engine = resolve_engine("vllm-0.19", {}, d.model, d.gpu, d.parallel);
  return d;
}

std::set<OperatorShape> shapes_in(const std::vector<CalibrationCase>& cases) {
  std::set<OperatorShape> shapes;
  for (const CalibrationCase& c : cases) shapes.insert(c.shape);
  return shapes;
}

bool has_gemm(const std::vector<CalibrationCase>& cases, std::int64_t n, std::int64_t k) {
  return std::any_of(cases.begin(), cases.end(), [&](const CalibrationCase& c) {
    return c.kind == CaseKind::gemm && c.shape.outputs == n && c.shape.inputs == k;
  });
}

TEST(ModelCases, HaveTheModelsOwnMatrices) {
  const FakeBackend backend;
  const auto cases = model_cases(deployment_of("llama-3.1-8b"), backend, {});
  // Hidden 4096, 32 and 8 heads of 128, FFN 14336, vocabulary 128256.
  EXPECT_TRUE(has_gemm(cases, 4096 + 2 * 1024, 4096));  // Q, K and V
  EXPECT_TRUE(has_gemm(cases, 4096, 4096));
  EXPECT_TRUE(has_gemm(cases, 2 * 14336, 4096));  // gate and up
  EXPECT_TRUE(has_gemm(cases, 4096, 14336));
  EXPECT_TRUE(has_gemm(cases, 128256, 4096));
}

TEST(ModelCases, CoverEveryShapeThatAStepAsksFor) {
  const FakeBackend backend;
  for (const char* model : {"gpt2", "llama-3.1-8b", "mixtral-8x7b", "deepseek-v3", "gemma-3-4b"}) {
    const Deployment deployment = deployment_of(model);
    const auto shapes = shapes_in(model_cases(deployment, backend, {}));
    const StepOperators operators = step_operators(deployment);
    const auto expect_timed = [&](OperatorShape shape, const std::string& name) {
      shape.window = 0;  // windows follow from full attention
      // What there are no kernels for.
      if (name == "quantise_activations" || (name == "kv_write" && !operators.attention.empty() &&
                                             operators.attention[0].decode_shape->latent)) {
        return;
      }
      if (name == "rope" && operators.attention[0].decode_shape->latent) return;
      EXPECT_THAT(shapes, Contains(shape)) << model << " " << name;
    };
    for (const auto* list : {&operators.per_token, &operators.per_row}) {
      for (const LinearOperator& op : *list) expect_timed(op.shape, op.work.name);
    }
    for (const AttentionOperator& op : operators.attention) {
      if (op.decode_shape) expect_timed(*op.decode_shape, op.decode.name);
      const bool latent = op.decode_shape && op.decode_shape->latent;  // prompts: no kernel
      if (op.prefill_shape && !latent) expect_timed(*op.prefill_shape, op.prefill.name);
    }
  }
}

TEST(ModelCases, ALmHeadIsTimedForRowsThatNeedLogits) {
  const FakeBackend backend;
  double max = 0;
  for (const CalibrationCase& c : model_cases(deployment_of("gpt2"), backend, {})) {
    if (c.kind == CaseKind::gemm && c.shape.outputs == 50257) max = std::max(max, c.x);
  }
  EXPECT_EQ(max, 256);  // CaseLimits::max_sequences
}

TEST(ModelCases, TokenOperatorsMoveTheBytesThatTheModelCounts) {
  const FakeBackend backend;
  for (const CalibrationCase& c : model_cases(deployment_of("llama-3.1-8b"), backend, {})) {
    const TokenSizes& s = c.sizes;
    const auto heads = static_cast<int>(s.kv_heads);
    const auto dim = static_cast<int>(s.head_dim);
    double bytes = 0;
    if (c.kind == CaseKind::norm) {
      bytes = kernels::bytes_moved(
          kernels::RmsNorm{.rows = s.tokens, .hidden = static_cast<int>(s.hidden), .residual = &s});
      bytes -= static_cast<double>(s.hidden) * 2;  // the weight, which the model leaves out
    } else if (c.kind == CaseKind::rope) {
      bytes = kernels::bytes_moved(kernels::Rope{.tokens = s.tokens,
                                                 .query_heads = static_cast<int>(s.query_heads),
                                                 .kv_heads = heads,
                                                 .head_dim = dim});
    } else if (c.kind == CaseKind::kv_write) {
      bytes = kernels::bytes_moved(
          kernels::KvWrite{.tokens = s.tokens, .cache = {.kv_heads = heads, .head_dim = dim}});
    } else if (c.kind == CaseKind::activation) {
      bytes = kernels::bytes_moved(
          kernels::Activation{.rows = s.tokens, .width = static_cast<int>(s.hidden)});
    } else if (c.kind == CaseKind::sampling) {
      bytes = kernels::bytes_moved(
          kernels::Sampling{.rows = s.tokens, .vocabulary = static_cast<int>(s.vocabulary)});
    } else {
      continue;
    }
    EXPECT_DOUBLE_EQ(bytes, c.x) << name_of(c);
  }
}

TEST(ModelCases, EverySourceOfAFamilyIsTimedWhenAsked) {
  FakeBackend backend;
  backend.sources_[kernels::KernelFamily::gemm] = {
      {kernels::KernelSource::library, "cuBLASLt 13.1"}, {kernels::KernelSource::own, "own 1.0"}};
  const auto kernels_of = [&](bool every_source) {
    std::set<std::string> kernels;
    for (const CalibrationCase& c :
         model_cases(deployment_of("gpt2"), backend, {.every_source = every_source})) {
      if (c.kind == CaseKind::gemm) kernels.insert(c.kernel);
    }
    return kernels;
  };
  EXPECT_EQ(kernels_of(true), (std::set<std::string>{"cuBLASLt 13.1", "own 1.0"}));
  EXPECT_EQ(kernels_of(false), (std::set<std::string>{"cuBLASLt 13.1"}));
}

TEST(ModelCases, ProductsOfEverySourceAreTimedWhereOurKernelsChange) {
  FakeBackend backend;
  backend.sources_[kernels::KernelFamily::gemm] = {{kernels::KernelSource::library, "oneDNN 2.6"},
                                                   {kernels::KernelSource::own, "own 1.0"}};
  backend.own_form_ = {.tile = 4, .streamed = 32, .block = 48};
  std::map<std::string, std::set<double>> sizes;  // by kernel, of one shape
  for (const CalibrationCase& c : model_cases(deployment_of("gpt2"), backend, {})) {
    if (c.kind == CaseKind::gemm && c.shape.outputs == 3072) sizes[c.kernel].insert(c.x);
  }
  ASSERT_EQ(sizes.size(), 2u);
  EXPECT_EQ(sizes["oneDNN 2.6"], sizes["own 1.0"]);
  EXPECT_TRUE(sizes["own 1.0"].contains(12));  // three tiles
  EXPECT_TRUE(sizes["own 1.0"].contains(33));
  EXPECT_FALSE(sizes["own 1.0"].contains(64));
}

TEST(Runnable, IsCoarseBeforeFineAndHasEachNameOnce) {
  const FakeBackend backend;
  std::vector<std::string> untimed;
  const auto cases =
      runnable(model_cases(deployment_of("mixtral-8x7b"), backend, {}), backend, untimed);
  EXPECT_TRUE(untimed.empty());
  std::set<std::string> names;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    EXPECT_TRUE(names.insert(name_of(cases[i])).second) << name_of(cases[i]);
    EXPECT_GE(cases[i].pass, cases[i == 0 ? 0 : i - 1].pass);
  }
  // Every shape has a point in the first pass.
  std::map<OperatorShape, int> first;
  for (const CalibrationCase& c : cases) {
    const auto at = first.emplace(c.shape, c.pass);
    EXPECT_EQ(at.first->second, 0) << name_of(c);
  }
}

TEST(Runnable, NamesWhatNoKernelComputes) {
  FakeBackend backend;
  backend.sources_[kernels::KernelFamily::decode_attention] = {};
  std::vector<std::string> untimed;
  const auto cases = runnable(model_cases(deployment_of("gpt2"), backend, {}), backend, untimed);
  ASSERT_EQ(untimed.size(), 1u);
  EXPECT_THAT(untimed[0], HasSubstr("decode_attention"));
  for (const CalibrationCase& c : cases) EXPECT_NE(c.kind, CaseKind::decode_attention);
}

TEST(GenericCases, CoverAllFamiliesOfAGpu) {
  const FakeBackend backend;
  std::set<std::string> families;
  std::set<std::string> formats;
  for (const CalibrationCase& c : generic_cases(backend, {})) {
    families.insert(family_of(c));
    if (c.kind == CaseKind::gemm) formats.insert(c.shape.format);
  }
  EXPECT_EQ(families, (std::set<std::string>{"gemm", "moe", "prefill_attention", "decode_attention",
                                             "memory_bound"}));
  EXPECT_EQ(formats, (std::set<std::string>{"bf16", "fp8", "fp8_block", "int8", "int4"}));
}

TEST(CeilingCases, CopyFromTheCacheToFarBeyondIt) {
  const FakeBackend backend;  // 50 MB of cache
  std::vector<double> copies;
  for (const CalibrationCase& c : ceiling_cases(backend, 80e9)) {
    if (c.kind == CaseKind::copy) copies.push_back(c.x);
  }
  ASSERT_GE(copies.size(), 3u);
  EXPECT_NEAR(copies.front(), 8 * 50e6, 512);
  EXPECT_LT(copies.back(), 50e6);
}

TEST(RoughCallTime, IsTheRooflinesToAFactor) {
  const RoughRates rates{.flops_per_s = 500e12, .bytes_per_s = 4e12};
  const CalibrationCase c{
      .shape = {.family = OperatorFamily::gemm, .format = "bf16", .outputs = 4096, .inputs = 4096},
      .x = 8192};
  // 2 * 8192 * 4096 * 4096 = 275 GFLOP at 500 TFLOP/s: 550 us.
  EXPECT_NEAR(rough_call_s(c, rates), 555e-6, 1e-6);
}

}  // namespace
}  // namespace roofcast
