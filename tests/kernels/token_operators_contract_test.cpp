#include <gtest/gtest.h>

#include <cmath>

#include "kernels/token_operators.hpp"
#include "tests/kernels/refusal.hpp"

namespace roofcast::kernels {
namespace {

using test::expect_refused;

alignas(16) char token_memory[64];
alignas(16) char token_output[64];
alignas(16) std::int32_t token_numbers[4] = {};
alignas(16) const std::int64_t slots[2] = {};
alignas(16) float factors[4] = {};

const Embedding embedding{.tokens = 3,
                          .hidden = 16,
                          .vocabulary = 10,
                          .token = token_numbers,
                          .table = token_memory,
                          .output = token_output};
const Rope rope{.tokens = 3,
                .query_heads = 4,
                .kv_heads = 2,
                .head_dim = 16,
                .stride = 128,
                .query = token_memory,
                .key = token_output,
                .position = token_numbers,
                .cosine = factors,
                .sine = factors};
const KvWrite write{
    .tokens = 3,
    .stride = 64,
    .key = token_memory,
    .value = token_memory,
    .slot = slots,
    .cache = {.kv_heads = 2, .head_dim = 16, .keys = token_output, .values = token_output}};
const Activation activation{.rows = 3, .width = 16, .input = token_memory, .output = token_output};
const Sampling sampling{.rows = 3,
                        .vocabulary = 101,
                        .logits = token_memory,
                        .token = token_numbers,
                        .workspace = token_output};
const GatherRows gather{
    .rows = 3, .hidden = 16, .row = token_numbers, .input = token_memory, .output = token_output};
const Routing routing{.tokens = 100,
                      .experts = 6,
                      .top_k = 2,
                      .logits = token_memory,
                      .first_row = token_numbers,
                      .source = token_numbers,
                      .place = token_numbers,
                      .weight = factors,
                      .workspace = token_output};
const Combine combine{.tokens = 3,
                      .top_k = 2,
                      .hidden = 16,
                      .input = token_memory,
                      .place = token_numbers,
                      .weight = factors,
                      .output = token_output};

TEST(TokenOperators, CountTheirBytes) {
  // bf16 throughout: 2 bytes an element.
  EXPECT_EQ(bytes_moved(embedding), 2 * 3 * 16 * 2);       // read and written
  EXPECT_EQ(bytes_moved(rope), 2 * 3 * (4 + 2) * 16 * 2);  // in place: read and written
  EXPECT_EQ(bytes_moved(write), 2 * 2 * 3 * 2 * 16 * 2);   // key and value, read and written
  EXPECT_EQ(bytes_moved(activation), 3 * 3 * 16 * 2);      // two read, one written
  EXPECT_EQ(bytes_moved(sampling), 3 * 101 * 2);
  EXPECT_EQ(bytes_moved(gather), 2 * 3 * 16 * 2);
  // 100 rows of 6 logits; 200 pairs with a source, a place and a weight of 4 bytes each.
  EXPECT_EQ(bytes_moved(routing), 100 * 6 * 2 + 200 * 12);
  EXPECT_EQ(bytes_moved(combine), (6 + 3) * 16 * 2);  // two rows read a token, one written
}

TEST(TokenOperators, CountTheBytesOfOtherForms) {
  KvWrite eight = write;
  eight.cache.element = Element::fp8_e4m3;
  EXPECT_EQ(bytes_moved(eight), 2 * 3 * 2 * 16 * (2 + 1));
  Activation gelu = activation;
  gelu.kind = ActivationKind::gelu;
  EXPECT_EQ(bytes_moved(gelu), 2 * 3 * 16 * 2);
}

TEST(TokenOperators, SayHowMuchWorkspaceTheyNeed) {
  EXPECT_EQ(workspace_bytes(sampling), 3 * 4096);
  // 100 tokens are 4 blocks of 32: counts of 6 experts for each and for all; 200 choices.
  EXPECT_EQ(workspace_bytes(routing), 4 * (5 * 6 + 200));
}

TEST(RopeTable, HoldsTheAnglesOfEachPosition) {
  // Head of 4, base 100: frequencies 1 and 100^(-1/2) = 1/10.
  const RopeTable table = rope_table(3, 4, 100);
  ASSERT_EQ(table.cosine.size(), 6U);
  ASSERT_EQ(table.sine.size(), 6U);
  EXPECT_EQ(table.cosine[0], 1);
  EXPECT_EQ(table.sine[1], 0);
  EXPECT_FLOAT_EQ(table.cosine[4], std::cos(2.0F));
  EXPECT_FLOAT_EQ(table.sine[5], std::sin(0.2F));
}

TEST(Embedding, RefusesWhatItsContractDoesNotCover) {
  using E = Embedding;
  const E& good = embedding;
  expect_refused(
      good, [](E& e) { e.element = Element::int8; }, "embedding: the element must be");
  expect_refused(
      good, [](E& e) { e.tokens = -1; }, "rows must be 0 to 2^31 - 1");
  expect_refused(
      good, [](E& e) { e.hidden = 12; }, "a positive multiple of 16 bytes");
  expect_refused(
      good, [](E& e) { e.hidden = 0; }, "a positive multiple of 16 bytes");
  expect_refused(
      good, [](E& e) { e.vocabulary = 0; }, "the vocabulary must be positive");
  expect_refused(
      good, [](E& e) { e.token = nullptr; }, "must be given");
  expect_refused(
      good, [](E& e) { e.table = token_memory + 2; }, "aligned to 16 bytes");
}

TEST(Rope, RefusesWhatItsContractDoesNotCover) {
  using R = Rope;
  expect_refused(
      rope, [](R& r) { r.element = Element::fp8_e4m3; }, "RoPE: the element must be");
  expect_refused(
      rope, [](R& r) { r.kv_heads = 0; }, "must be positive");
  expect_refused(
      rope, [](R& r) { r.head_dim = 8; }, "half a head");  // 8 bytes
  expect_refused(
      rope, [](R& r) { r.stride = 56; }, "the stride must hold all heads");
  expect_refused(
      rope, [](R& r) { r.stride = 132; }, "multiple of 16 bytes");
  expect_refused(
      rope, [](R& r) { r.sine = nullptr; }, "must be given");
  expect_refused(
      rope, [](R& r) { r.key = token_output + 2; }, "aligned to 16 bytes");
}

TEST(KvWrite, RefusesWhatItsContractDoesNotCover) {
  using W = KvWrite;
  expect_refused(
      write, [](W& w) { w.element = Element::int8; }, "KV write: the element must be");
  expect_refused(
      write, [](W& w) { w.cache.element = Element::fp16; }, "or fp8_e4m3");
  expect_refused(
      write, [](W& w) { w.cache.page_size = 5; }, "must be a power of two");
  expect_refused(
      write, [](W& w) { w.stride = 24; }, "the stride must hold all heads");
  expect_refused(
      write, [](W& w) { w.stride = 36; }, "multiple of 16 bytes");
  expect_refused(
      write, [](W& w) { w.slot = nullptr; }, "must be given");
  expect_refused(
      write, [](W& w) { w.cache.keys = nullptr; }, "keys and values must be given");
}

TEST(Activation, RefusesWhatItsContractDoesNotCover) {
  using A = Activation;
  const A& good = activation;
  expect_refused(
      good, [](A& a) { a.element = Element::int8; }, "activation: the element must be");
  expect_refused(
      good, [](A& a) { a.width = 4; }, "a positive multiple of 16 bytes");
  expect_refused(
      good, [](A& a) { a.input = nullptr; }, "must be given");
  expect_refused(
      good, [](A& a) { a.output = token_memory; }, "must not be the input of a product");
  A gelu = good;
  gelu.kind = ActivationKind::gelu;
  gelu.output = token_memory;
  EXPECT_EQ(test::refusal(gelu), "");
}

TEST(Sampling, RefusesWhatItsContractDoesNotCover) {
  using S = Sampling;
  const S& greedy = sampling;
  expect_refused(
      greedy, [](S& s) { s.vocabulary = 0; }, "sampling: the vocabulary");
  expect_refused(
      greedy, [](S& s) { s.top_k = -1; }, "top_k must not be negative");
  expect_refused(
      greedy, [](S& s) { s.top_p = 0; }, "top_p must be in (0, 1]");
  expect_refused(
      greedy, [](S& s) { s.top_p = 1.5F; }, "top_p must be in (0, 1]");
  expect_refused(
      greedy, [](S& s) { s.top_p = std::nanf(""); }, "top_p must be in (0, 1]");
  expect_refused(
      greedy, [](S& s) { s.workspace = nullptr; }, "must be given");
  expect_refused(
      greedy, [](S& s) { s.top_k = 0; }, "uniform must be given unless greedy");
  S drawn = greedy;
  drawn.top_k = 0;
  drawn.uniform = factors;
  expect_refused(
      drawn, [](S& s) { s.temperature = 0; }, "the temperature must be positive");
  expect_refused(
      drawn, [](S& s) { s.uniform = factors + 1; }, "aligned to 16 bytes");
}

TEST(GatherRows, RefusesWhatItsContractDoesNotCover) {
  using G = GatherRows;
  expect_refused(
      gather, [](G& g) { g.rows = -1; }, "gather: rows must be");
  expect_refused(
      gather, [](G& g) { g.hidden = 3; }, "a positive multiple of 16 bytes");
  expect_refused(
      gather, [](G& g) { g.row = nullptr; }, "must be given");
  expect_refused(
      gather, [](G& g) { g.output = token_memory; }, "must not be the input");
}

TEST(Routing, RefusesWhatItsContractDoesNotCover) {
  using R = Routing;
  const R& good = routing;
  expect_refused(
      good, [](R& r) { r.experts = 1025; }, "routing: experts must be 1 to 1024");
  expect_refused(
      good, [](R& r) { r.top_k = 7; }, "top_k must be 1 to 32 and at most experts");
  expect_refused(
      good, [](R& r) { r.top_k = 0; }, "top_k must be 1 to 32 and at most experts");
  expect_refused(
      good, [](R& r) { r.tokens = std::int64_t{1} << 30; }, "tokens * top_k");
  expect_refused(
      good, [](R& r) { r.workspace = nullptr; }, "must be given");
  expect_refused(
      good, [](R& r) { r.weight = factors + 1; }, "aligned to 16 bytes");
}

TEST(Combine, RefusesWhatItsContractDoesNotCover) {
  using C = Combine;
  expect_refused(
      combine, [](C& c) { c.top_k = 33; }, "combine: top_k must be 1 to 32");
  expect_refused(
      combine, [](C& c) { c.hidden = 4; }, "a positive multiple of 16 bytes");
  expect_refused(
      combine, [](C& c) { c.tokens = std::int64_t{1} << 30; }, "tokens * top_k");
  expect_refused(
      combine, [](C& c) { c.place = nullptr; }, "must be given");
  expect_refused(
      combine, [](C& c) { c.output = token_memory; }, "must not be the input");
}

}  // namespace
}  // namespace roofcast::kernels
