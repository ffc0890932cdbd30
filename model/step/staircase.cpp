#include "model/step/staircase.hpp"

#include <algorithm>
#include <iterator>

#include "model/step/step_estimate.hpp"

namespace roofcast {

namespace {

constexpr std::int64_t kBatches[] = {1, 8, 64};

/// A start token replaces an empty prompt.
std::int64_t positions_of(std::int64_t prompt) { return std::max<std::int64_t>(prompt, 1); }

std::int64_t naive_computations(std::int64_t start, std::int64_t generate) {
  return generate * start + generate * (generate - 1) / 2;
}

/// C(n, 3): divided before multiplying, so that it is exact wherever the result fits 64 bits.
std::int64_t choose_three(std::int64_t n) {
  std::int64_t factors[] = {n, n - 1, n - 2};
  for (const std::int64_t divisor : {2, 3}) {
    for (std::int64_t& factor : factors) {
      if (factor % divisor != 0) continue;
      factor /= divisor;
      break;
    }
  }
  return factors[0] * factors[1] * factors[2];
}

/// Sum of n (n + 1) / 2 over the lengths n of the sequence in each step.
std::optional<std::int64_t> naive_positions(std::int64_t start, std::int64_t generate) {
  constexpr std::int64_t kLongest = 3'800'000;  // C(3.8e6, 3) = 9.145e18 < 2^63 = 9.223e18
  if (start + generate + 1 > kLongest) return std::nullopt;
  return choose_three(start + generate + 1) - choose_three(start + 1);
}

}  // namespace

Staircase count_staircase(std::int64_t prompt, std::int64_t generate) {
  const std::int64_t start = positions_of(prompt);
  Staircase result;
  result.naive_kv_computations = naive_computations(start, generate);
  result.cached_kv_computations = prompt + generate;
  result.attention_positions = result.naive_kv_computations;
  result.naive_attention_positions = naive_positions(start, generate);
  if (generate == 0) return result;
  const auto tokens = static_cast<double>(generate);
  const auto naive = static_cast<double>(result.naive_kv_computations);
  result.needed_kv_computations = start + generate - 1;
  result.redundant_kv_computations = result.naive_kv_computations - result.needed_kv_computations;
  result.waste_factor = naive / static_cast<double>(result.cached_kv_computations);
  // (2 G P + 2 G (2 G - 1) / 2) / naive
  result.growth_if_doubled = tokens * (2 * static_cast<double>(start) + 2 * tokens - 1) / naive;
  result.mean_attention_positions = static_cast<double>(result.attention_positions) / tokens;
  return result;
}

StaircaseGrid staircase_grid(std::int64_t prompt, std::int64_t generate) {
  const std::int64_t start = positions_of(prompt);
  StaircaseGrid grid;
  for (std::int64_t i = 0; i < generate; ++i) {
    grid.steps.push_back({.computed = start + i, .redundant = i == 0 ? 0 : start + i - 1});
    if (i == 0) grid.times_computed.assign(static_cast<std::size_t>(start), generate);
    if (i > 0) grid.times_computed.push_back(generate - i);
  }
  return grid;
}

std::int64_t prefill_attention_positions(std::int64_t prompt) { return prompt * (prompt + 1) / 2; }

double tokens_per_speculative_step(double acceptance, int drafts) {
  // The geometric sum 1 + a + ... + a^k, also correct at a = 1.
  double sum = 1;
  double term = 1;
  for (int i = 0; i < drafts; ++i) {
    term *= acceptance;
    sum += term;
  }
  return sum;
}

StaircaseTimes time_staircase(const Deployment& deployment, std::int64_t prompt,
                              std::int64_t generate) {
  const RooflineStepTime step_time(deployment);
  const std::int64_t start = positions_of(prompt);
  StaircaseTimes times;
  for (std::int64_t i = 0; i < generate; ++i) {
    const Seconds naive = step_time.seconds(prefill_batch(1, start + i));
    const Seconds cached =
        i == 0 ? naive : step_time.seconds(decode_batch(deployment.model, 1, start + i - 1));
    times.naive.push_back(naive);
    times.cached.push_back(cached);
    times.naive_total += naive;
    times.cached_total += cached;
  }
  return times;
}

std::vector<FlattenedToken> flatten_staircase(const Deployment& deployment, std::int64_t prompt,
                                              std::int64_t generate, const Drafting& drafting) {
  const RooflineStepTime step_time(deployment);
  const std::int64_t context = positions_of(prompt) + generate / 2;
  std::vector<FlattenedToken> rows;
  const auto add = [&](std::int64_t batch, int drafts) {
    FlattenedToken row{.batch = batch, .drafts = drafts};
    row.tokens_per_step = tokens_per_speculative_step(drafting.acceptance, drafts);
    row.step = step_time.seconds(speculative_batch(deployment.model, batch, context, drafts)) +
               drafting.pass * static_cast<double>(drafts);
    row.per_token = row.step / (static_cast<double>(batch) * row.tokens_per_step);
    rows.push_back(row);
  };
  for (const std::int64_t batch : kBatches) add(batch, 0);
  if (drafting.drafts == 0) return rows;
  for (const std::int64_t batch : kBatches) {
    add(batch, drafting.drafts);
    FlattenedToken& row = rows.back();
    const Seconds plain = rows[rows.size() - 1 - std::size(kBatches)].step;
    row.break_even_pass = drafting.pass + (plain * row.tokens_per_step - row.step) /
                                              static_cast<double>(drafting.drafts);
  }
  return rows;
}

}  // namespace roofcast
