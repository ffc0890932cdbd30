#include "model/step/staircase.hpp"

#include <algorithm>

#include "model/step/step_estimate.hpp"

namespace roofcast {

namespace {

constexpr std::int64_t kBatches[] = {1, 8, 64};

/// A start token replaces an empty prompt.
std::int64_t positions_of(std::int64_t prompt) { return std::max<std::int64_t>(prompt, 1); }

}  // namespace

Staircase count_staircase(std::int64_t prompt, std::int64_t generate) {
  const std::int64_t start = positions_of(prompt);
  Staircase result;
  result.naive_kv_computations = generate * start + generate * (generate - 1) / 2;
  result.cached_kv_computations = prompt + generate;
  result.attention_positions = result.naive_kv_computations;
  if (generate > 0) {
    const auto tokens = static_cast<double>(generate);
    result.waste_factor = static_cast<double>(result.naive_kv_computations) /
                          static_cast<double>(result.cached_kv_computations);
    result.mean_attention_positions = static_cast<double>(result.attention_positions) / tokens;
  }
  return result;
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
                                              std::int64_t generate, double acceptance,
                                              int drafts) {
  const RooflineStepTime step_time(deployment);
  const std::int64_t context = positions_of(prompt) + generate / 2;
  std::vector<FlattenedToken> rows;
  const auto add = [&](std::int64_t batch, int proposed) {
    FlattenedToken row{.batch = batch, .drafts = proposed};
    row.tokens_per_step = tokens_per_speculative_step(acceptance, proposed);
    row.step = step_time.seconds(speculative_batch(deployment.model, batch, context, proposed));
    row.per_token = row.step / (static_cast<double>(batch) * row.tokens_per_step);
    rows.push_back(row);
  };
  for (const std::int64_t batch : kBatches) add(batch, 0);
  if (drafts == 0) return rows;
  for (const std::int64_t batch : kBatches) add(batch, drafts);
  return rows;
}

}  // namespace roofcast
