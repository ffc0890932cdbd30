#include "planner/search/bounds.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "model/step/deployment_operators.hpp"
#include "model/step/operator_time.hpp"

namespace roofcast {
namespace {

// Tokens per step: beyond any engine's budget. Successive counts differ by 1/20, which bounds the
// loss in per_token().
constexpr std::int64_t kMaxStepTokens = 1 << 17;
constexpr double kCountRatio = 1.05;

// Step times are rounded to nanoseconds and sums to doubles: a bound this close to a limit is
// inconclusive.
constexpr double kSlack = 1e-6;

Seconds time_of(const std::vector<TimedOperator>& operators, std::int64_t n, const Gpu& gpu) {
  Seconds total;
  for (const TimedOperator& op : operators) total += op.time(n, gpu);
  return total;
}

std::vector<std::int64_t> counts_to(std::int64_t max) {
  std::vector<std::int64_t> counts{1};
  while (counts.back() < max) {
    const auto further =
        static_cast<std::int64_t>(static_cast<double>(counts.back()) * kCountRatio);
    counts.push_back(std::max(counts.back() + 1, further));
  }
  return counts;
}

/// Maximum number of output tokens that a request gains per step.
std::int64_t tokens_per_step(const Engine& engine) { return 1 + engine.speculation.draft_tokens; }

/// `tokens` of a prompt are computed; all but images are tokenised, as is the rest of the prompt.
Seconds unloaded_prompt(const StepFloor& floor, const Engine& engine, std::int64_t tokens,
                        std::int64_t image_tokens) {
  const auto text = static_cast<double>(std::max<std::int64_t>(0, tokens - image_tokens));
  return floor.prompt(tokens) + engine.host.per_request + engine.host.per_prompt_token * text;
}

/// The minimum time between tokens of a request, which also bounds its mean over a request.
Seconds unloaded_gap(const StepFloor& floor, const Engine& engine) {
  return floor.step(1) / static_cast<double>(tokens_per_step(engine));
}

/// Lower bound on the latency of a target. Every request's latency is at least its bound, so the
/// k-th smallest latency is at least the k-th smallest bound; bounds rise with lengths, so that is
/// the bound for the k-th smallest length.
std::optional<Seconds> min_latency(const PromisedLoad& promise, const PlanLoad& load,
                                   const StepFloor& floor, const Engine& engine) {
  const RequestLengths& lengths = load.groups[promise.group];
  const auto rank = static_cast<std::size_t>(promise.last_within);
  switch (promise.metric) {
    case LatencyMetric::ttft:
      return unloaded_prompt(floor, engine, lengths.prompts[rank], lengths.image_tokens);
    case LatencyMetric::tpot:
      return unloaded_gap(floor, engine);
    case LatencyMetric::itl:
      if (engine.speculation.on()) return std::nullopt;  // tokens of one step arrive together
      return unloaded_gap(floor, engine);
    case LatencyMetric::e2e:
      break;
  }
  const auto later = static_cast<double>(lengths.all_later_tokens[rank]);
  return std::max(unloaded_prompt(floor, engine, lengths.prompts[rank], lengths.image_tokens),
                  unloaded_gap(floor, engine) * later);
}

/// The minimum number of requests in a group that meet a limit on `metric`, and the tightest such
/// limit.
struct Kept {
  std::int64_t requests = 0;
  double limit_s = 0;
};

std::optional<Kept> kept(const PlanLoad& load, std::size_t group, LatencyMetric metric) {
  std::optional<Kept> best;
  for (const PromisedLoad& promise : load.promises) {
    if (promise.group != group || promise.metric != metric) continue;
    const Kept one{.requests = promise.last_within + 1, .limit_s = promise.limit_s};
    if (!best || one.requests > best->requests) best = one;
  }
  return best;
}

/// The minimum tokens of this many requests.
double min_tokens(const std::vector<std::int64_t>& ascending, std::int64_t requests) {
  const auto count = std::clamp<std::int64_t>(requests, 0, std::ssize(ascending));
  return static_cast<double>(
      std::accumulate(ascending.begin(), ascending.begin() + count, std::int64_t{0}));
}

/// Work that must finish by a deadline, in tokens.
struct Deadline {
  double seconds = 0;  // from the first arrival
  double prompt_tokens = 0;
  double later_tokens = 0;
  double tokens = 0;  // both together, for the same requests: at least the larger of the two
};

/// Requests that meet their TTFT have computed their prompts by the last arrival plus the limit.
std::optional<Deadline> prompts_deadline(const PlanLoad& load, std::size_t group) {
  const auto ttft = kept(load, group, LatencyMetric::ttft);
  if (!ttft) return std::nullopt;
  const double prompts = min_tokens(load.groups[group].prompts, ttft->requests);
  return Deadline{
      .seconds = load.span_s + ttft->limit_s, .prompt_tokens = prompts, .tokens = prompts};
}

/// Requests that meet their E2E, or both TTFT and TPOT, have finished by the last arrival plus that
/// time. If a of n requests meet one limit and b the other, at least a + b - n meet both.
std::optional<Deadline> whole_deadline(const PlanLoad& load, std::size_t group) {
  const RequestLengths& lengths = load.groups[group];
  const std::int64_t count = std::ssize(lengths.prompts);
  std::optional<Kept> whole = kept(load, group, LatencyMetric::e2e);
  const auto ttft = kept(load, group, LatencyMetric::ttft);
  const auto tpot = kept(load, group, LatencyMetric::tpot);
  if (!whole && ttft && tpot) {
    // Outputs of one token meet any limit on the time between tokens.
    const std::int64_t paced = tpot->requests + count - std::ssize(lengths.later_tokens);
    whole = Kept{.requests = ttft->requests + paced - count,
                 .limit_s = ttft->limit_s +
                            tpot->limit_s * static_cast<double>(lengths.all_later_tokens.back())};
  }
  if (!whole || whole->requests < 1) return std::nullopt;
  return Deadline{.seconds = load.span_s + whole->limit_s,
                  .prompt_tokens = min_tokens(lengths.prompts, whole->requests),
                  .later_tokens = min_tokens(lengths.all_later_tokens, whole->requests),
                  .tokens = min_tokens(lengths.totals, whole->requests)};
}

/// Step time that a single engine would need: at least the time of its tokens and, for tokens after
/// the first, at least that of the steps that hold them, each decoding at most max_num_seqs
/// requests.
double busy_seconds(const StepFloor& floor, const Engine& engine, double tokens,
                    double later_tokens) {
  const double max = static_cast<double>(engine.max_num_seqs * tokens_per_step(engine));
  return std::max(tokens * floor.per_token().value, later_tokens / max * floor.min_step().value);
}

/// Number of units so that engines that are never idle meet the deadline. No engine starts before
/// the first arrival.
std::int64_t units_for(const Shape& shape, const StepFloor& floor, const Engine& engine,
                       const Deadline& deadline) {
  const auto units = [&](std::int32_t engines_of_unit, double busy_s) {
    const double needed = busy_s / deadline.seconds / static_cast<double>(engines_of_unit);
    return static_cast<std::int64_t>(std::ceil(needed * (1 - kSlack)));
  };
  const std::int32_t ranks = shape.parallel.data;
  const PoolSplit& split = shape.split;
  if (!split.apart()) {
    return units(ranks, busy_seconds(floor, engine, deadline.tokens, deadline.later_tokens));
  }
  return std::max(
      units(ranks * split.prefill, busy_seconds(floor, engine, deadline.prompt_tokens, 0)),
      units(ranks * split.decode,
            busy_seconds(floor, engine, deadline.later_tokens, deadline.later_tokens)));
}

std::int64_t min_units(const Shape& shape, const Engine& engine, const StepFloor& floor,
                       const PlanLoad& load) {
  std::int64_t min = 1;
  if (!load.open) return min;
  for (std::size_t group = 0; group < load.groups.size(); ++group) {
    for (const auto& deadline : {prompts_deadline(load, group), whole_deadline(load, group)}) {
      if (deadline) min = std::max(min, units_for(shape, floor, engine, *deadline));
    }
  }
  return min;
}

}  // namespace

StepFloor::StepFloor(const Deployment& deployment)
    : counts_(counts_to(kMaxStepTokens)),
      stages_(deployment.parallel.pipeline),
      prompt_ranks_(deployment.parallel.context) {
  StepOperators operators = step_operators(deployment);
  // A block timed as one may take less than its parts, and not every step has both phases.
  std::erase_if(operators.per_token, [](const LinearOperator& op) {
    return op.block != kNoBlock || op.phase != Phase::all;
  });
  const std::string& engine = deployment.engine.version;
  const std::vector<TimedOperator> per_token = timed(operators.per_token, deployment.gpu, engine);
  const std::vector<TimedOperator> per_row = timed(operators.per_row, deployment.gpu, engine);
  rows_ = time_of(per_row, 1, deployment.gpu);
  launch_ = deployment.engine.host.graph_launch;
  times_.reserve(counts_.size());
  for (const std::int64_t count : counts_) {
    times_.push_back(time_of(per_token, count, deployment.gpu));
  }
  per_token_ = times_.back() / static_cast<double>(counts_.back());
  for (std::size_t i = 0; i + 1 < counts_.size(); ++i) {
    per_token_ = std::min(per_token_, times_[i] / static_cast<double>(counts_[i + 1] - 1));
  }
  per_token_ = per_token_ / static_cast<double>(prompt_ranks_);
}

Seconds StepFloor::step(std::int64_t tokens) const {
  // Each of the ranks that divide prompts computes at least its share.
  const std::int64_t own = std::max<std::int64_t>(1, tokens / prompt_ranks_);
  const auto above = std::upper_bound(counts_.begin(), counts_.end(), own);
  const auto index = static_cast<std::size_t>(above - counts_.begin()) - 1;
  return times_[index] + rows_ + launch_;
}

Seconds StepFloor::prompt(std::int64_t tokens) const {
  const Seconds one = times_.front() + launch_;
  const double steps = stages_ > 1 ? 1.0 : 2.0;  // chunks follow each other through the stages
  const Seconds several = std::max(one * steps, per_token() * static_cast<double>(tokens));
  return std::min(step(tokens), several);
}

ShapeBound bound_shape(const Shape& shape, const Engine& engine, const StepFloor& floor,
                       const PlanLoad& load) {
  ShapeBound bound;
  for (const PromisedLoad& promise : load.promises) {
    const auto min = min_latency(promise, load, floor, engine);
    if (!min || min->value * (1 - kSlack) <= promise.limit_s) continue;
    const double beyond = min->value / promise.limit_s;
    if (bound.verdict != ShapeBound::Verdict::possible &&
        beyond <= bound.at_least_s / bound.limit_s) {
      continue;
    }
    bound.verdict = ShapeBound::Verdict::too_slow;
    bound.what = promise.name;
    bound.limit_s = promise.limit_s;
    bound.at_least_s = min->value;
  }
  bound.min_units = min_units(shape, engine, floor, load);
  return bound;
}

}  // namespace roofcast
