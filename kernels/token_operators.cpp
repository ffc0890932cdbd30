#include "kernels/token_operators.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kernels/check.hpp"

namespace roofcast::kernels {
namespace {

constexpr std::int64_t kSamplingRowBytes = 4096;

void check_rows(Element element, std::int64_t rows, std::string_view family) {
  require(is_plain(element), family, "the element must be fp32, fp16 or bf16");
  require(rows >= 0 && rows <= kMaxRows, family, "rows must be 0 to 2^31 - 1");
}

void check_width(Element element, int width, std::string_view family) {
  require(width > 0 && whole_vectors(element, width), family,
          "a row must be a positive multiple of 16 bytes");
}

template <class... Pointers>
void check_pointers(std::string_view family, std::string_view expected,
                    const Pointers*... pointers) {
  require(all_given(pointers...), family, expected);
  require(all_aligned(pointers...), family, "pointers must be aligned to 16 bytes");
}

/// Bytes of rows x width elements.
double tensor_bytes(Element element, std::int64_t rows, std::int64_t width) {
  return static_cast<double>(size_of(element)) * static_cast<double>(rows) *
         static_cast<double>(width);
}

}  // namespace

double bytes_moved(const Embedding& embedding) {
  return 2 * tensor_bytes(embedding.element, embedding.tokens, embedding.hidden);
}

void check(const Embedding& embedding) {
  constexpr auto kFamily = "embedding";
  check_rows(embedding.element, embedding.tokens, kFamily);
  check_width(embedding.element, embedding.hidden, kFamily);
  require(embedding.vocabulary > 0, kFamily, "the vocabulary must be positive");
  check_pointers(kFamily, "token, table and output must be given", embedding.token, embedding.table,
                 embedding.output);
}

double bytes_moved(const Rope& rope) {
  const std::int64_t heads = std::int64_t{rope.query_heads} + rope.kv_heads;
  return 2 * tensor_bytes(rope.element, rope.tokens, heads * rope.head_dim);
}

void check(const Rope& rope) {
  constexpr auto kFamily = "RoPE";
  check_rows(rope.element, rope.tokens, kFamily);
  require(rope.query_heads > 0 && rope.kv_heads > 0, kFamily,
          "query_heads and kv_heads must be positive");
  require(
      rope.head_dim > 0 && rope.head_dim % 2 == 0 && whole_vectors(rope.element, rope.head_dim / 2),
      kFamily, "half a head must be a positive multiple of 16 bytes");
  const std::int64_t max_heads = std::max(rope.query_heads, rope.kv_heads);
  require(rope.stride >= max_heads * rope.head_dim && whole_vectors(rope.element, rope.stride),
          kFamily, "the stride must hold all heads and be a multiple of 16 bytes");
  check_pointers(kFamily, "query, key, position, cosine and sine must be given", rope.query,
                 rope.key, rope.position, rope.cosine, rope.sine);
}

RopeTable rope_table(std::int64_t positions, int head_dim, double base) {
  const int half = head_dim / 2;
  RopeTable table;
  table.cosine.reserve(static_cast<std::size_t>(positions * half));
  table.sine.reserve(static_cast<std::size_t>(positions * half));
  for (std::int64_t position = 0; position < positions; ++position) {
    for (int i = 0; i < half; ++i) {
      const double angle = static_cast<double>(position) * std::pow(base, -2.0 * i / head_dim);
      table.cosine.push_back(static_cast<float>(std::cos(angle)));
      table.sine.push_back(static_cast<float>(std::sin(angle)));
    }
  }
  return table;
}

double bytes_moved(const KvWrite& write) {
  const std::int64_t width = std::int64_t{write.cache.kv_heads} * write.cache.head_dim;
  return 2 * (tensor_bytes(write.element, write.tokens, width) +
              tensor_bytes(write.cache.element, write.tokens, width));
}

void check(const KvWrite& write) {
  constexpr auto kFamily = "KV write";
  const PagedCache& cache = write.cache;
  check_rows(write.element, write.tokens, kFamily);
  check_cache(cache, write.element, kFamily);
  require(write.stride >= std::int64_t{cache.kv_heads} * cache.head_dim &&
              whole_vectors(write.element, write.stride),
          kFamily, "the stride must hold all heads and be a multiple of 16 bytes");
  check_pointers(kFamily, "key, value and slot must be given", write.key, write.value, write.slot);
}

double bytes_moved(const Activation& activation) {
  const int tensors = activation.kind == ActivationKind::gelu ? 2 : 3;
  return tensors * tensor_bytes(activation.element, activation.rows, activation.width);
}

void check(const Activation& activation) {
  constexpr auto kFamily = "activation";
  check_rows(activation.element, activation.rows, kFamily);
  check_width(activation.element, activation.width, kFamily);
  check_pointers(kFamily, "input and output must be given", activation.input, activation.output);
  require(activation.kind == ActivationKind::gelu || activation.output != activation.input, kFamily,
          "the output must not be the input of a product");
}

double bytes_moved(const Sampling& sampling) {
  return tensor_bytes(sampling.element, sampling.rows, sampling.vocabulary);
}

std::int64_t workspace_bytes(const Sampling& sampling) { return sampling.rows * kSamplingRowBytes; }

void check(const Sampling& sampling) {
  constexpr auto kFamily = "sampling";
  check_rows(sampling.element, sampling.rows, kFamily);
  require(sampling.vocabulary > 0, kFamily, "the vocabulary must be positive");
  require(sampling.top_k >= 0, kFamily, "top_k must not be negative");
  require(sampling.top_p > 0 && sampling.top_p <= 1, kFamily, "top_p must be in (0, 1]");
  const bool greedy = sampling.top_k == 1;
  require(greedy || (sampling.temperature > 0 && std::isfinite(sampling.temperature)), kFamily,
          "the temperature must be positive");
  require(greedy || sampling.uniform != nullptr, kFamily, "uniform must be given unless greedy");
  check_pointers(kFamily, "logits, token and workspace must be given", sampling.logits,
                 sampling.token, sampling.workspace);
  require(aligned(sampling.uniform), kFamily, "pointers must be aligned to 16 bytes");
}

double bytes_moved(const GatherRows& gather) {
  return 2 * tensor_bytes(gather.element, gather.rows, gather.hidden);
}

void check(const GatherRows& gather) {
  constexpr auto kFamily = "gather";
  check_rows(gather.element, gather.rows, kFamily);
  check_width(gather.element, gather.hidden, kFamily);
  check_pointers(kFamily, "row, input and output must be given", gather.row, gather.input,
                 gather.output);
  require(gather.output != gather.input, kFamily, "the output must not be the input");
}

double bytes_moved(const Routing& routing) {
  const auto pairs = static_cast<double>(routing.tokens) * routing.top_k;
  constexpr double kPairBytes = 2 * sizeof(std::int32_t) + sizeof(float);
  return tensor_bytes(routing.element, routing.tokens, routing.experts) + kPairBytes * pairs;
}

std::int64_t workspace_bytes(const Routing& routing) {
  const std::int64_t blocks = (routing.tokens + kRoutingBlock - 1) / kRoutingBlock;
  const std::int64_t counts = (blocks + 1) * routing.experts;
  const std::int64_t choices = routing.tokens * routing.top_k;
  return (counts + choices) * static_cast<std::int64_t>(sizeof(std::int32_t));
}

void check(const Routing& routing) {
  constexpr auto kFamily = "routing";
  check_rows(routing.element, routing.tokens, kFamily);
  require(routing.experts > 0 && routing.experts <= kMaxExperts, kFamily,
          "experts must be 1 to 1024");
  require(routing.top_k > 0 && routing.top_k <= kMaxChoices && routing.top_k <= routing.experts,
          kFamily, "top_k must be 1 to 32 and at most experts");
  require(routing.tokens * routing.top_k <= kMaxRows, kFamily,
          "tokens * top_k must be at most 2^31 - 1");
  check_pointers(kFamily, "logits, first_row, source, place, weight and workspace must be given",
                 routing.logits, routing.first_row, routing.source, routing.place, routing.weight,
                 routing.workspace);
}

double bytes_moved(const Combine& combine) {
  const std::int64_t rows = combine.tokens * (std::int64_t{combine.top_k} + 1);
  return tensor_bytes(combine.element, rows, combine.hidden);
}

void check(const Combine& combine) {
  constexpr auto kFamily = "combine";
  check_rows(combine.element, combine.tokens, kFamily);
  check_width(combine.element, combine.hidden, kFamily);
  require(combine.top_k > 0 && combine.top_k <= kMaxChoices, kFamily, "top_k must be 1 to 32");
  require(combine.tokens * combine.top_k <= kMaxRows, kFamily,
          "tokens * top_k must be at most 2^31 - 1");
  check_pointers(kFamily, "input, place, weight and output must be given", combine.input,
                 combine.place, combine.weight, combine.output);
  require(combine.output != combine.input, kFamily, "the output must not be the input");
}

}  // namespace roofcast::kernels
