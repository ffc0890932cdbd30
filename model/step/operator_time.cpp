#include "model/step/operator_time.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/curves/curve_source.hpp"
#include "model/step/version_terms.hpp"

namespace roofcast {

namespace {

// No curve covers larger steps, and they are past every bend.
constexpr std::int64_t kLargestCount = std::int64_t{1} << 24;

// Below this share of experts that no token chooses, the rest is rounding error.
constexpr double kNoneMissed = 1e-18;

// The same where experts are not picked alike: the rarest few of them add less than 1e-4 to what is
// read.
constexpr double kFewMissed = 1e-3;

// Bounds the table of an operator with very many experts of which a token chooses very few.
constexpr std::int64_t kMaxExpertBends = 16384;

/// Counts up to which the number of experts read still grows.
std::int64_t expert_bends(const LinearOperator& op) {
  if (op.experts == 0) return 0;
  const double rarest = op.pick_classes.empty() ? op.pick_probability : op.pick_classes.front();
  const double none = op.pick_classes.empty() ? kNoneMissed : kFewMissed;
  double missed = 1;
  std::int64_t n = 0;
  while (missed > none && n < kMaxExpertBends) {
    for (std::int64_t token = 0; token < op.group_tokens; ++token) {
      missed *= 1 - rarest;
    }
    ++n;
  }
  return n;
}

void add_around(double count, std::vector<std::int64_t>& counts) {
  if (!(count >= 1) || count >= static_cast<double>(kLargestCount)) return;
  const auto below = static_cast<std::int64_t>(count);
  counts.push_back(below);
  counts.push_back(below + 1);
}

/// Where compute overtakes memory once all experts are read, while activations stay in the cache
/// (their bytes count for less, kCacheSpeedUp) and when they exceed it. In bytes at the ridge.
void add_ridges(const LinearOperator& op, const Gpu& gpu, std::vector<std::int64_t>& counts) {
  const double ridge = ridge_point(gpu, op.work.compute).value;
  const double stored = op.stored_fixed + static_cast<double>(op.experts) * op.expert_bytes;
  const double compute = op.flops_each / ridge;
  add_around(stored / (compute - op.activation_each / kCacheSpeedUp), counts);
  const double saved = gpu.l2_cache.value * (1 - 1 / kCacheSpeedUp);
  add_around((stored - saved) / (compute - op.activation_each), counts);
}

std::vector<std::int64_t> bend_counts(const LinearOperator& op, const Gpu& gpu,
                                      const Curve& curve) {
  std::vector<std::int64_t> counts;
  const std::int64_t last = expert_bends(op);
  for (std::int64_t n = 1; n <= last; ++n) counts.push_back(n);
  for (const double x : bends(curve)) add_around(x, counts);
  if (op.activation_each > 0) add_around(gpu.l2_cache.value / op.activation_each, counts);
  add_ridges(op, gpu, counts);
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

/// Expected largest of n standard normal numbers: the integral of 1 - F(x)^n above 0 less
/// that of F(x)^n below.
double largest_of_normals(int count) {
  if (count <= 1) return 0;
  constexpr double kStep = 1.0 / 64;
  constexpr int kSteps = 8 * 64;
  double sum = 0;
  for (int i = 0; i < kSteps; ++i) {
    const double x = (i + 0.5) * kStep;
    const double above = std::erfc(x / std::sqrt(2.0)) / 2;
    sum += 1 - std::pow(1 - above, count) - std::pow(above, count);
  }
  return sum * kStep;
}

bool may_fall(OperatorFamily family) {
  return family == OperatorFamily::gemm || family == OperatorFamily::moe;
}

}  // namespace

TimedOperator::TimedOperator(LinearOperator op, const Gpu& gpu, std::string_view engine)
    : op_(std::move(op)),
      efficiency_(efficiency_of(op_.work, gpu)),
      measured_(measured_times(gpu, op_.shape, {}, engine)),
      scratch_(op_.work) {
  if (measured_ && op_.dispatched) dispatched_ = dispatched_experts(gpu, op_.shape, engine);
  if (!measured_ && op_.alone_each > 0) {
    measured_ = measured_times(gpu, op_.alone_shape, {}, engine);
    if (measured_) {
      op_.shape = op_.alone_shape;
      op_.shape_each = op_.alone_each;
    }
  }
  // A curve of even picks over ranks answers for the busiest one as for a step of as many more
  // tokens; one rank's experts alone are asked for the busiest one's pairs already.
  const bool over_ranks = op_.shape.expert_ranks > 1;
  if (measured_ && over_ranks && !measured_->of_power_law()) op_.shape_each *= op_.busiest;
  spread_picks_ = measured_ && op_.shape.family == OperatorFamily::moe &&
                  !measured_->of_power_law() && is_engine(measured_->source());
  op_.untuned = op_.untuned && measured_ && !measured_->of_own_shape();
  busiest_by_chance_ = largest_of_normals(op_.expert_ranks);
  for (const double probability : op_.pick_classes) log_missed_.push_back(std::log1p(-probability));
  if (measured_) return;
  // The other families' efficiency is over bytes, where EfficiencyCurve keeps it from rising too
  // fast.
  if (!may_fall(op_.work.family)) return;
  Seconds longest{};
  for (const std::int64_t n : bend_counts(op_, gpu, efficiency_.curve.curve())) {
    longest = std::max(longest, unbent_time(n, gpu));
    bend_.push_back(n);
    longest_so_far_.push_back(longest);
  }
}

Seconds TimedOperator::unbent_time(std::int64_t n, const Gpu& gpu) const {
  set_work(op_, n, scratch_);
  return expected_time(scratch_, gpu, efficiency_);
}

double TimedOperator::missed_share(double size) const {
  const double mean = to_double(op_.shape.experts_per_token) / to_double(op_.shape.experts);
  if (op_.pick_classes.empty()) return std::pow(1 - mean, size);
  // Tokens that choose among all experts; one rank's experts are chosen as often a token.
  const double tokens = size / op_.busiest * mean / op_.pick_probability;
  double sum = 0;
  for (const double log_missed : log_missed_) sum += std::exp(tokens * log_missed);
  return sum / to_double(std::ssize(op_.pick_classes));
}

Seconds TimedOperator::time_of_call(double size) const {
  const auto at = [&](double tokens) {
    const Seconds gathered = measured_->at(tokens, 0);
    if (!dispatched_) return gathered;
    // A power law's curve is asked for tokens, not for the busiest rank's share of pairs.
    const double busiest = measured_->of_power_law() ? op_.busiest : 1;
    const std::optional<Seconds> apart = dispatched_->at(tokens * busiest);
    return apart ? std::min(gathered, *apart) : gathered;
  };
  if (!spread_picks_) return at(size);
  const double experts = to_double(op_.shape.experts);
  const double picked = to_double(op_.shape.experts_per_token);
  const double missed = missed_share(size);
  const double ranks = op_.shape.expert_ranks;
  const double of_rank = experts / ranks;
  const double mean = of_rank * (1 - missed);
  const double hit = std::min(of_rank, mean + busiest_by_chance_ * std::sqrt(mean * missed));
  const double all = experts / picked;  // tokens that hit every expert when spread
  const double spread = hit * ranks / picked;
  if (size <= all) return at(spread);
  return at(size) - (at(all) - at(spread));
}

Seconds TimedOperator::measured_time(std::int64_t n, const Gpu& gpu) const {
  set_work(op_, n, scratch_);
  const double size = size_of(n);
  Seconds call = time_of_call(size);
  if (op_.untuned) {
    const double picked = to_double(op_.shape.experts_per_token);
    call = call * default_experts_ratio(size * picked / to_double(op_.shape.experts));
  }
  return measured_total(call, op_.work.calls / op_.calls_of_shape, scratch_, gpu);
}

Seconds TimedOperator::time(std::int64_t n, const Gpu& gpu, bool captured) const {
  return kernel_time(n, gpu, captured) + op_.wait * static_cast<double>(op_.work.calls) +
         op_.serial.of(n);
}

Seconds TimedOperator::kernel_time(std::int64_t n, const Gpu& gpu, bool captured) const {
  const Seconds alone = alone_time(n, gpu);
  if (!op_.beside.in_step(n, captured)) return alone;
  set_work(op_, n, scratch_);
  return std::min(alone, physical_limit(scratch_, gpu));
}

Seconds TimedOperator::alone_time(std::int64_t n, const Gpu& gpu) const {
  if (measured_) return std::max(measured_time(n, gpu), least_time(n));
  const Seconds own = std::max(unbent_time(n, gpu), least_time(n));
  const auto after = std::upper_bound(bend_.begin(), bend_.end(), n);
  if (after == bend_.begin()) return own;
  return std::max(own, longest_so_far_[static_cast<std::size_t>(after - bend_.begin()) - 1]);
}

Seconds TimedOperator::least_time(std::int64_t n) const {
  return std::max(op_.least, op_.least_each * static_cast<double>(n)) *
         static_cast<double>(op_.work.calls);
}

Seconds TimedOperator::graph_saving() const {
  if (!measured_) return {};
  return measured_->graph_saving() * static_cast<double>(op_.work.calls);
}

OperatorEstimate TimedOperator::explain(std::int64_t n, const Gpu& gpu, bool captured) const {
  const Seconds total = time(n, gpu, captured);  // also fills in the work
  const Seconds least = least_time(n);
  const bool floored =
      least.value > 0 && !op_.beside.in_step(n, captured) && alone_time(n, gpu) <= least;
  if (measured_) {
    const Seconds fixed = measured_->fixed() * static_cast<double>(timed_calls());
    const Seconds own = op_.beside.in_step(n, captured) ? Seconds{} : fixed;
    OperatorEstimate result =
        measured_estimate(measured_->explain(size_of(n), 0), total, own, scratch_, gpu);
    result.source = measured_->source();
    if (floored) {
      result.provenance = std::max(result.provenance, Provenance::extended);
      result.relative_uncertainty = std::max(result.relative_uncertainty, kUntimedKernelDeviation);
      result.source.clear();
    }
    return result;
  }
  OperatorEstimate result = estimate(scratch_, gpu, efficiency_);
  result.time = total;
  if (floored) {
    result.relative_uncertainty = std::max(result.relative_uncertainty, kUntimedKernelDeviation);
    result.bound = op_.least.value > 0 ? Bound::latency : Bound::compute;
  }
  if (op_.serial.of(n) > total / 2.0) result.bound = Bound::latency;
  return result;
}

std::vector<TimedOperator> timed(std::vector<LinearOperator> operators, const Gpu& gpu,
                                 std::string_view engine) {
  std::vector<TimedOperator> list;
  list.reserve(operators.size());
  for (LinearOperator& op : operators) list.emplace_back(std::move(op), gpu, engine);
  return list;
}

}  // namespace roofcast
