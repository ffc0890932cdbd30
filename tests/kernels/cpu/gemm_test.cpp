#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>
#include <vector>

#include "kernels/cpu/gemm.hpp"
#include "kernels/cpu/library_gemm.hpp"
#include "tests/kernels/cpu/cpu_place.hpp"
#include "tests/kernels/gemm_case.hpp"

namespace roofcast::kernels {
namespace {

/// Runs the same problem shape with every instruction set of this machine.
template <class Case, class Shape, class Run>
void expect_answers(const Shape& shape, const Run& run, int k) {
  cpu::ThreadPool pool(2);
  for (const cpu::Isa isa : test::instruction_sets()) {
    SCOPED_TRACE(name_of(isa));
    Case c(shape);
    test::HostPlace host;
    run(test::problem(c, host), pool, isa);
    test::expect_answer(c, test::fp32_sum_error(k));
  }
}

std::vector<test::GemmShape> dense_shapes() {
  std::vector<test::GemmShape> shapes = test::scaled_gemm_shapes();
  for (const Element element : {Element::fp32, Element::fp16, Element::bf16}) {
    for (const test::GemmShape& shape : test::plain_gemm_shapes(element)) shapes.push_back(shape);
    // More than one part of k (kernels/cpu/gemm_block.hpp), with a tail.
    shapes.push_back({element, Element::fp32, GemmScale::none, 1, 3, 70003});
    shapes.push_back({element, Element::fp32, GemmScale::none, 50, 35, 1500});
  }
  // Sums of int8 products beyond what a float holds exactly.
  shapes.push_back({Element::int8, Element::fp32, GemmScale::tensor, 2, 16, 65536});
  return shapes;
}

class GemmCpu : public testing::TestWithParam<test::GemmShape> {};

TEST_P(GemmCpu, AgreesWithTheReference) {
  expect_answers<test::GemmCase>(GetParam(), cpu::gemm, GetParam().k);
}

INSTANTIATE_TEST_SUITE_P(Shapes, GemmCpu, testing::ValuesIn(dense_shapes()),
                         testing::PrintToStringParamName());

class GroupedGemmCpu : public testing::TestWithParam<test::GroupedGemmShape> {};

TEST_P(GroupedGemmCpu, AgreesWithTheReference) {
  expect_answers<test::GroupedGemmCase>(GetParam(), cpu::grouped_gemm, GetParam().k);
}

class Int4GemmCpu : public testing::TestWithParam<test::Int4GemmShape> {};

TEST_P(Int4GemmCpu, AgreesWithTheReference) {
  expect_answers<test::Int4GemmCase>(GetParam(), cpu::int4_gemm, GetParam().k);
}

#define INSTANTIATE_FOR(suite, shapes, name)                                            \
  INSTANTIATE_TEST_SUITE_P(name, suite, testing::ValuesIn(test::shapes(Element::name)), \
                           testing::PrintToStringParamName())
INSTANTIATE_FOR(GroupedGemmCpu, grouped_gemm_shapes, fp32);
INSTANTIATE_FOR(GroupedGemmCpu, grouped_gemm_shapes, fp16);
INSTANTIATE_FOR(GroupedGemmCpu, grouped_gemm_shapes, bf16);
INSTANTIATE_FOR(Int4GemmCpu, int4_gemm_shapes, fp32);
INSTANTIATE_FOR(Int4GemmCpu, int4_gemm_shapes, fp16);
INSTANTIATE_FOR(Int4GemmCpu, int4_gemm_shapes, bf16);

/// Shapes that oneDNN 2.6 supports, or does once their operands are widened (fp16); it has no fp16
/// results of other products.
std::vector<test::GemmShape> library_shapes() {
  std::vector<test::GemmShape> shapes;
  for (const test::GemmShape& shape : dense_shapes()) {
    const bool element = shape.element != Element::fp8_e4m3;
    if (element && (shape.result != Element::fp16 || shape.element == Element::fp16)) {
      shapes.push_back(shape);
    }
  }
  // Several groups of widened columns, the last one short; more rows than columns, divided by rows.
  for (const Element element : {Element::fp16, Element::bf16}) {
    shapes.push_back({element, element, GemmScale::none, 5, 1300, 130});
    shapes.push_back({element, element, GemmScale::none, 200, 30, 70});
  }
  return shapes;
}

class LibraryGemmCpu : public testing::TestWithParam<test::GemmShape> {};

TEST_P(LibraryGemmCpu, AgreesWithTheReference) {
  for (const int threads : {1, 3}) {
    cpu::ThreadPool pool(threads);
    cpu::LibraryGemm library(pool);
    test::GemmCase c(GetParam());
    test::HostPlace host;
    const Gemm gemm = test::problem(c, host);
    if (!library.supports(gemm)) {
      GTEST_SKIP() << (library.name().empty() ? "built without oneDNN"
                                              : "oneDNN has no such kernel");
    }
    library.prepare(gemm);
    library.launch(gemm);
    test::expect_answer(c, test::fp32_sum_error(gemm.k));
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, LibraryGemmCpu, testing::ValuesIn(library_shapes()),
                         testing::PrintToStringParamName());

TEST(LibraryGemmCpu, RefusesWhatItDoesNotSupport) {
  cpu::ThreadPool pool(1);
  cpu::LibraryGemm library(pool);
  test::GemmCase c({Element::fp8_e4m3, Element::fp32, GemmScale::tensor, 4, 64, 64});
  test::HostPlace host;
  const Gemm gemm = test::problem(c, host);
  EXPECT_FALSE(library.supports(gemm));
  EXPECT_THROW(library.launch(gemm), std::invalid_argument);
  EXPECT_THROW(library.launch(Gemm{}), std::invalid_argument);
}

/// `rows` output rows of `c` from row `first` on, computed with `threads` threads.
std::vector<double> rows_of(test::GemmCase& c, std::int64_t first, std::int64_t rows, int threads,
                            cpu::Isa isa) {
  test::HostPlace host;
  Gemm gemm = test::problem(c, host);
  test::Tensor output(c.shape.result, test::count(rows, gemm.n));
  gemm.m = rows;
  gemm.input = static_cast<const char*>(gemm.input) +
               first * gemm.k * static_cast<std::int64_t>(size_of(gemm.element));
  gemm.output = output.data();
  cpu::ThreadPool pool(threads);
  cpu::gemm(gemm, pool, isa);
  return output.values();
}

TEST(GemmCpu, ARowHasTheSameBitsInAnyBatchAndOnAnyNumberOfThreads) {
  for (const Element element : {Element::fp32, Element::bf16, Element::fp16}) {
    test::GemmCase c({element, Element::fp32, GemmScale::none, 61, 100, 1000});
    for (const cpu::Isa isa : test::instruction_sets()) {
      SCOPED_TRACE(name_of(isa));
      const std::vector<double> all = rows_of(c, 0, 61, 1, isa);
      EXPECT_EQ(all, rows_of(c, 0, 61, 3, isa));
      for (const std::int64_t rows : {1, 2, 3, 5, 7, 10, 17, 19, 40}) {
        const std::int64_t first = 8;  // keeps the input aligned to 16 bytes
        const std::vector<double> some = rows_of(c, first, rows, 2, isa);
        EXPECT_EQ(some, std::vector<double>(all.begin() + first * 100,
                                            all.begin() + (first + rows) * 100))
            << rows << " rows";
      }
    }
  }
}

TEST(GemmCpu, RefusesABadShape) {
  cpu::ThreadPool pool(1);
  EXPECT_THROW(cpu::gemm(Gemm{}, pool, cpu::best_isa()), std::invalid_argument);
  EXPECT_THROW(cpu::grouped_gemm(GroupedGemm{}, pool, cpu::best_isa()), std::invalid_argument);
  EXPECT_THROW(cpu::int4_gemm(Int4Gemm{}, pool, cpu::best_isa()), std::invalid_argument);
}

}  // namespace
}  // namespace roofcast::kernels
