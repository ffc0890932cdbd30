#include "tests/kernels/reference_tokens.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <numeric>

namespace roofcast::kernels {
namespace {

/// Rows of `input` in the order of their indices.
std::vector<double> rows_of(Element element, const void* input, const std::int32_t* index,
                            std::int64_t rows, int width) {
  std::vector<double> output;
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::vector<double> row =
        values_of(element, input, std::int64_t{index[r]} * width, width);
    output.insert(output.end(), row.begin(), row.end());
  }
  return output;
}

/// Rotated queries or keys, with `heads` heads per token.
Sums rotated(const Rope& rope, const void* data, int heads) {
  const int half = rope.head_dim / 2;
  Sums sums;
  for (std::int64_t t = 0; t < rope.tokens; ++t) {
    const std::int64_t table = std::int64_t{rope.position[t]} * half;
    for (int h = 0; h < heads; ++h) {
      const std::vector<double> x = values_of(
          rope.element, data, t * rope.stride + std::int64_t{h} * rope.head_dim, rope.head_dim);
      for (int i = 0; i < rope.head_dim; ++i) {
        const double cosine = rope.cosine[table + i % half];
        const double sine = rope.sine[table + i % half];
        const auto low = static_cast<std::size_t>(i % half);
        const double a = i < half ? x[low] * cosine : x[low] * sine;
        const double b = i < half ? -x[low + half] * sine : x[low + half] * cosine;
        sums.values.push_back(a + b);
        sums.magnitudes.push_back(std::abs(a) + std::abs(b));
      }
    }
  }
  return sums;
}

std::vector<double> stored(const KvWrite& write, const void* data, double scale) {
  const std::int64_t row = std::int64_t{write.cache.kv_heads} * write.cache.head_dim;
  std::vector<double> values;
  for (std::int64_t t = 0; t < write.tokens; ++t) {
    for (std::int64_t i = 0; i < row; ++i) {
      const double value = value_at(write.element, data, t * write.stride + i);
      values.push_back(round_to(write.cache.element, value / scale));
    }
  }
  return values;
}

double silu(double x) { return x / (1 + std::exp(-x)); }

double gelu(double x) {
  const double root = std::sqrt(2 / std::numbers::pi);
  return x / 2 * (1 + std::tanh(root * (x + 0.044715 * x * x * x)));
}

/// Indices of `values` in descending order of value; equal values in ascending order of index.
std::vector<std::int32_t> falling(const std::vector<double>& values) {
  std::vector<std::int32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return values[static_cast<std::size_t>(a)] > values[static_cast<std::size_t>(b)];
  });
  return order;
}

}  // namespace

std::vector<double> embedding_reference(const Embedding& embedding) {
  return rows_of(embedding.element, embedding.table, embedding.token, embedding.tokens,
                 embedding.hidden);
}

RopeAnswer rope_reference(const Rope& rope) {
  return {.query = rotated(rope, rope.query, rope.query_heads),
          .key = rotated(rope, rope.key, rope.kv_heads)};
}

KvWriteAnswer kv_write_reference(const KvWrite& write) {
  return {.keys = stored(write, write.key, write.cache.key_scale),
          .values = stored(write, write.value, write.cache.value_scale)};
}

std::vector<double> activation_reference(const Activation& activation) {
  const bool product = activation.kind != ActivationKind::gelu;
  const std::int64_t columns = std::int64_t{activation.width} * (product ? 2 : 1);
  std::vector<double> output;
  for (std::int64_t r = 0; r < activation.rows; ++r) {
    const std::int64_t row = r * columns;
    for (int i = 0; i < activation.width; ++i) {
      const double x = value_at(activation.element, activation.input, row + i);
      const double curved = activation.kind == ActivationKind::silu_mul ? silu(x) : gelu(x);
      const double factor =
          product ? value_at(activation.element, activation.input, row + activation.width + i) : 1;
      output.push_back(curved * factor);
    }
  }
  return output;
}

std::vector<std::int32_t> sampling_order(const Sampling& sampling, std::int64_t row) {
  return falling(
      values_of(sampling.element, sampling.logits, row * sampling.vocabulary, sampling.vocabulary));
}

std::int64_t drawn_place(const Sampling& sampling, std::int64_t row,
                         const std::vector<std::int32_t>& order, double uniform, double top_p) {
  const auto all = static_cast<std::int64_t>(order.size());
  const std::int64_t kept = sampling.top_k == 0 ? all : std::min<std::int64_t>(sampling.top_k, all);
  const auto logit = [&](std::int64_t place) {
    return value_at(sampling.element, sampling.logits,
                    row * sampling.vocabulary + order[static_cast<std::size_t>(place)]);
  };
  std::vector<double> sums;  // running sums of exp((logit - largest) / temperature)
  double sum = 0;
  for (std::int64_t i = 0; i < kept; ++i) {
    sum += std::exp((logit(i) - logit(0)) / sampling.temperature);
    sums.push_back(sum);
  }
  // The fewest that reach top_p of the sum; all of them if rounding keeps the sum below top_p = 1.
  const auto reach = std::lower_bound(sums.begin(), sums.end(), top_p * sums.back());
  const auto last = std::min(reach, sums.end() - 1);
  const auto drawn = std::upper_bound(sums.begin(), last, uniform * *last);
  return drawn - sums.begin();
}

std::vector<std::int32_t> sampling_reference(const Sampling& sampling) {
  std::vector<std::int32_t> tokens;
  for (std::int64_t row = 0; row < sampling.rows; ++row) {
    const std::vector<std::int32_t> order = sampling_order(sampling, row);
    const std::int64_t place =
        sampling.top_k == 1
            ? 0
            : drawn_place(sampling, row, order, sampling.uniform[row], sampling.top_p);
    tokens.push_back(order[static_cast<std::size_t>(place)]);
  }
  return tokens;
}

std::vector<double> gather_reference(const GatherRows& gather) {
  return rows_of(gather.element, gather.input, gather.row, gather.rows, gather.hidden);
}

RoutingAnswer routing_reference(const Routing& routing) {
  const std::int64_t pairs = routing.tokens * routing.top_k;
  std::vector<std::int32_t> expert;  // [tokens, top_k]
  RoutingAnswer answer;
  for (std::int64_t t = 0; t < routing.tokens; ++t) {
    const std::vector<double> logits =
        values_of(routing.element, routing.logits, t * routing.experts, routing.experts);
    const std::vector<std::int32_t> order = falling(logits);
    const auto weight = [&](int j) {
      const auto chosen = static_cast<std::size_t>(order[static_cast<std::size_t>(j)]);
      return std::exp(logits[chosen] - logits[static_cast<std::size_t>(order[0])]);
    };
    double sum = 0;
    for (int j = 0; j < routing.top_k; ++j) sum += weight(j);
    for (int j = 0; j < routing.top_k; ++j) {
      expert.push_back(order[static_cast<std::size_t>(j)]);
      answer.weight.push_back(weight(j) / sum);
    }
  }
  answer.place.resize(static_cast<std::size_t>(pairs));
  for (int e = 0; e < routing.experts; ++e) {
    answer.first_row.push_back(static_cast<std::int32_t>(answer.source.size()));
    for (std::size_t pair = 0; pair < expert.size(); ++pair) {
      if (expert[pair] != e) continue;
      answer.place[pair] = static_cast<std::int32_t>(answer.source.size());
      answer.source.push_back(static_cast<std::int32_t>(pair) / routing.top_k);
    }
  }
  answer.first_row.push_back(static_cast<std::int32_t>(answer.source.size()));
  return answer;
}

Sums combine_reference(const Combine& combine) {
  Sums sums;
  for (std::int64_t t = 0; t < combine.tokens; ++t) {
    for (int i = 0; i < combine.hidden; ++i) {
      double value = 0;
      double magnitude = 0;
      for (int j = 0; j < combine.top_k; ++j) {
        const std::int64_t pair = t * combine.top_k + j;
        const double product =
            combine.weight[pair] * value_at(combine.element, combine.input,
                                            std::int64_t{combine.place[pair]} * combine.hidden + i);
        value += product;
        magnitude += std::abs(product);
      }
      sums.values.push_back(value);
      sums.magnitudes.push_back(magnitude);
    }
  }
  return sums;
}

}  // namespace roofcast::kernels
