// Products with quantised weights against the stored values in double precision. Two kinds of
// input: whole numbers that quantising leaves as they are, where only fp32 sums differ; and any
// numbers, where quantising also moves each by at most half a step.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <vector>

#include "kernels/cpu/memory.hpp"
#include "kernels/cpu/quantized_gemm.hpp"
#include "tests/kernels/reference_quantized.hpp"
#include "tests/kernels/tensors.hpp"

namespace roofcast::kernels {
namespace {

using test::count;
using test::Tensor;

/// Aligned as backends allocate.
class Aligned {
 public:
  explicit Aligned(std::size_t bytes) : data_(cpu::allocate(bytes, pool_)) {}
  ~Aligned() { cpu::release(data_); }
  Aligned(const Aligned&) = delete;
  Aligned& operator=(const Aligned&) = delete;
  void* data() const { return data_; }

 private:
  cpu::ThreadPool pool_{1};
  void* data_;
};

std::vector<cpu::DotIsa> dot_instruction_sets() {
  std::vector<cpu::DotIsa> sets;
  for (const cpu::DotIsa isa : {cpu::DotIsa::portable, cpu::DotIsa::avx2, cpu::DotIsa::avx_vnni,
                                cpu::DotIsa::avx512_vnni}) {
    if (has(isa)) sets.push_back(isa);
  }
  return sets;
}

/// Random bytes whose fp16 scales are near 0.01 and whose fp8 values are numbers.
struct StoredWeight {
  StoredWeight(QuantizedFormat format_in, int n_in, int k_in, std::mt19937& random)
      : format(format_in), n(n_in), k(k_in), bytes(stored_bytes(format, n, k)) {
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
    std::uniform_real_distribution<float> uniform(0.005F, 0.02F);
    const auto put_half = [&](std::size_t at) {
      const Fp16 value = from_float<Fp16>(uniform(random));
      std::memcpy(bytes.data() + at, &value, sizeof value);
    };
    const auto block = static_cast<std::size_t>(block_of(format));
    const std::size_t block_bytes = stored_bytes(format, 1, block_of(format));
    for (std::size_t at = 0; at < bytes.size(); at += block_bytes) {
      if (format == QuantizedFormat::q6_k) put_half(at + block_bytes - 2);
      if (format == QuantizedFormat::q8_0 || format == QuantizedFormat::q4_0) put_half(at);
      if (format == QuantizedFormat::q4_k) {
        put_half(at);
        put_half(at + 2);
      }
    }
    if (format == QuantizedFormat::fp8) {
      for (std::uint8_t& byte : bytes) byte = (byte & 0x7fU) == 0x7fU ? 0x7e : byte;
    }
    const auto rows = static_cast<std::size_t>(n);
    for (std::size_t i = 0; i < rows; ++i) floats.push_back(uniform(random));
    for (std::size_t i = 0; i < rows * static_cast<std::size_t>(k) / block; ++i) {
      halves.push_back(from_float<Fp16>(uniform(random)));
    }
  }

  const void* scales() const {
    if (format == QuantizedFormat::int4) return halves.data();
    return format == QuantizedFormat::int8 || format == QuantizedFormat::fp8 ? floats.data()
                                                                             : nullptr;
  }

  QuantizedFormat format;
  int n, k;
  std::vector<std::uint8_t> bytes;
  std::vector<float> floats{};
  std::vector<Fp16> halves{};
};

/// Output of the kernel, [m, n].
Tensor product_of(const StoredWeight& weight, Tensor& input, std::int64_t m, Element element,
                  int threads, cpu::DotIsa isa) {
  const PackedWeight shape{.format = weight.format, .n = weight.n, .k = weight.k};
  const Aligned packed(shape.bytes());
  pack(shape, weight.bytes.data(), weight.scales(), 0, shape.strips(), packed.data());
  Tensor output(element, count(m, weight.n));
  QuantizedGemm gemm{.shape = shape,
                     .element = element,
                     .m = m,
                     .input = input.data(),
                     .weight = packed.data(),
                     .output = output.data()};
  const Aligned workspace(workspace_bytes(gemm));
  gemm.workspace = workspace.data();
  cpu::ThreadPool pool(threads);
  cpu::quantized_gemm(gemm, pool, isa);
  return output;
}

/// Operations in fp32 on the way to an output, each of at most a unit of the sum of magnitudes. Per
/// addend: two products for its scale and one with the sum; then all additions. Sums of integers
/// are exact, below 2^24. q6_k has two addends a step, q4_k two of them. fp8 has one a value. An
/// output scale and the input's scale take one more each, a division two.
double sum_error(QuantizedFormat format, int k) {
  const bool two = format == QuantizedFormat::q6_k || format == QuantizedFormat::q4_k;
  const int addends = format == QuantizedFormat::fp8 ? k : (two ? 2 : 1) * k / kQuantizedStep;
  return (addends + 8) * test::kUnit;
}

struct Shape {
  QuantizedFormat format;
  Element element;
  std::int64_t m;
  int n;
  int k;
};

// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest finds it by this name
void PrintTo(const Shape& shape, std::ostream* out) {
  *out << name_of(shape.format) << "_" << name_of(shape.element) << "_" << shape.m << "x" << shape.n
       << "x" << shape.k;
}

/// One row; rows that make tiles of every size (11 = 6 + 5, 7 = 4 + 3); several blocks of rows and
/// parts of k; outputs that fill no strip, one strip, no pair of strips.
std::vector<Shape> shapes() {
  std::vector<Shape> list;
  for (const QuantizedFormat format : kQuantizedFormats) {
    const int block = block_of(format);
    const auto add = [&](Element element, std::int64_t m, int n, int blocks) {
      list.push_back({format, element, m, n, block * blocks});
    };
    add(Element::fp32, 1, 1, 1);
    add(Element::fp32, 1, 48, 3);
    add(Element::bf16, 2, 33, 2);
    add(Element::fp16, 5, 16, 5);
    add(Element::fp32, 11, 15, 1);
    add(Element::bf16, 9, 31, 2);
    add(Element::fp32, 7, 100, 1280 / block);
    add(Element::bf16, 100, 50, 768 / block);
    add(Element::fp32, 193, 17, 256 / block);
    add(Element::fp32, 0, 16, 1);
  }
  return list;
}

class QuantizedGemmCpu : public testing::TestWithParam<Shape> {};

TEST_P(QuantizedGemmCpu, AddsWhatTheFormatStoresWhenQuantisingTheInputChangesNothing) {
  const Shape& s = GetParam();
  std::mt19937 random(test::fresh_seed());
  const StoredWeight weight(s.format, s.n, s.k, random);
  // Whole numbers times a power of two, 127 the largest of each block: the scale is that power.
  Tensor input(s.element, count(s.m, s.k));
  std::uniform_int_distribution<int> whole(-127, 127);
  for (std::size_t i = 0; i < input.size(); ++i) {
    const int value = i % kQuantizedStep == 5 ? 127 : whole(random);
    input.set(i, static_cast<float>(value) / 64);
  }
  const StoredValues values =
      stored_values(s.format, s.n, s.k, weight.bytes.data(), weight.scales());
  const Sums expected = quantized_gemm_reference(input.values(), values, s.m, s.n, s.k);
  const double relative = sum_error(s.format, s.k);
  for (const cpu::DotIsa isa : dot_instruction_sets()) {
    SCOPED_TRACE(name_of(isa));
    const Tensor output = product_of(weight, input, s.m, s.element, 2, isa);
    test::expect_close(output, expected.values,
                       [&](std::size_t i) { return expected.magnitudes[i] * relative; });
  }
}

TEST_P(QuantizedGemmCpu, QuantisesTheInputToWithinHalfAStep) {
  const Shape& s = GetParam();
  std::mt19937 random(test::fresh_seed());
  const StoredWeight weight(s.format, s.n, s.k, random);
  Tensor input = test::random_tensor(s.element, count(s.m, s.k), random);
  for (std::size_t i = 0; i < std::min<std::size_t>(input.size(), 32); ++i) input.set(i, 0);
  const std::vector<double> x = input.values();
  const StoredValues values =
      stored_values(s.format, s.n, s.k, weight.bytes.data(), weight.scales());
  const Sums expected = quantized_gemm_reference(x, values, s.m, s.n, s.k);
  // Half a step is max|x| / 254; beyond it the two roundings of value times inverse move what is
  // nearly a tie, by 127 units of that at most. The sums take as many magnitudes more.
  std::vector<double> step(x.size());
  for (std::size_t i = 0; i < x.size(); i += kQuantizedStep) {
    double largest = 0;
    for (std::size_t j = 0; j < kQuantizedStep; ++j)
      largest = std::max(largest, std::abs(x[i + j]));
    for (std::size_t j = 0; j < kQuantizedStep; ++j) {
      step[i + j] = s.format == QuantizedFormat::fp8 ? 0 : largest / 254 * (1 + 512 * test::kUnit);
    }
  }
  StoredValues sizes = values;
  sizes.values.assign(values.values.size(), 0);
  std::transform(values.values.begin(), values.values.end(), sizes.values.begin(),
                 [](double value) { return std::abs(value); });
  const Sums moved = quantized_gemm_reference(step, sizes, s.m, s.n, s.k);
  const double relative = sum_error(s.format, s.k);
  for (const cpu::DotIsa isa : dot_instruction_sets()) {
    SCOPED_TRACE(name_of(isa));
    const Tensor output = product_of(weight, input, s.m, s.element, 2, isa);
    test::expect_close(output, expected.values, [&](std::size_t i) {
      return moved.values[i] + (expected.magnitudes[i] + moved.magnitudes[i]) * relative;
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, QuantizedGemmCpu, testing::ValuesIn(shapes()),
                         testing::PrintToStringParamName());

TEST(QuantizedGemm, ARowHasTheSameBitsInAnyBatchAndOnAnyNumberOfThreads) {
  constexpr int kN = 50;
  constexpr int kK = 1024;
  constexpr std::int64_t kM = 110;
  for (const QuantizedFormat format : kQuantizedFormats) {
    std::mt19937 random(test::fresh_seed());
    const StoredWeight weight(format, kN, kK, random);
    Tensor input = test::random_tensor(Element::fp32, count(kM, kK), random);
    for (const cpu::DotIsa isa : dot_instruction_sets()) {
      SCOPED_TRACE(std::string(name_of(format)) + " " + std::string(name_of(isa)));
      const auto all = product_of(weight, input, kM, Element::fp32, 1, isa).values();
      EXPECT_EQ(all, product_of(weight, input, kM, Element::fp32, 3, isa).values());
      for (const std::int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 97}) {
        const auto some = product_of(weight, input, rows, Element::fp32, 2, isa).values();
        EXPECT_EQ(some, std::vector<double>(all.begin(), all.begin() + rows * kN)) << rows;
      }
    }
  }
}

TEST(QuantizedFormats, RowsThatAreLookedUpHaveTheStoredValues) {
  for (const QuantizedFormat format : {QuantizedFormat::q8_0, QuantizedFormat::q4_0,
                                       QuantizedFormat::q4_k, QuantizedFormat::q6_k}) {
    SCOPED_TRACE(name_of(format));
    std::mt19937 random(test::fresh_seed());
    const StoredWeight weight(format, 2, 512, random);
    const StoredValues expected = stored_values(format, 2, 512, weight.bytes.data(), nullptr);
    std::vector<float> row(512);
    dequantize_row(format, weight.bytes.data() + weight.bytes.size() / 2, 512, row.data());
    for (std::size_t i = 0; i < row.size(); ++i) {
      EXPECT_NEAR(row[i], expected.values[512 + i], 4 * test::kUnit * expected.magnitudes[512 + i]);
    }
  }
}

/// A q4_k block by hand: d = 1, dmin = 2. Sub-block 0: scale 5 (byte 0), minimum 3 (byte 4).
/// Sub-block 4: scale 0x2b: low four bits 0xb in byte 8, high two in the top of byte 0; minimum
/// 0x17: low four 7 in the high nibble of byte 8, high two 1 in the top of byte 4. All nibbles 9:
/// values 5 * 9 - 2 * 3 = 39 and 43 * 9 - 2 * 23 = 341.
TEST(QuantizedFormats, AQ4KBlockByHand) {
  std::vector<std::uint8_t> block(144, 0x99);
  std::fill(block.begin(), block.begin() + 16, std::uint8_t{0});
  block[1] = 0x3c;  // fp16 1.0
  block[3] = 0x40;  // fp16 2.0
  block[4 + 0] = 5 | (2 << 6);
  block[4 + 4] = 3 | (1 << 6);
  block[4 + 8] = 0xb | (7 << 4);
  std::vector<float> values(256);
  dequantize_row(QuantizedFormat::q4_k, block.data(), 256, values.data());
  for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(values[i], 39) << i;
  for (std::size_t i = 128; i < 160; ++i) EXPECT_EQ(values[i], 341) << i;
  EXPECT_EQ(values[32], 0);  // scale and minimum 0
}

/// Bits per value of whole strips, from ggml's block sizes; q4_k's scales are bytes instead of 6
/// bits: 4 more of 144.
TEST(QuantizedFormats, PackedWeightsAreAsLargeAsTheStoredOnes) {
  for (const auto& [format, bits] : {std::pair{QuantizedFormat::q8_0, 8.5},
                                     {QuantizedFormat::q4_0, 4.5},
                                     {QuantizedFormat::q4_k, 4.625},
                                     {QuantizedFormat::q6_k, 6.5625},
                                     {QuantizedFormat::int4, 4.125}}) {
    const PackedWeight weight{.format = format, .n = 64, .k = 4096};
    EXPECT_EQ(static_cast<double>(weight.bytes()) * 8 / (64 * 4096), bits) << name_of(format);
  }
}

/// Sums of k random weights times inputs of deviation 1 deviate by 1 / 64 * sqrt(4096) = 1. The
/// root mean square of n of them varies by 1 / sqrt(2 n), and the input's own by 1 / sqrt(2 k): 3.3
/// % together. Codes of four bits around -0.5 instead of 0 add 0.4 %.
TEST(QuantizedFormats, RandomWeightsHaveTheDeviationAskedFor) {
  constexpr int kN = 512;
  constexpr int kK = 4096;
  cpu::ThreadPool pool(2);
  for (const QuantizedFormat format : kQuantizedFormats) {
    const PackedWeight shape{.format = format, .n = kN, .k = kK};
    const Aligned packed(shape.bytes());
    pack_random(shape, 7, 1.0F / 64, 0, shape.strips(), packed.data());
    std::mt19937 random(1);
    Tensor input = test::random_tensor(Element::fp32, kK, random);
    Tensor output(Element::fp32, kN);
    QuantizedGemm gemm{.shape = shape,
                       .m = 1,
                       .input = input.data(),
                       .weight = packed.data(),
                       .output = output.data()};
    const Aligned workspace(workspace_bytes(gemm));
    gemm.workspace = workspace.data();
    cpu::quantized_gemm(gemm, pool, cpu::best_dot_isa());
    double squares = 0;
    for (const double value : output.values()) squares += value * value;
    const double varies = std::sqrt(1.0 / (2 * kN) + 1.0 / (2 * kK));
    EXPECT_NEAR(std::sqrt(squares / kN), 1, 3 * varies + 0.004) << name_of(format);
  }
}

/// 127 over a denormal number is infinite in fp32; a block of such inputs counts as zeros, and adds
/// at most 256 values of 448 * 0.02 times 1e-38 in fp8, which keeps its inputs.
TEST(QuantizedGemm, InputsTooSmallToScaleAddNothing) {
  constexpr int kN = 16;
  constexpr int kK = 256;
  for (const QuantizedFormat format : kQuantizedFormats) {
    std::mt19937 random(test::fresh_seed());
    const StoredWeight weight(format, kN, kK, random);
    Tensor input(Element::fp32, kK);
    for (std::size_t i = 0; i < input.size(); ++i) input.set(i, i % 2 == 0 ? 0 : 1e-39F);
    for (const cpu::DotIsa isa : dot_instruction_sets()) {
      SCOPED_TRACE(std::string(name_of(format)) + " " + std::string(name_of(isa)));
      const Tensor output = product_of(weight, input, 1, Element::fp32, 1, isa);
      for (const double value : output.values()) {
        // Not a number compares false, too.
        EXPECT_LE(std::abs(value), format == QuantizedFormat::fp8 ? 1e-34 : 0);
      }
    }
  }
}

TEST(QuantizedGemm, RefusesRowsThatAreNotWholeBlocks) {
  cpu::ThreadPool pool(1);
  alignas(64) static float memory[64];
  const QuantizedGemm gemm{.shape = {.format = QuantizedFormat::q4_k, .n = 1, .k = 32},
                           .m = 1,
                           .input = memory,
                           .weight = memory + 16,
                           .output = memory + 32,
                           .workspace = memory + 48};
  EXPECT_THROW(cpu::quantized_gemm(gemm, pool, cpu::best_dot_isa()), std::invalid_argument);
}

}  // namespace
}  // namespace roofcast::kernels
