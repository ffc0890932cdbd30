#include "tests/kernels/reference_attention.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace roofcast::kernels {
namespace {

/// Pages with `row` elements per token, as listed in one sequence's table.
struct Pages {
  Element element;
  const void* data;
  const std::int32_t* table;
  int page_size;
  std::int64_t row;
  double scale;
};

/// The first `length` tokens in order: [length, row].
std::vector<double> gathered(const Pages& pages, std::int64_t length) {
  std::vector<double> tokens;
  for (std::int64_t t = 0; t < length; ++t) {
    const std::int64_t page = pages.table[t / pages.page_size];
    const std::int64_t slot = page * pages.page_size + t % pages.page_size;
    for (std::int64_t i = 0; i < pages.row; ++i) {
      tokens.push_back(pages.scale * value_at(pages.element, pages.data, slot * pages.row + i));
    }
  }
  return tokens;
}

/// One query head and the tokens it attends to; keys[t * row] is token t's key, and its value is
/// found in the same way.
/// value.
struct Head {
  const double* query;
  const double* keys;
  const double* values;
  std::int64_t tokens;
  std::int64_t row;
  int key_dim;
  int value_dim;
  double scale;
};

/// softmax(scores), in place.
void softmax(std::vector<double>& scores) {
  const double largest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& score : scores) {
    score = std::exp(score - largest);
    sum += score;
  }
  for (double& score : scores) score /= sum;
}

void append_head(AttentionAnswer& answer, const Head& head) {
  std::vector<double> probability;
  double largest = 0;
  for (std::int64_t t = 0; t < head.tokens; ++t) {
    double score = 0;
    double magnitude = 0;
    for (int i = 0; i < head.key_dim; ++i) {
      const double product = head.scale * head.query[i] * head.keys[t * head.row + i];
      score += product;
      magnitude += std::abs(product);
    }
    probability.push_back(score);
    largest = std::max(largest, magnitude);
  }
  answer.score_magnitude.push_back(largest);
  softmax(probability);
  for (int i = 0; i < head.value_dim; ++i) {
    double value = 0;
    double magnitude = 0;
    for (std::int64_t t = 0; t < head.tokens; ++t) {
      const double product =
          probability[static_cast<std::size_t>(t)] * head.values[t * head.row + i];
      value += product;
      magnitude += std::abs(product);
    }
    answer.output.values.push_back(value);
    answer.output.magnitudes.push_back(magnitude);
  }
}

/// For prefill and decode: the queries of a sequence are its last tokens.
struct Sequence {
  std::int64_t index;
  std::int64_t first_query;
  std::int64_t queries;
  std::int64_t length;
};

template <class Attention>
void append_sequence(AttentionAnswer& answer, const Attention& attention,
                     const Sequence& sequence) {
  const PagedCache& cache = attention.cache;
  const std::int64_t row = std::int64_t{cache.kv_heads} * cache.head_dim;
  Pages pages{.element = cache.element,
              .data = cache.keys,
              .table = cache.page_table + sequence.index * cache.pages_per_sequence,
              .page_size = cache.page_size,
              .row = row,
              .scale = cache.key_scale};
  const std::vector<double> keys = gathered(pages, sequence.length);
  pages.data = cache.values;
  pages.scale = cache.value_scale;
  const std::vector<double> values = gathered(pages, sequence.length);

  const std::int64_t query_row = std::int64_t{attention.query_heads} * cache.head_dim;
  const std::int64_t stride = attention.query_stride == 0 ? query_row : attention.query_stride;
  const int group = attention.query_heads / cache.kv_heads;
  for (std::int64_t i = 0; i < sequence.queries; ++i) {
    const std::vector<double> query = values_of(attention.element, attention.query,
                                                (sequence.first_query + i) * stride, query_row);
    const std::int64_t seen_end = sequence.length - sequence.queries + i + 1;
    const std::int64_t seen =
        attention.window == 0 ? seen_end : std::min<std::int64_t>(seen_end, attention.window);
    for (int h = 0; h < attention.query_heads; ++h) {
      const std::int64_t first = (seen_end - seen) * row + std::int64_t{h / group} * cache.head_dim;
      append_head(answer, {.query = query.data() + std::int64_t{h} * cache.head_dim,
                           .keys = keys.data() + first,
                           .values = values.data() + first,
                           .tokens = seen,
                           .row = row,
                           .key_dim = cache.head_dim,
                           .value_dim = cache.head_dim,
                           .scale = attention.scale});
    }
  }
}

}  // namespace

AttentionAnswer attention_reference(const PrefillAttention& attention) {
  AttentionAnswer answer;
  for (std::int64_t s = 0; s < attention.sequences; ++s) {
    const std::int64_t first = attention.first_query[s];
    append_sequence(answer, attention,
                    {.index = s,
                     .first_query = first,
                     .queries = attention.first_query[s + 1] - first,
                     .length = attention.length[s]});
  }
  return answer;
}

AttentionAnswer attention_reference(const DecodeAttention& attention) {
  AttentionAnswer answer;
  for (std::int64_t s = 0; s < attention.sequences; ++s) {
    append_sequence(answer, attention,
                    {.index = s, .first_query = s, .queries = 1, .length = attention.length[s]});
  }
  return answer;
}

AttentionAnswer attention_reference(const LatentDecode& attention) {
  const int row = attention.latent + attention.rotary;
  AttentionAnswer answer;
  for (std::int64_t s = 0; s < attention.sequences; ++s) {
    const Pages pages{.element = attention.element,
                      .data = attention.cache,
                      .table = attention.page_table + s * attention.pages_per_sequence,
                      .page_size = attention.page_size,
                      .row = row,
                      .scale = 1};
    const std::vector<double> tokens = gathered(pages, attention.length[s]);
    for (std::int64_t h = 0; h < attention.query_heads; ++h) {
      const std::vector<double> query =
          values_of(attention.element, attention.query, (s * attention.query_heads + h) * row, row);
      append_head(answer, {.query = query.data(),
                           .keys = tokens.data(),
                           .values = tokens.data(),
                           .tokens = attention.length[s],
                           .row = row,
                           .key_dim = row,
                           .value_dim = attention.latent,
                           .scale = attention.scale});
    }
  }
  return answer;
}

}  // namespace roofcast::kernels
