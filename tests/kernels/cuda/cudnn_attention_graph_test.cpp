// cuDNN's engines for compute capability 9.0 accept the graphs, tested without a GPU: the device is
// described by its properties, and the toolkit's stub of libcuda.so.1 replaces the driver
// (CMakeLists.txt puts it on the loader's path). Heuristics, support checks and kernel compilation
// are then real; only loading a compiled kernel fails, which is how an accepted graph ends here.
#include "kernels/cuda/cudnn_attention_graph.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

namespace roofcast::kernels::cuda {
namespace {

/// An H200 (compute capability 9.0), in the form of cuDNN's own device descriptor.
constexpr const char* kDevice = R"({"maxGridSize":[2147483647,65535,65535],
"maxBlockSize":[1024,1024,64],"regsPerBlock":65536,"multiProcessorCount":132,"warpSize":32,
"maxSharedMemoryPerBlock":49152,"maxSharedMemoryPerBlockOptin":232448,
"reservedSharedMemoryPerBlock":1024,"maxRegistersPerSM":65536,"maxCtasPerSM":32,
"maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,"pciDeviceId":0,"isTccDriver":0,
"supportCoopLaunch":1,"totalGlobalMem":150100000000,"smClockRateKHz":1980000,
"memClockRateKHz":3201000,"l2CacheSize":62914560,"deviceName":"NVIDIA H200","cudaDeviceId":0,
"deviceVer":900,"driverVer":13000})";

constexpr std::size_t kDescribedWith = 91900;  // the version whose answers are expected below

class CudnnAttentionGraph : public testing::Test {
 protected:
  void SetUp() override {
    try {
      library_ = std::make_unique<CudnnLibrary>(open_cudnn({}));
    } catch (const std::runtime_error& error) {
      GTEST_SKIP() << error.what();
    }
    if (library_->cudnnGetVersion() < kDescribedWith) {
      GTEST_SKIP() << "needs cuDNN " << cudnn_version_text(kDescribedWith) << ", here is "
                   << cudnn_version_text(library_->cudnnGetVersion());
    }
    void* driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (driver == nullptr) GTEST_SKIP() << "needs a driver or the toolkit's stub: " << dlerror();
    device_.emplace(*library_, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    device_->set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                 static_cast<std::int64_t>(std::strlen(kDevice)) + 1, kDevice);
    device_->finalize("the device's properties");
  }

  /// The error of the engine that the library ranks first; "" if it accepted the graph.
  std::string refusal(void (*describe)(CudnnGraph&, const CudnnAttentionShape&),
                      const CudnnAttentionShape& shape) {
    CudnnGraph graph(*library_);
    describe(graph, shape);
    const CudnnPlan plan = make_plan(graph, {.device = &*device_, .max_engines = 1});
    if (plan.plan) return "";
    if (plan.refusals.empty()) return "no engine was proposed";
    const CudnnRefusal& refusal = plan.refusals.front();
    const bool only_loading_failed = refusal.status == CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER &&
                                     refusal.words.find("cuLibraryLoadData") != std::string::npos;
    return only_loading_failed ? "" : refusal.words;
  }

  std::unique_ptr<CudnnLibrary> library_;
  std::optional<CudnnDescriptor> device_;
};

CudnnAttentionShape prompt(std::int64_t queries, std::int64_t cached) {
  constexpr std::int64_t kPage = 16;
  return {.element = Element::bf16,
          .sequences = 2,
          .query_heads = 32,
          .kv_heads = 8,
          .key_dim = 128,
          .value_dim = 128,
          .queries = queries,
          .query_stride = 32 * 128,
          .page_size = kPage,
          .pages_per_sequence = (cached + queries) / kPage + 1,
          .key_token_stride = 8 * 128,
          .value_token_stride = 8 * 128};
}

TEST_F(CudnnAttentionGraph, APromptIsTaken) {
  EXPECT_EQ(refusal(describe_prefill, prompt(1024, 0)), "");
}

TEST_F(CudnnAttentionGraph, AChunkBehindAPrefixIsTaken) {
  EXPECT_EQ(refusal(describe_prefill, prompt(512, 3584)), "");
}

TEST_F(CudnnAttentionGraph, RaggedQueriesWithinWiderRowsAreTaken) {
  CudnnAttentionShape shape = prompt(512, 0);
  shape.ragged = true;
  shape.query_stride = 48 * 128;
  EXPECT_EQ(refusal(describe_prefill, shape), "");
}

TEST_F(CudnnAttentionGraph, HeadDimsAndFp16AreTaken) {
  for (const std::int64_t dim : {64, 256}) {
    CudnnAttentionShape shape = prompt(256, 0);
    shape.element = Element::fp16;
    shape.key_dim = shape.value_dim = dim;
    shape.query_stride = 32 * dim;
    shape.key_token_stride = shape.value_token_stride = 8 * dim;
    EXPECT_EQ(refusal(describe_prefill, shape), "") << dim;
  }
}

TEST_F(CudnnAttentionGraph, DecodeIsTaken) {
  CudnnAttentionShape shape = prompt(1, 8192);
  shape.sequences = 64;
  EXPECT_EQ(refusal(describe_decode, shape), "");
  shape.page_size = 1;
  shape.pages_per_sequence = 1000;
  EXPECT_EQ(refusal(describe_decode, shape), "");
}

TEST_F(CudnnAttentionGraph, LatentDecodeIsTaken) {
  EXPECT_EQ(refusal(describe_decode, {.element = Element::bf16,
                                      .sequences = 4,
                                      .query_heads = 128,
                                      .kv_heads = 1,
                                      .key_dim = 576,
                                      .value_dim = 512,
                                      .query_stride = 128 * 576,
                                      .page_size = 64,
                                      .pages_per_sequence = 64,
                                      .key_token_stride = 576,
                                      .value_token_stride = 576}),
            "");
}

TEST_F(CudnnAttentionGraph, WhatNoEngineTakesIsSaid) {
  CudnnAttentionShape shape = prompt(256, 0);
  shape.key_dim = shape.value_dim = 100;  // no multiple of 8
  shape.query_stride = 32 * 100;
  shape.key_token_stride = shape.value_token_stride = 8 * 100;
  EXPECT_NE(refusal(describe_prefill, shape), "");
}

TEST(CudnnVersion, IsMajorMinorAndPatch) {
  EXPECT_EQ(cudnn_version_text(91900), "9.19.0");
  EXPECT_EQ(cudnn_version_text(91301), "9.13.1");
}

}  // namespace
}  // namespace roofcast::kernels::cuda
