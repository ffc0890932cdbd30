#include "model/step/measured_time.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>
#include <vector>

#include "base/chord_log2.hpp"
#include "model/curves/curve_source.hpp"
#include "model/curves/kernel_tables.hpp"
#include "model/curves/operator_shape.hpp"
#include "model/step/carried_time.hpp"
#include "model/step/step_work.hpp"

namespace roofcast {

namespace {

// Nodes per octave between the timed sizes. Linear pieces miss the quadratic growth of a causal
// prompt by 0.4 % with eight (1 / (8 * 8^2) of twice the quadratic part), and a ratio that doubles
// from point to point by less with four.
constexpr int kPrefillSteps = 8;
constexpr int kSteps = 4;
// Outside, where only the base bends the time.
constexpr int kOutsideSteps = 2;

// How far beyond the last timed size the table extends; beyond that, time is proportional to size.
constexpr double kTimesBeyond = 64.0;

// Prefixes below the first timed one that get their own nodes.
constexpr double kPartOfFirstPrefix = 1.0 / 16.0;

void append(std::vector<double>& nodes, const std::vector<double>& more) {
  nodes.insert(nodes.end(), more.begin(), more.end());
}

std::vector<double> sorted_unique(std::vector<double> nodes) {
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

/// Nodes at the timed sizes, between them, below and above.
std::vector<double> nodes_around(const std::vector<double>& timed, double min, int steps,
                                 int outside_steps) {
  const auto [low, high] = std::minmax_element(timed.begin(), timed.end());
  std::vector<double> nodes = timed;
  append(nodes, octave_nodes(std::min(min, *low), *low, outside_steps));
  append(nodes, octave_nodes(*low, *high, steps));
  append(nodes, octave_nodes(*high, *high * kTimesBeyond, outside_steps));
  return sorted_unique(std::move(nodes));
}

}  // namespace

MeasuredTimes::MeasuredTimes(CurveBlend blend, int multiprocessors, const AttentionSpan& span)
    : blend_(std::move(blend)), multiprocessors_(multiprocessors), span_(span) {
  tabulate();
}

MeasuredTimes::MeasuredTimes(CurveBlend blend, const Gpu& card, const AttentionSpan& span)
    : blend_(std::move(blend)), multiprocessors_(card.multiprocessors), span_(span) {
  if (card.sister) {
    multiprocessors_ = card.sister->multiprocessors;
    carry_ = Carry{};
    carry_->from = *card.sister;
    carry_->to.dense_peak = card.dense_peak;
    carry_->to.memory_bandwidth = card.memory_bandwidth;
    carry_->to.boost_clock_hz = card.boost_clock_hz;
    carry_->to.peer = card.peer;
  }
  tabulate();
}

void MeasuredTimes::tabulate() {
  assert(!blend_.parts.empty());
  for (const CurveBlend::Part& part : blend_.parts) fixed_ += part.curve.terms.floor * part.weight;
  timed_floor_ = fixed_;
  if (carry_) fixed_ = fixed_ * transferred_fixed(carry_->from, carry_->to);
  table_.emplace(x_nodes(), y_nodes());
  fixed_ = std::min(fixed_, table_->min(node_time()));
  const MeasuredCurve& first = blend_.parts.front().curve;
  empty_tile_ = first.empty_tile;
  tail_token_ = first.tail_token;
  if (carry_) {
    const double bandwidth = carry_->from.memory_bandwidth / carry_->to.memory_bandwidth;
    tail_token_ = tail_token_ * std::max(1.0, bandwidth);
    empty_tile_ = empty_tile_ * transferred_fixed(carry_->from, carry_->to);
  }
  graph_saving_ = first.graph_saving;
  writes_cache_ = first.writes_cache;
}

std::vector<double> MeasuredTimes::x_nodes() const {
  std::vector<double> timed;
  for (const CurveBlend::Part& part : blend_.parts) {
    for (const MeasuredPoint& point : part.curve.points) timed.push_back(point.x);
  }
  const bool prefill = blend_.shape.family == OperatorFamily::prefill_attention;
  return nodes_around(timed, 1.0, prefill ? kPrefillSteps : kSteps,
                      prefill ? kPrefillSteps : kOutsideSteps);
}

std::vector<double> MeasuredTimes::y_nodes() const {
  if (!has_second_axis(blend_.shape.family)) return {0.0};
  std::vector<double> timed;
  for (const CurveBlend::Part& part : blend_.parts) {
    for (const MeasuredPoint& point : part.curve.points) {
      if (point.y > 0) timed.push_back(point.y);
    }
  }
  if (blend_.shape.family != OperatorFamily::prefill_attention) {
    return nodes_around(timed, 1.0, kSteps, kOutsideSteps);
  }
  if (timed.empty()) timed.push_back(blend_.parts.front().curve.points.back().x);
  const double first = *std::min_element(timed.begin(), timed.end());
  std::vector<double> nodes =
      nodes_around(timed, first * kPartOfFirstPrefix, kSteps, kOutsideSteps);
  nodes.insert(nodes.begin(), 0.0);
  if (span_.kind != AttentionSpan::Kind::sliding) return nodes;
  // A prefix longer than the window costs nothing more.
  const auto window = static_cast<double>(span_.tokens);
  nodes.erase(std::lower_bound(nodes.begin(), nodes.end(), window), nodes.end());
  nodes.push_back(window);
  return nodes;
}

Seconds MeasuredTimes::transferred(Seconds time, double x, double y) const {
  if (!carry_) return time;
  const Seconds fixed = std::min(timed_floor_, time);
  return fixed * transferred_fixed(carry_->from, carry_->to) +
         (time - fixed) * transferred_ratio(work_of(blend_.shape, x, y), carry_->from, carry_->to);
}

CurveAnswer MeasuredTimes::blend_answer(double x, double y) const {
  CurveAnswer result = answer(blend_, x, y, multiprocessors_);
  if (!carry_) return result;
  result.time = transferred(result.time, x, y);
  result.provenance = Provenance::extended;
  const double carried = carried_deviation(carry_->from, carry_->to.memory_bandwidth);
  result.relative_uncertainty = std::min(1.0, std::hypot(result.relative_uncertainty, carried));
  return result;
}

CurveAnswer MeasuredTimes::curve_answer(double x, double y) const {
  if (blend_.shape.family == OperatorFamily::prefill_attention &&
      span_.kind == AttentionSpan::Kind::sliding && blend_.shape.window == 0) {
    return sliding_answer(x, y);
  }
  return blend_answer(x, y);
}

/// Full attention was timed. A chunk truncated by the window is answered by a chunk with as many
/// new tokens and the prefix that gives the same number of pairs. If even a prompt without prefix
/// has more pairs, it is answered by several prompts with the same totals of both, whose fixed time
/// is paid once.
CurveAnswer MeasuredTimes::sliding_answer(double x, double y) const {
  const auto window = static_cast<double>(span_.tokens);
  if (x + y <= window) return blend_answer(x, y);
  const double mean = windowed_pairs(x, y, window) / x;
  CurveAnswer result;
  if (2 * mean >= x + 1) {
    result = blend_answer(x, mean - (x + 1) / 2);
  } else {
    const double prompt = 2 * mean - 1;
    result = blend_answer(prompt, 0);
    const Seconds fixed = std::min(fixed_, result.time);
    result.time = fixed + (result.time - fixed) * (x / prompt);
  }
  result.provenance = Provenance::extended;
  return result;
}

double MeasuredTimes::batch_ratio(double prompts, double x, double y) const {
  double before = 1;
  double ratio = 1;
  for (const MeasuredCurve& batch : blend_.batches) {
    const double count = batch.shape.prompts;
    const Seconds one_by_one = fixed_ + (at(x, y) - fixed_) * count;
    const double here = transferred(answer(batch, x, y, multiprocessors_).time, x, y) / one_by_one;
    if (prompts <= count) {
      const double share =
          (chord_log2(prompts) - chord_log2(before)) / (chord_log2(count) - chord_log2(before));
      return ratio + share * (here - ratio);
    }
    before = count;
    ratio = here;
  }
  return ratio;
}

std::string MeasuredTimes::source() const {
  const std::string& kernel = blend_.parts.front().curve.kernel;
  const std::string_view source = source_of(kernel);
  // Tables name a kernel of the engine alone "TRTLLM 1.3.0".
  return is_engine(source) || source.size() < kernel.size() ? std::string(source) : std::string();
}

Seconds MeasuredTimes::at(double x, double y) const {
  if (span_.kind == AttentionSpan::Kind::sliding &&
      blend_.shape.family == OperatorFamily::prefill_attention) {
    y = std::min(y, static_cast<double>(span_.tokens));
  }
  return table_->at(x, y, node_time());
}

double MeasuredTimes::last_timed() const {
  double last = 0;
  for (const CurveBlend::Part& part : blend_.parts) {
    last = std::max(last, part.curve.points.back().x);
  }
  return last;
}

Seconds MeasuredTimes::tail(const UnevenBatch& batch) const {
  if (!has_tail() || batch.longest.front() <= batch.mean) return {};
  const EvenKernel even{.time = at(batch.sequences, batch.mean), .token = tail_token_};
  return tail_time(blend_.shape, batch, even, multiprocessors_);
}

CurveAnswer MeasuredTimes::explain(double x, double y) const {
  CurveAnswer result = curve_answer(x, y);
  result.time = at(x, y);
  return result;
}

namespace {

/// The kernel tables' curves that answer for a shape; no parts if there are none.
CurveBlend tables_blend(const Gpu& gpu, const OperatorShape& shape, std::string_view engine) {
  if (!gpu.has_tables_for(engine) || !carries_over(gpu, shape.family)) return {};
  return find_blend(*gpu.tables, shape, engine);
}

/// The curves that answer for a shape; no parts if there are none.
CurveBlend blend_for(const Gpu& gpu, const OperatorShape& shape, std::string_view engine) {
  CurveBlend blend;
  if (gpu.measured) blend = find_blend(*gpu.measured, shape, engine);
  return blend.parts.empty() ? tables_blend(gpu, shape, engine) : blend;
}

}  // namespace

std::optional<MeasuredTimes> measured_times(const Gpu& gpu, const OperatorShape& shape,
                                            const AttentionSpan& span, std::string_view engine) {
  if (gpu.measured) {
    CurveBlend own = find_blend(*gpu.measured, shape, engine);
    if (!own.parts.empty()) return MeasuredTimes(std::move(own), gpu.multiprocessors, span);
  }
  CurveBlend blend = tables_blend(gpu, shape, engine);
  if (blend.parts.empty()) return std::nullopt;
  return MeasuredTimes(std::move(blend), gpu, span);
}

bool quantises_input(const Gpu& gpu, const OperatorShape& product, std::string_view engine) {
  const CurveBlend blend = blend_for(gpu, product, engine);
  if (blend.parts.empty()) return false;
  const std::string_view source = source_of(blend.parts.front().curve.kernel);
  return is_engine(source) && !(product.format == "fp8" && is_of_engine(source, "trtllm"));
}

namespace {

/// The source of the time that answers for experts; empty: none.
std::string source_of_experts(const Gpu& gpu, const OperatorShape& experts,
                              const OperatorShape& alone, std::string_view engine) {
  CurveBlend blend = blend_for(gpu, experts, engine);
  if (blend.parts.empty() && alone.experts > 0) blend = blend_for(gpu, alone, engine);
  if (blend.parts.empty()) return {};
  return std::string(source_of(blend.parts.front().curve.kernel));
}

}  // namespace

bool selects_experts(const Gpu& gpu, const OperatorShape& experts, const OperatorShape& alone,
                     std::string_view engine) {
  return is_engine(source_of_experts(gpu, experts, alone, engine));
}

bool needs_sorted_tokens(const Gpu& gpu, const OperatorShape& experts, const OperatorShape& alone,
                         std::string_view engine) {
  const std::string source = source_of_experts(gpu, experts, alone, engine);
  const bool of_profile = source.empty() && !gpu.efficiencies.moe.empty();
  return source == kAiter || (of_profile && gpu.vendor == "AMD" && !is_cpu(gpu));
}

}  // namespace roofcast
