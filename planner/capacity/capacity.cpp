#include "planner/capacity/capacity.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace roofcast {
namespace {

/// The loads tried so far, sorted, and the interval between the last that holds and the first that
/// fails.
class Bracket {
 public:
  Bracket(const LoadTrial& trial, const CapacitySearch& question)
      : trial_(trial), question_(question) {}

  void try_loads(std::vector<double> loads) {
    for (double& load : loads) load = rounded(load);
    std::sort(loads.begin(), loads.end());
    loads.erase(std::unique(loads.begin(), loads.end()), loads.end());
    std::erase_if(loads, [this](double load) { return is_tried(load); });
    if (loads.empty()) return;
    for (LoadPoint& point : trial_(loads)) points_.push_back(std::move(point));
    std::sort(points_.begin(), points_.end(),
              [](const LoadPoint& a, const LoadPoint& b) { return a.load < b.load; });
  }

  /// The first load that fails; end if none does.
  std::vector<LoadPoint>::const_iterator first_failing() const {
    return std::find_if(points_.begin(), points_.end(),
                        [](const LoadPoint& point) { return !point.verdict.holds; });
  }
  bool holds_somewhere() const { return !points_.empty() && points_.front().verdict.holds; }
  bool fails_somewhere() const { return first_failing() != points_.end(); }
  bool is_monotone() const {
    return std::none_of(first_failing(), points_.end(),
                        [](const LoadPoint& point) { return point.verdict.holds; });
  }
  double greatest_holding() const { return std::prev(first_failing())->load; }
  double min_failing() const { return first_failing()->load; }

  /// The interval is within the tolerance.
  bool is_narrow() const {
    const double low = greatest_holding();
    const double high = min_failing();
    if (question_.whole && high - low <= 1) return true;
    return high / low <= 1 + question_.tolerance;
  }

  std::vector<LoadPoint> take() { return std::move(points_); }

 private:
  double rounded(double load) const {
    if (question_.whole) load = std::round(load);
    return std::clamp(load, question_.min, question_.greatest);
  }
  bool is_tried(double load) const {
    return std::any_of(points_.begin(), points_.end(),
                       [&](const LoadPoint& point) { return point.load == load; });
  }

  const LoadTrial& trial_;
  const CapacitySearch& question_;
  std::vector<LoadPoint> points_{};  // sorted by load
};

/// Loads that cut the bracket into parts equal in the logarithm; if rounding to whole numbers
/// leaves none inside, the one in the middle.
std::vector<double> between(double low, double high, const CapacitySearch& question) {
  std::vector<double> loads;
  const double parts = question.at_once + 1;
  for (int i = 1; i <= question.at_once; ++i) {
    double load = low * std::pow(high / low, i / parts);
    if (question.whole) load = std::clamp(std::round(load), low + 1, high - 1);
    loads.push_back(load);
  }
  return loads;
}

/// Goes up from the guess until something fails, or down until something holds. Each stride is the
/// square of the one before, up to an octave or two.
void find_bracket(Bracket& bracket, const CapacitySearch& question) {
  constexpr double kLongest = 4;
  std::vector<double> first = question.also;
  first.insert(first.end(), {question.guess / question.stride, question.guess});
  bracket.try_loads(std::move(first));
  double stride = question.stride;
  for (double load = question.guess; !bracket.fails_somewhere() && load < question.greatest;) {
    load = std::min(stride * load, question.greatest);
    bracket.try_loads({load});
    stride = std::min(stride * stride, kLongest);
  }
  stride = question.stride;
  for (double load = question.guess / stride; !bracket.holds_somewhere() && load > question.min;) {
    load = std::max(load / stride, question.min);
    bracket.try_loads({load});
    stride = std::min(stride * stride, kLongest);
  }
}

}  // namespace

LoadPoint load_point(double load, const SimulationResult& result,
                     const SloRequirement& requirement) {
  return {.load = load,
          .requests = std::ssize(result.requests),
          .offered_rate_per_s = result.offered_rate_per_s,
          .request_rate_per_s = result.request_rate_per_s,
          .input_tokens_per_s = result.input_tokens_per_s,
          .output_tokens_per_s = result.output_tokens_per_s,
          .ttft = result.ttft,
          .tpot = result.tpot,
          .e2e = result.e2e,
          .use = result.use,
          .verdict = judge(result, requirement)};
}

Capacity find_capacity(const LoadTrial& trial, const CapacitySearch& question) {
  assert(question.min > 0 && question.min <= question.guess &&
         question.guess <= question.greatest && question.at_once > 0 && question.tolerance > 0 &&
         question.stride > 1);
  Bracket bracket(trial, question);
  find_bracket(bracket, question);
  while (bracket.holds_somewhere() && bracket.fails_somewhere() && !bracket.is_narrow()) {
    bracket.try_loads(between(bracket.greatest_holding(), bracket.min_failing(), question));
  }
  Capacity capacity;
  capacity.bounded = bracket.fails_somewhere();
  if (bracket.holds_somewhere()) capacity.load = bracket.greatest_holding();
  capacity.monotone = bracket.is_monotone();
  capacity.points = bracket.take();
  return capacity;
}

const LoadPoint& point_of(const Capacity& capacity) {
  assert(!capacity.points.empty());
  const double load = capacity.load.value_or(capacity.points.front().load);
  return *std::find_if(capacity.points.begin(), capacity.points.end(),
                       [&](const LoadPoint& point) { return point.load == load; });
}

}  // namespace roofcast
