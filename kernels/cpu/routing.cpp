// Routing: finds each token's largest logits by insertion into a short list, then counting-sorts
// all pairs by expert.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "kernels/cpu/token_operators.hpp"
#include "kernels/cpu/with_element.hpp"

namespace roofcast::kernels::cpu {
namespace {

struct Choice {
  float logit;
  std::int32_t expert;
};

/// The `top_k` largest by descending logit; of equal ones the lower expert is first, because
/// experts are visited in ascending order and inserted after equal ones.
template <class T>
std::array<Choice, kMaxChoices> largest(const T* logits, int experts, int top_k) {
  std::array<Choice, kMaxChoices> best{};
  int held = 0;
  for (std::int32_t e = 0; e < experts; ++e) {
    const float logit = to_float(logits[e]);
    if (held == top_k && !(logit > best[static_cast<std::size_t>(top_k - 1)].logit)) continue;
    auto i = static_cast<std::size_t>(held < top_k ? held++ : top_k - 1);
    for (; i > 0 && best[i - 1].logit < logit; --i) best[i] = best[i - 1];
    best[i] = {.logit = logit, .expert = e};
  }
  return best;
}

void write_choices(const std::array<Choice, kMaxChoices>& best, int top_k, std::int32_t* place,
                   float* weight) {
  float sum = 0;
  for (int j = 0; j < top_k; ++j) {
    const Choice& choice = best[static_cast<std::size_t>(j)];
    place[j] = choice.expert;
    weight[j] = std::exp(choice.logit - best[0].logit);
    sum += weight[j];
  }
  for (int j = 0; j < top_k; ++j) weight[j] /= sum;
}

}  // namespace

void choose_experts(const Routing& routing, Range tokens) {
  with_plain(routing.element, [&]<class T>(T) {
    for (std::int64_t t = tokens.begin; t < tokens.end; ++t) {
      const T* logits = static_cast<const T*>(routing.logits) + t * routing.experts;
      write_choices(largest(logits, routing.experts, routing.top_k), routing.top_k,
                    routing.place + t * routing.top_k, routing.weight + t * routing.top_k);
    }
  });
}

void sort_by_expert(const Routing& routing) {
  const std::int64_t pairs = routing.tokens * routing.top_k;
  std::array<std::int32_t, kMaxExperts> next{};  // initially the pairs of each expert
  for (std::int64_t pair = 0; pair < pairs; ++pair) {
    ++next[static_cast<std::size_t>(routing.place[pair])];
  }
  std::int32_t row = 0;
  for (int e = 0; e < routing.experts; ++e) {
    routing.first_row[e] = row;
    row += next[static_cast<std::size_t>(e)];
    next[static_cast<std::size_t>(e)] = routing.first_row[e];
  }
  routing.first_row[routing.experts] = row;
  for (std::int64_t pair = 0; pair < pairs; ++pair) {
    const std::int32_t sorted = next[static_cast<std::size_t>(routing.place[pair])]++;
    routing.source[sorted] = static_cast<std::int32_t>(pair / routing.top_k);
    routing.place[pair] = sorted;
  }
}

}  // namespace roofcast::kernels::cpu
