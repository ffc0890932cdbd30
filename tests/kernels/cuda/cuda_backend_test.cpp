#include "kernels/cuda/cuda_backend.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/cuda/device_facts.hpp"
#include "tests/kernels/activation_case.hpp"
#include "tests/kernels/attention_case.hpp"
#include "tests/kernels/attention_tolerance.hpp"
#include "tests/kernels/cuda/cuda_device.hpp"
#include "tests/kernels/cuda/cuda_place.hpp"
#include "tests/kernels/gemm_case.hpp"
#include "tests/kernels/rope_case.hpp"
#include "tests/kernels/routing_case.hpp"
#include "tests/kernels/rows_case.hpp"
#include "tests/kernels/sampling_case.hpp"

namespace roofcast::kernels {
namespace {

using enum Element;
using testing::HasSubstr;

// ---- without a device

TEST(NoCudaDevice, IsSaidInOneSentence) {
  using cuda::DriverAnswer;
  using cuda::why_no_device;
  EXPECT_EQ(why_no_device(DriverAnswer{.devices = 2}), std::nullopt);
  EXPECT_EQ(why_no_device(DriverAnswer{.code = cudaErrorInsufficientDriver}).value(),
            "there is no NVIDIA driver on this machine");
  EXPECT_EQ(why_no_device(DriverAnswer{.code = cudaErrorInsufficientDriver,
                                       .driver_version = 12040,
                                       .runtime_version = 13000})
                .value(),
            "the NVIDIA driver is too old: it supports CUDA 12.4, this program needs 13.0");
  EXPECT_THAT(why_no_device(DriverAnswer{.code = cudaErrorStubLibrary}).value(), HasSubstr("stub"));
  EXPECT_THAT(why_no_device(DriverAnswer{.code = cudaErrorNoDevice}).value(),
              HasSubstr("sees no GPU"));
  EXPECT_THAT(why_no_device(DriverAnswer{.devices = 0}).value(), HasSubstr("sees no GPU"));
  EXPECT_THAT(why_no_device(DriverAnswer{.code = cudaErrorSystemNotReady}).value(),
              HasSubstr("CUDA does not start"));
}

TEST(NoCudaDevice, IsAnErrorWithThatSentence) {
  const std::optional<std::string> why = why_no_cuda_device();
  if (!why) GTEST_SKIP() << "there is a device";
  try {
    make_cuda_backend();
    FAIL() << "did not throw";
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(error.what(), *why);
  }
}

TEST(CudaUuid, IsWrittenAsNvmlDoes) {
  char bytes[16];
  std::iota(std::begin(bytes), std::end(bytes), char{0});
  bytes[15] = static_cast<char>(0xff);
  EXPECT_EQ(cuda::uuid_text(bytes), "GPU-00010203-0405-0607-0809-0a0b0c0d0eff");
}

// ---- on a device

TEST(CudaBackend, KnowsNoMoreDevicesThanThereAre) {
  SKIP_WITHOUT_CUDA_DEVICE();
  EXPECT_EQ(why_no_cuda_device(0), std::nullopt);
  EXPECT_THAT(why_no_cuda_device(1000).value(), HasSubstr("no GPU number 1000"));
  EXPECT_TRUE(why_no_cuda_device(-1).has_value());
}

TEST(CudaBackend, TellsTheFactsOfItsDevice) {
  SKIP_WITHOUT_CUDA_DEVICE();
  const auto backend = make_cuda_backend();
  const DeviceFacts& facts = backend->facts();
  EXPECT_NE(facts.name, "");
  EXPECT_THAT(facts.identity, testing::StartsWith("GPU-"));
  EXPECT_EQ(facts.vendor, "NVIDIA");
  EXPECT_THAT(facts.architecture, testing::StartsWith("sm_"));
  EXPECT_GT(facts.multiprocessors, 0);
  EXPECT_GT(facts.cache_bytes, 0);
  EXPECT_GT(facts.free_memory_bytes, 0);
  EXPECT_LE(facts.free_memory_bytes, facts.memory_bytes);
  // From the slowest integrated GPU to one beyond today's.
  EXPECT_GT(facts.clock_hz, 0.2e9);
  EXPECT_LT(facts.clock_hz, 10e9);
  EXPECT_TRUE(facts.versions.contains("CUDA"));
}

/// One launch, recorded and replayed. Copies to the device must be complete before another stream
/// reads their data.
template <class Case, class... Source>
void run_recorded(Backend& backend, Case& c, Source... source) {
  test::DevicePlace place;
  const auto op = test::problem(c, place);
  ROOFCAST_CUDA_CHECK(cudaDeviceSynchronize());
  const auto recording = backend.record([&] { backend.launch(op, source...); });
  backend.replay(*recording);
  place.copy_back();
}

template <class Case, class Shape>
void expect_answer_of(Backend& backend, const Shape& shape) {
  Case c(shape);
  run_recorded(backend, c);
  test::expect_answer(c);
}

template <class Case, class Shape>
void expect_answer_of(Backend& backend, const Shape& shape, KernelSource source, double sum_error) {
  Case c(shape);
  run_recorded(backend, c, source);
  test::expect_answer(c, sum_error);
}

TEST(CudaBackend, ComputesEveryTokenOperator) {
  SKIP_WITHOUT_CUDA_DEVICE();
  const auto backend = make_cuda_backend();
  expect_answer_of<test::EmbeddingCase>(*backend, test::RowsShape{bf16, 100, 768, 30});
  expect_answer_of<test::GatherCase>(*backend, test::RowsShape{bf16, 100, 768, 30});
  expect_answer_of<test::RopeCase>(*backend, test::RopeShape{bf16, 33, 32, 8, 128});
  expect_answer_of<test::KvWriteCase>(*backend, test::KvWriteShape{bf16, bf16, 33, 8, 128, 16});
  expect_answer_of<test::ActivationCase>(
      *backend, test::ActivationShape{ActivationKind::silu_mul, bf16, 33, 1000});
  expect_answer_of<test::SamplingCase>(*backend,
                                       test::SamplingShape{.name = "", .rows = 40, .top_k = 50});
  expect_answer_of<test::RoutingCase>(*backend, test::RoutingShape{bf16, 65, 128, 8});
  expect_answer_of<test::CombineCase>(*backend, test::CombineShape{bf16, 33, 2, 1000});
}

TEST(CudaBackend, ComputesProductsByItsOwnKernels) {
  SKIP_WITHOUT_CUDA_DEVICE();
  const auto backend = make_cuda_backend();
  const double error = test::fp32_sum_error(512);  // the longest sum below
  expect_answer_of<test::GemmCase>(*backend,
                                   test::GemmShape{bf16, bf16, GemmScale::none, 16, 256, 512},
                                   KernelSource::own, error);
  expect_answer_of<test::GroupedGemmCase>(
      *backend, test::GroupedGemmShape{bf16, {0, 70, 0, 1}, 96, 256}, KernelSource::own, error);
  expect_answer_of<test::Int4GemmCase>(*backend, test::Int4GemmShape{bf16, 4, 48, 96, 32},
                                       KernelSource::own, error);
}

TEST(CudaBackend, ComputesProductsByTheLibrary) {
  SKIP_WITHOUT_CUDA_DEVICE();
  const auto backend = make_cuda_backend();
  if (backend->sources(KernelFamily::gemm).front().first != KernelSource::library) {
    GTEST_SKIP() << backend->facts().versions.at("cuBLASLt");
  }
  const test::GemmShape shape{bf16, bf16, GemmScale::none, 16, 256, 512};
  test::GemmCase c(shape);
  test::DevicePlace place;
  const Gemm gemm = problem(c, place);
  ASSERT_TRUE(backend->supports(gemm, KernelSource::library));
  ROOFCAST_CUDA_CHECK(cudaDeviceSynchronize());
  backend->prepare(gemm, KernelSource::library);
  const auto recording = backend->record([&] { backend->launch(gemm, KernelSource::library); });
  backend->replay(*recording);
  place.copy_back();
  test::expect_answer(c, test::fp32_sum_error(512));
}

/// Runs every available source, with and without preparing the first launch.
template <class Case, class Shape>
void expect_attention(Backend& backend, KernelFamily family, const Shape& shape) {
  for (const auto& [source, name] : backend.sources(family)) {
    SCOPED_TRACE(name);
    Case c(shape);
    if constexpr (std::is_base_of_v<test::AttentionCase, Case>) {
      test::fill_unused_slots(c.keys);
      test::fill_unused_slots(c.values);
    } else {
      test::fill_unused_slots(c.cache);
    }
    test::HostPlace shapes;
    ASSERT_TRUE(backend.supports(problem(c, shapes), source));
    run_recorded(backend, c, source);
    test::expect_answer(c, test::tensor_core_tolerance(shape.element));
  }
}

TEST(CudaBackend, ComputesAttentionByEverySource) {
  SKIP_WITHOUT_CUDA_DEVICE();
  const auto backend = make_cuda_backend();
  expect_attention<test::PrefillCase>(*backend, KernelFamily::prefill_attention,
                                      test::prefill_shapes(bf16).at(2));
  expect_attention<test::DecodeCase>(*backend, KernelFamily::decode_attention,
                                     test::decode_shapes(bf16).at(2));
  expect_attention<test::LatentCase>(*backend, KernelFamily::latent_decode,
                                     test::latent_shapes(bf16).at(1));
}

TEST(CudaBackend, HoldsAlignedMemoryAndCopiesIt) {
  SKIP_WITHOUT_CUDA_DEVICE();
  const auto backend = make_cuda_backend();
  const Memory a(*backend, 1001);
  const Memory b(*backend, 1001);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.data()) % 256, 0U);
  std::vector<char> host(1001, 'x');
  backend->upload(a.data(), host.data(), host.size());
  backend->launch_copy(b.data(), a.data(), 1001);
  backend->launch_copy(b.as<char>() + 1, a.data(), 3);  // not aligned
  std::vector<char> back(1001);
  backend->download(back.data(), b.data(), back.size());
  EXPECT_EQ(back, host);
}

TEST(CudaBackend, RecordsWithoutComputingAndReplaysInOrder) {
  SKIP_WITHOUT_CUDA_DEVICE();
  const auto backend = make_cuda_backend();
  constexpr std::size_t kBytes = 1024;
  const Memory a(*backend, kBytes);
  const Memory b(*backend, kBytes);
  const Memory c(*backend, kBytes);
  const auto fill = [&](const Memory& memory, char letter) {
    backend->upload(memory.data(), std::vector<char>(kBytes, letter).data(), kBytes);
  };
  const auto letter_in = [&](const Memory& memory) {
    std::vector<char> letters(kBytes);
    backend->download(letters.data(), memory.data(), kBytes);
    return letters == std::vector<char>(kBytes, letters.front()) ? letters.front() : '?';
  };
  fill(a, 'a');
  fill(b, 'b');
  fill(c, 'c');
  const auto recording = backend->record([&] {
    backend->launch_copy(b.data(), a.data(), kBytes);
    backend->launch_copy(c.data(), b.data(), kBytes);
    backend->launch_nothing();
  });
  EXPECT_EQ(letter_in(c), 'c');
  const Sample sample = backend->replay(*recording);
  EXPECT_EQ(letter_in(c), 'a');
  EXPECT_GT(sample.seconds, 0);
  EXPECT_LT(sample.seconds, 1);
  fill(a, 'z');
  backend->replay(*recording);
  EXPECT_EQ(letter_in(c), 'z');
}

TEST(CudaBackend, SamplesTheClockOfALongReplay) {
  SKIP_WITHOUT_CUDA_DEVICE();
  const auto backend = make_cuda_backend();
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  const Memory a(*backend, kBytes);
  const Memory b(*backend, kBytes);
  backend->fill_normal(a.data(), bf16, kBytes / 2, 1, 1);
  const auto recording = backend->record([&] {
    for (int i = 0; i < 100; ++i) backend->launch_copy(b.data(), a.data(), kBytes);
  });
  const Sample sample = backend->replay(*recording);
  // Between a tenth of the highest clock and a little more than it.
  EXPECT_GT(sample.clock_hz, 0.1 * backend->facts().clock_hz);
  EXPECT_LT(sample.clock_hz, 1.1 * backend->facts().clock_hz);
}

TEST(CudaBackend, LaunchesAfterARecordingThatFailed) {
  SKIP_WITHOUT_CUDA_DEVICE();
  const auto backend = make_cuda_backend();
  EXPECT_THROW(backend->record([&] { backend->launch(Rope{}); }), std::invalid_argument);
  EXPECT_THROW(backend->record([&] { backend->record([] {}); }), std::logic_error);
  backend->launch_nothing();
  backend->synchronize();
  const auto recording = backend->record([&] { backend->launch_nothing(); });
  EXPECT_GT(backend->replay(*recording).seconds, 0);
}

TEST(CudaBackend, RefusesWhatItsSourcesCannotCompute) {
  SKIP_WITHOUT_CUDA_DEVICE();
  const auto backend = make_cuda_backend();
  EXPECT_FALSE(backend->supports(GroupedGemm{}, KernelSource::library));
  EXPECT_THROW(backend->launch(GroupedGemm{}, KernelSource::library), std::invalid_argument);
  EXPECT_THROW(backend->launch(Gemm{}, KernelSource::own), std::invalid_argument);
}

}  // namespace
}  // namespace roofcast::kernels
