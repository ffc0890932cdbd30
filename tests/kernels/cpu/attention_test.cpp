#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "kernels/cpu/attention.hpp"
#include "tests/kernels/attention_case.hpp"
#include "tests/kernels/cpu/cpu_place.hpp"
#include "tests/support/trials.hpp"

namespace roofcast::kernels {
namespace {

/// Runs the shape with every instruction set of this machine.
template <class Case, class Shape, class Run>
void expect_answers(const Shape& shape, const Run& run) {
  cpu::ThreadPool pool(2);
  for (const cpu::Isa isa : test::instruction_sets()) {
    SCOPED_TRACE(name_of(isa));
    Case c(shape);
    test::HostPlace host;
    const auto attention = test::problem(c, host);
    ASSERT_TRUE(cpu::supported(attention));
    run(attention, pool, isa);
    test::expect_answer(c);
  }
}

class PrefillCpu : public testing::TestWithParam<test::AttentionShape> {};
class DecodeCpu : public testing::TestWithParam<test::AttentionShape> {};
class LatentCpu : public testing::TestWithParam<test::LatentShape> {};

TEST_P(PrefillCpu, AgreesWithTheReference) {
  expect_answers<test::PrefillCase>(GetParam(), cpu::prefill_attention);
}

TEST_P(DecodeCpu, AgreesWithTheReference) {
  expect_answers<test::DecodeCase>(GetParam(), cpu::decode_attention);
}

TEST_P(LatentCpu, AgreesWithTheReference) {
  expect_answers<test::LatentCase>(GetParam(), cpu::latent_decode);
}

#define INSTANTIATE_FOR(suite, shapes, name)                                            \
  INSTANTIATE_TEST_SUITE_P(name, suite, testing::ValuesIn(test::shapes(Element::name)), \
                           testing::PrintToStringParamName())
INSTANTIATE_FOR(PrefillCpu, prefill_shapes, fp32);
INSTANTIATE_FOR(PrefillCpu, prefill_shapes, fp16);
INSTANTIATE_FOR(PrefillCpu, prefill_shapes, bf16);
INSTANTIATE_FOR(DecodeCpu, decode_shapes, fp32);
INSTANTIATE_FOR(DecodeCpu, decode_shapes, fp16);
INSTANTIATE_FOR(DecodeCpu, decode_shapes, bf16);
INSTANTIATE_FOR(LatentCpu, latent_shapes, fp32);
INSTANTIATE_FOR(LatentCpu, latent_shapes, fp16);
INSTANTIATE_FOR(LatentCpu, latent_shapes, bf16);

/// The last `tokens` tokens of a prompt as one prefill.
std::vector<double> last_as_prefill(test::PrefillCase& c, std::int32_t tokens, int threads,
                                    cpu::Isa isa) {
  test::HostPlace host;
  PrefillAttention attention = test::problem(c, host);
  const auto all = static_cast<std::int32_t>(attention.tokens);
  test::Array<std::int32_t> first(std::vector<std::int32_t>{0, tokens});
  test::Tensor output(Element::fp32, test::count(tokens, c.query_row()));
  attention.query = static_cast<const float*>(attention.query) + (all - tokens) * c.query_row();
  attention.output = output.data();
  attention.first_query = test::at(host, first);
  attention.tokens = tokens;
  attention.longest_query = tokens;
  cpu::ThreadPool pool(threads);
  cpu::prefill_attention(attention, pool, isa);
  return output.values();
}

/// The last token of the prompt in a decode of `sequences` copies of this sequence.
std::vector<double> last_as_decode(test::PrefillCase& c, int sequences, int threads, cpu::Isa isa) {
  test::HostPlace host;
  const PrefillAttention prompt = test::problem(c, host);
  test::Tensor query(Element::fp32, test::count(sequences, c.query_row()));
  test::Array<std::int32_t> pages(test::count(sequences, prompt.cache.pages_per_sequence));
  test::Array<std::int32_t> length(static_cast<std::size_t>(sequences));
  for (int s = 0; s < sequences; ++s) {
    for (int i = 0; i < c.query_row(); ++i) {
      const auto last = test::count(prompt.tokens - 1, c.query_row()) + static_cast<std::size_t>(i);
      query.set(test::count(s, c.query_row()) + static_cast<std::size_t>(i),
                static_cast<float>(c.query.get(last)));
    }
    for (std::size_t i = 0; i < c.layout.entries().size(); ++i) {
      pages.set(test::count(s, prompt.cache.pages_per_sequence) + i, c.layout.entries()[i]);
    }
    length.set(static_cast<std::size_t>(s), c.shape.length.front());
  }
  test::Tensor output(Element::fp32, test::count(sequences, c.query_row()));
  DecodeAttention attention{.element = Element::fp32,
                            .sequences = sequences,
                            .query_heads = prompt.query_heads,
                            .scale = prompt.scale,
                            .window = prompt.window,
                            .query = query.data(),
                            .output = output.data(),
                            .length = test::at(host, length),
                            .cache = prompt.cache,
                            .longest_length = prompt.longest_length};
  attention.cache.page_table = test::at(host, pages);
  test::Storage workspace(test::count(workspace_bytes(attention)));
  attention.workspace = workspace.data();
  cpu::ThreadPool pool(threads);
  cpu::decode_attention(attention, pool, isa);
  return output.values();
}

std::vector<double> last_row(const std::vector<double>& values, std::int64_t row) {
  return {values.end() - row, values.end()};
}

TEST(AttentionCpu, ATokenHasTheSameBitsInAnyBatchAnyChunkAndOnAnyNumberOfThreads) {
  // Several chunks of kernels/cpu/attention_rows.hpp, the last one in part.
  const int tokens = roofcast::test::kSanitised ? 601 : 1201;
  for (const int window : {0, 400}) {
    test::PrefillCase c({.name = "",
                         .element = Element::fp32,
                         .cache = Element::fp32,
                         .query_heads = 6,
                         .kv_heads = 2,
                         .head_dim = 80,
                         .window = window,
                         .new_tokens = {tokens},
                         .length = {tokens}});
    for (const cpu::Isa isa : test::instruction_sets()) {
      SCOPED_TRACE(name_of(isa));
      const std::vector<double> all = last_as_prefill(c, tokens, 1, isa);
      EXPECT_EQ(all, last_as_prefill(c, tokens, 3, isa));
      const std::vector<double> chunk = last_as_prefill(c, 100, 2, isa);
      EXPECT_EQ(chunk, last_row(all, std::ssize(chunk)));
      const std::vector<double> expected = last_row(all, c.query_row());
      EXPECT_EQ(last_as_prefill(c, 1, 2, isa), expected);
      // One sequence is split over 4 threads, 8 sequences are not split.
      EXPECT_EQ(last_as_decode(c, 1, 4, isa), expected);
      EXPECT_EQ(last_row(last_as_decode(c, 8, 2, isa), c.query_row()), expected);
    }
  }
}

TEST(AttentionCpu, RefusesABadShape) {
  cpu::ThreadPool pool(1);
  EXPECT_THROW(cpu::prefill_attention({}, pool, cpu::best_isa()), std::invalid_argument);
  EXPECT_THROW(cpu::decode_attention({}, pool, cpu::best_isa()), std::invalid_argument);
  EXPECT_THROW(cpu::latent_decode({}, pool, cpu::best_isa()), std::invalid_argument);
}

}  // namespace
}  // namespace roofcast::kernels
