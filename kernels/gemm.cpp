#include "kernels/gemm.hpp"

#include "kernels/check.hpp"

namespace roofcast::kernels {
namespace {

constexpr int kNarrowMultiple = 16;  // 16 bytes of fp8 or int8, one vector load

bool is_narrow(Element element) { return element == Element::fp8_e4m3 || element == Element::int8; }

bool can_store(const Gemm& gemm) {
  if (is_plain(gemm.element)) return gemm.result == gemm.element || gemm.result == Element::fp32;
  return is_plain(gemm.result) || (gemm.element == Element::int8 && gemm.result == Element::int8);
}

void check_scales(const Gemm& gemm) {
  constexpr auto kFamily = "GEMM";
  if (is_plain(gemm.element)) {
    require(gemm.scale == GemmScale::none, kFamily, "fp32, fp16 and bf16 take no scale");
    require(gemm.input_scale == nullptr && gemm.weight_scale == nullptr, kFamily,
            "without a scale, input_scale and weight_scale must be null");
    return;
  }
  require(gemm.scale != GemmScale::none, kFamily, "fp8 and int8 need a scale");
  require(gemm.scale == GemmScale::tensor || gemm.element == Element::fp8_e4m3, kFamily,
          "block scales are for fp8");
  require(gemm.scale == GemmScale::tensor || gemm.k % kScaleBlock == 0, kFamily,
          "with block scales k must be a multiple of 128");
  require(all_given(gemm.input_scale, gemm.weight_scale), kFamily,
          "input_scale and weight_scale must be given");
}

}  // namespace

double flops(const Gemm& gemm) { return 2.0 * static_cast<double>(gemm.m) * gemm.n * gemm.k; }

double bytes_moved(const Gemm& gemm) {
  const auto m = static_cast<double>(gemm.m);
  const auto operand = static_cast<double>(size_of(gemm.element));
  const auto result = static_cast<double>(size_of(gemm.result));
  return operand * gemm.k * (gemm.n + m) + result * m * gemm.n;
}

void check(const Gemm& gemm) {
  constexpr auto kFamily = "GEMM";
  require(gemm.m >= 0 && gemm.m <= kMaxRows, kFamily, "m must be 0 to 2^31 - 1");
  require(gemm.n > 0 && gemm.k > 0, kFamily, "n and k must be positive");
  require(can_store(gemm), kFamily, "the result must be an element that the operands allow");
  require(
      !is_narrow(gemm.element) || (gemm.n % kNarrowMultiple == 0 && gemm.k % kNarrowMultiple == 0),
      kFamily, "n and k must be multiples of 16 for fp8 and int8");
  check_scales(gemm);
  require(all_given(gemm.input, gemm.weight, gemm.output), kFamily,
          "input, weight and output must be given");
  require(gemm.output != gemm.input, kFamily, "the output must not be the input");
  require(all_aligned(gemm.input, gemm.weight, gemm.output, gemm.input_scale, gemm.weight_scale),
          kFamily, "pointers must be aligned to 16 bytes");
}

double flops(const GroupedGemm& gemm) {
  return 2.0 * static_cast<double>(gemm.rows) * gemm.n * gemm.k;
}

double bytes_moved(const GroupedGemm& gemm, int experts_used) {
  const auto rows = static_cast<double>(gemm.rows);
  const double weights = static_cast<double>(experts_used) * gemm.n * gemm.k;
  return static_cast<double>(size_of(gemm.element)) * (weights + rows * gemm.k + rows * gemm.n);
}

void check(const GroupedGemm& gemm) {
  constexpr auto kFamily = "grouped GEMM";
  require(is_plain(gemm.element), kFamily, "the element must be fp32, fp16 or bf16");
  require(gemm.experts > 0, kFamily, "experts must be positive");
  require(gemm.rows >= 0 && gemm.rows <= kMaxRows, kFamily, "rows must be 0 to 2^31 - 1");
  require(gemm.n > 0 && gemm.k > 0, kFamily, "n and k must be positive");
  require(whole_vectors(gemm.element, gemm.n) && whole_vectors(gemm.element, gemm.k), kFamily,
          "rows of n and of k elements must be multiples of 16 bytes");
  require(all_given(gemm.input, gemm.weight, gemm.output, gemm.first_row), kFamily,
          "input, weight, output and first_row must be given");
  require(gemm.output != gemm.input, kFamily, "the output must not be the input");
  require(all_aligned(gemm.input, gemm.weight, gemm.output, gemm.first_row), kFamily,
          "pointers must be aligned to 16 bytes");
}

double flops(const Int4Gemm& gemm) { return 2.0 * static_cast<double>(gemm.m) * gemm.n * gemm.k; }

double bytes_moved(const Int4Gemm& gemm) {
  const auto m = static_cast<double>(gemm.m);
  const double weights = static_cast<double>(gemm.n) * gemm.k;
  const double activations = m * gemm.k + m * gemm.n;
  const auto element = static_cast<double>(size_of(gemm.element));
  return weights / 2 + element * (weights / gemm.group + activations);
}

void check(const Int4Gemm& gemm) {
  constexpr auto kFamily = "int4 GEMM";
  require(is_plain(gemm.element), kFamily, "the element must be fp32, fp16 or bf16");
  require(gemm.m >= 0 && gemm.m <= kMaxRows, kFamily, "m must be 0 to 2^31 - 1");
  require(gemm.n > 0 && gemm.k > 0, kFamily, "n and k must be positive");
  require(gemm.group == 32 || gemm.group == 64 || gemm.group == 128, kFamily,
          "the group must be 32, 64 or 128");
  require(gemm.k % gemm.group == 0, kFamily, "k must be a multiple of the group");
  require(all_given(gemm.input, gemm.weight, gemm.scale, gemm.output), kFamily,
          "input, weight, scale and output must be given");
  require(gemm.output != gemm.input, kFamily, "the output must not be the input");
  require(all_aligned(gemm.input, gemm.weight, gemm.scale, gemm.output), kFamily,
          "pointers must be aligned to 16 bytes");
}

}  // namespace roofcast::kernels
