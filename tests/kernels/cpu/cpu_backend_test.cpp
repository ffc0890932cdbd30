#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/cpu/thread_pool.hpp"
#include "kernels/normal_values.hpp"
#include "tests/kernels/activation_case.hpp"
#include "tests/kernels/attention_case.hpp"
#include "tests/kernels/gemm_case.hpp"
#include "tests/kernels/rms_norm_case.hpp"
#include "tests/kernels/rope_case.hpp"
#include "tests/kernels/routing_case.hpp"
#include "tests/kernels/rows_case.hpp"
#include "tests/kernels/sampling_case.hpp"

namespace roofcast::kernels {
namespace {

using enum Element;

constexpr int kThreads = 2;

// ---- every operator, recorded and replayed

template <class Case, class Shape>
void expect_answer_of(const Shape& shape) {
  const auto backend = make_cpu_backend(kThreads);
  Case c(shape);
  test::HostPlace host;
  const auto op = test::problem(c, host);
  const auto recording = backend->record([&] { backend->launch(op); });
  backend->replay(*recording);
  test::expect_answer(c);
}

template <class Case, class Shape, class... Error>
void expect_answer_of(const Shape& shape, KernelSource source, Error... error) {
  const auto backend = make_cpu_backend(kThreads);
  Case c(shape);
  test::HostPlace host;
  const auto op = test::problem(c, host);
  ASSERT_TRUE(backend->supports(op, source));
  const auto recording = backend->record([&] { backend->launch(op, source); });
  backend->replay(*recording);
  test::expect_answer(c, error...);
}

TEST(CpuBackend, ComputesEveryOperator) {
  constexpr KernelSource kOwn = KernelSource::own;
  const double error = test::fp32_sum_error(512);  // the longest sum below
  expect_answer_of<test::GemmCase>(test::GemmShape{bf16, bf16, GemmScale::none, 16, 256, 512}, kOwn,
                                   error);
  expect_answer_of<test::GroupedGemmCase>(test::GroupedGemmShape{bf16, {0, 70, 0, 1}, 96, 256},
                                          kOwn, error);
  expect_answer_of<test::Int4GemmCase>(test::Int4GemmShape{bf16, 4, 48, 96, 32}, kOwn, error);
  expect_answer_of<test::PrefillCase>(test::prefill_shapes(bf16).at(2), kOwn);
  expect_answer_of<test::DecodeCase>(test::decode_shapes(bf16).at(3), kOwn);
  expect_answer_of<test::LatentCase>(test::latent_shapes(bf16).at(1), kOwn);
  expect_answer_of<test::EmbeddingCase>(test::RowsShape{bf16, 100, 768, 30});
  expect_answer_of<test::GatherCase>(test::RowsShape{bf16, 100, 768, 30});
  expect_answer_of<test::RopeCase>(test::RopeShape{bf16, 33, 32, 8, 128});
  expect_answer_of<test::KvWriteCase>(test::KvWriteShape{bf16, bf16, 33, 8, 128, 16});
  expect_answer_of<test::ActivationCase>(
      test::ActivationShape{ActivationKind::silu_mul, bf16, 33, 1000});
  expect_answer_of<test::SamplingCase>(test::SamplingShape{.name = "", .rows = 40, .top_k = 50});
  expect_answer_of<test::RoutingCase>(test::RoutingShape{bf16, 65, 128, 8});
  expect_answer_of<test::CombineCase>(test::CombineShape{bf16, 33, 2, 1000});
}

TEST(CpuBackend, NormalisesOnAllItsThreads) {
  const auto backend = make_cpu_backend(kThreads);
  test::RmsNormCase c({bf16, 100, 4096});
  backend->launch(RmsNorm{.element = bf16,
                          .rows = 100,
                          .hidden = 4096,
                          .epsilon = 1e-6F,
                          .input = c.input.data(),
                          .residual = c.residual.data(),
                          .weight = c.weight.data(),
                          .residual_out = c.residual_out.data(),
                          .output = c.output.data()});
  test::expect_answer(c, 1e-6F);
}

TEST(CpuBackend, MultipliesWithTheLibraryWhereItIsBuiltIn) {
  const auto backend = make_cpu_backend(kThreads);
  if (backend->sources(KernelFamily::gemm).front().first != KernelSource::library) {
    GTEST_SKIP() << "built without oneDNN";
  }
  expect_answer_of<test::GemmCase>(test::GemmShape{fp32, fp32, GemmScale::none, 33, 640, 512},
                                   KernelSource::library, test::fp32_sum_error(512));
}

// ---- recordings

TEST(CpuBackend, RecordsWithoutComputingAndReplaysInOrder) {
  const auto backend = make_cpu_backend(kThreads);
  std::vector<char> a(100, 'a');
  std::vector<char> b(100, 'b');
  std::vector<char> c(100, 'c');
  const auto recording = backend->record([&] {
    backend->launch_copy(b.data(), a.data(), a.size());
    backend->launch_copy(c.data(), b.data(), b.size());
    backend->launch_nothing();
  });
  EXPECT_EQ(b.front(), 'b');
  const Sample sample = backend->replay(*recording);
  EXPECT_EQ(c, std::vector<char>(100, 'a'));
  EXPECT_GT(sample.seconds, 0);
  EXPECT_GE(sample.clock_hz, 0);
  std::fill(a.begin(), a.end(), 'z');
  backend->replay(*recording);
  EXPECT_EQ(c, std::vector<char>(100, 'z'));
}

TEST(CpuBackend, ComputesAtOnceAfterARecordingThatFailed) {
  const auto backend = make_cpu_backend(kThreads);
  EXPECT_THROW(backend->record([&] { backend->launch(Gemm{}, KernelSource::own); }),
               std::invalid_argument);
  int from = 1;
  int to = 0;
  backend->launch_copy(&to, &from, sizeof from);
  EXPECT_EQ(to, 1);
}

TEST(CpuBackend, RefusesARecordingWithinARecording) {
  const auto backend = make_cpu_backend(kThreads);
  EXPECT_THROW(backend->record([&] { backend->record([] {}); }), std::logic_error);
}

TEST(CpuBackend, RefusesWhatItsSourcesCannotCompute) {
  const auto backend = make_cpu_backend(kThreads);
  test::DecodeCase c(test::decode_shapes(bf16).front());
  test::HostPlace host;
  const DecodeAttention attention = test::problem(c, host);
  EXPECT_FALSE(backend->supports(attention, KernelSource::library));
  EXPECT_THROW(backend->launch(attention, KernelSource::library), std::invalid_argument);
  EXPECT_THROW(backend->launch(Rope{}), std::invalid_argument);
}

// ---- memory

TEST(CpuBackend, GivesAlignedMemoryThatItCanFillAndCopy) {
  const auto backend = make_cpu_backend(kThreads);
  // One byte, and beyond the sizes from which memory is huge pages and copies pass the caches.
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{1000}, (std::size_t{5} << 20) + 3}) {
    Memory memory(*backend, bytes);
    Memory other(*backend, bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % 256, 0U);
    std::vector<unsigned char> from(bytes);
    for (std::size_t i = 0; i < bytes; ++i) from[i] = static_cast<unsigned char>(i * 7 + i / 251);
    backend->upload(memory.data(), from.data(), bytes);
    backend->launch_copy(other.data(), memory.data(), bytes);
    std::vector<unsigned char> to(bytes);
    backend->download(to.data(), other.data(), bytes);
    EXPECT_EQ(to, from);
  }
}

TEST(CpuMachine, MemoryIsLimitedByEveryGroupAboveTheProcess) {
  const auto folders = [](const char* self_cgroup) {
    std::vector<std::string> found;
    for (const cpu::ControlGroup& group : cpu::control_groups(self_cgroup, "memory")) {
      found.push_back((group.unified ? "2 " : "1 ") + group.folder);
    }
    return found;
  };
  using Folders = std::vector<std::string>;
  EXPECT_EQ(folders("0::/job/step\n"),
            (Folders{"2 /sys/fs/cgroup/job/step", "2 /sys/fs/cgroup/job", "2 /sys/fs/cgroup"}));
  EXPECT_EQ(folders("5:cpu:/other\n4:blkio,memory:/job\n"),
            (Folders{"1 /sys/fs/cgroup/memory/job", "1 /sys/fs/cgroup/memory"}));
  EXPECT_EQ(folders("0::/\n"), (Folders{"2 /sys/fs/cgroup"}));
  EXPECT_TRUE(folders("").empty());
  EXPECT_TRUE(folders("nonsense\n1:name=systemd:/\n").empty());
}

TEST(CpuBackend, SaysSoWhenThereIsNoMemory) {
  const auto backend = make_cpu_backend(kThreads);
  EXPECT_THROW(backend->allocate(std::size_t{1} << 60), std::runtime_error);
}

TEST(CpuBackend, FillsWithTheSameValuesOnAnyNumberOfThreads) {
  constexpr std::int64_t kCount = 100001;
  constexpr float kDeviation = 0.5F;
  const std::uint64_t seed = test::fresh_seed();
  for (const Element element : {fp32, fp16, bf16, fp8_e4m3, int8}) {
    test::Tensor one(element, kCount);
    test::Tensor three(element, kCount);
    const float deviation = element == int8 ? 40 : kDeviation;
    make_cpu_backend(1)->fill_normal(one.data(), element, kCount, seed, deviation);
    make_cpu_backend(3)->fill_normal(three.data(), element, kCount, seed, deviation);
    EXPECT_EQ(one.values(), three.values());
    EXPECT_TRUE(one.guard_is_whole());
    for (std::int64_t i = 0; i < kCount; i += 997) {
      const NormalPair pair = normal_pair(seed, static_cast<std::uint64_t>(i / 2));
      double value = (i % 2 == 0 ? pair.first : pair.second) * deviation;
      if (element == int8) value = std::clamp(value, -128.0, 127.0);  // conversion saturates
      // Fused and unfused products differ by roundings: 16 units as in normal_values_test.cpp, of
      // values up to 5.77 deviations.
      const double fused = 5.77 * deviation * 16 * 0x1p-24;
      EXPECT_NEAR(one.get(static_cast<std::size_t>(i)), value,
                  fused + test::storage_error(element, std::abs(value) + fused))
          << name_of(element) << " " << i;
    }
  }
}

// ---- facts

TEST(CpuBackend, SaysWhatItIs) {
  const auto backend = make_cpu_backend(kThreads);
  const DeviceFacts& facts = backend->facts();
  EXPECT_FALSE(facts.name.empty());
  EXPECT_EQ(facts.multiprocessors, kThreads);
  EXPECT_GT(facts.memory_bytes, 0);
  EXPECT_GT(facts.free_memory_bytes, 0);
  EXPECT_LE(facts.free_memory_bytes, facts.memory_bytes);
  EXPECT_TRUE(facts.peak_flops_per_s.empty());
  EXPECT_FALSE(facts.peak_bandwidth_bytes_per_s.has_value());
}

TEST(CpuBackend, NamesASourceForEveryFamily) {
  const auto backend = make_cpu_backend(kThreads);
  for (const KernelFamily family :
       {KernelFamily::gemm, KernelFamily::grouped_gemm, KernelFamily::int4_gemm,
        KernelFamily::prefill_attention, KernelFamily::decode_attention,
        KernelFamily::latent_decode, KernelFamily::token_operators, KernelFamily::copy}) {
    const auto sources = backend->sources(family);
    ASSERT_FALSE(sources.empty());
    EXPECT_EQ(sources.back().first, KernelSource::own);
    EXPECT_THAT(sources.back().second, testing::StartsWith("roofcast "));
  }
}

TEST(Machine, FindsFieldsOfProcFiles) {
  constexpr auto kText =
      "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC 9654\n\n"
      "processor\t: 1\nmodel\t: 17\n";
  EXPECT_EQ(cpu::field(kText, "vendor_id"), "AuthenticAMD");
  EXPECT_EQ(cpu::field(kText, "model name"), "AMD EPYC 9654");
  EXPECT_EQ(cpu::field(kText, "model"), "17");
  EXPECT_EQ(cpu::field(kText, "flags"), "");
  EXPECT_EQ(cpu::field("MemTotal:       24609872 kB", "MemTotal"), "24609872 kB");
}

TEST(Machine, ReadsSizesWithTheKernelsUnits) {
  EXPECT_EQ(cpu::parse_bytes("32768K"), 32 << 20);
  EXPECT_EQ(cpu::parse_bytes("2 kB"), 2048);
  EXPECT_EQ(cpu::parse_bytes("8M"), 8 << 20);
  EXPECT_EQ(cpu::parse_bytes("4096"), 4096);
  EXPECT_EQ(cpu::parse_bytes("max"), std::nullopt);
  EXPECT_EQ(cpu::parse_bytes("3 parsecs"), std::nullopt);
}

TEST(Machine, NamesVendors) {
  EXPECT_EQ(cpu::vendor_name("GenuineIntel"), "Intel");
  EXPECT_EQ(cpu::vendor_name("AuthenticAMD"), "AMD");
  EXPECT_EQ(cpu::vendor_name("HygonGenuine"), "HygonGenuine");
}

TEST(Machine, MeasuresAClockOfAProcessorOrNone) {
  const double clock = cpu::measured_clock_hz();
  // Between an idling and the fastest processor ever sold; 0 where it is not known.
  EXPECT_TRUE(clock == 0 || (clock > 1e8 && clock < 1e10)) << clock;
}

}  // namespace
}  // namespace roofcast::kernels
