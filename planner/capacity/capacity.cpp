#include "planner/capacity/capacity.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "planner/verdict/margin_scale.hpp"

namespace roofcast {
namespace {

/// The first load that is not carried. One that is undecided is, if a greater one of the same
/// requests certainly holds before any fails.
std::span<const LoadPoint>::iterator end_of_holding(std::span<const LoadPoint> sorted) {
  auto end = sorted.begin();
  for (auto point = sorted.begin(); point != sorted.end(); ++point) {
    if (point->verdict.holds) {
      end = std::next(point);
    } else if (!is_undecided(point->verdict)) {
      break;
    }
  }
  return end;
}

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

  /// The first load that is not carried; end if all are.
  std::span<const LoadPoint>::iterator first_failing() const { return end_of_holding(points_); }
  bool holds_somewhere() const { return first_failing() != points().begin(); }
  bool fails_somewhere() const { return first_failing() != points().end(); }
  const LoadPoint& last_holding() const { return *std::prev(first_failing()); }
  double greatest_holding() const { return last_holding().load; }
  double min_failing() const { return first_failing()->load; }

  bool is_open() const { return holds_somewhere() && fails_somewhere() && !is_narrow(); }

  /// Cuts the interval once: where the margins say that the limit is, or, if that cut off little
  /// the last time, into equal parts.
  void cut() {
    const double before = width();
    const bool guided = guided_ && has_margins();
    try_loads(guided ? around_estimate() : equal_parts());
    const bool lost = !holds_somewhere() || !fails_somewhere();
    guided_ = !guided || lost || width() * (question_.at_once + 1) <= before;
  }

  std::vector<LoadPoint> take() { return std::move(points_); }

 private:
  std::span<const LoadPoint> points() const { return points_; }
  double rounded(double load) const {
    if (question_.whole) load = std::round(load);
    return std::clamp(load, question_.min, question_.greatest);
  }
  bool is_tried(double load) const {
    return std::any_of(points_.begin(), points_.end(),
                       [&](const LoadPoint& point) { return point.load == load; });
  }

  /// The interval is within the tolerance.
  bool is_narrow() const {
    if (question_.whole && min_failing() - greatest_holding() <= 1) return true;
    return min_failing() / greatest_holding() <= 1 + question_.tolerance;
  }
  double width() const { return std::log(min_failing() / greatest_holding()); }

  bool has_margins() const {
    return log_room(last_holding().verdict.worst_margin) > 0 &&
           log_room(first_failing()->verdict.worst_margin) < 0;
  }

  /// In a whole-number search strictly between the ends.
  double inside(double load) const {
    if (!question_.whole) return load;
    return std::clamp(std::round(load), greatest_holding() + 1, min_failing() - 1);
  }

  /// Loads that cut the interval into parts equal in the logarithm; if rounding to whole numbers
  /// leaves none inside, the one in the middle.
  std::vector<double> equal_parts() const {
    std::vector<double> loads;
    const double parts = question_.at_once + 1;
    for (int i = 1; i <= question_.at_once; ++i) {
      loads.push_back(inside(greatest_holding() * std::exp(width() * i / parts)));
    }
    return loads;
  }

  /// Loads at most the tolerance apart, around where the chord of the margins is zero. A single one
  /// lies on the side of the middle, so that the next is likely to enclose the limit with it.
  std::vector<double> around_estimate() const {
    const double room = log_room(last_holding().verdict.worst_margin);
    const double missing = -log_room(first_failing()->verdict.worst_margin);
    const double estimate = width() * room / (room + missing);
    const double step = std::min(0.9 * std::log1p(question_.tolerance), width() / 4);
    const double toward_middle = estimate < width() / 2 ? 1 : -1;
    std::vector<double> loads;
    for (int i = 0; i < question_.at_once; ++i) {
      const double offset =
          question_.at_once == 1 ? toward_middle / 2 : i - (question_.at_once - 1) / 2.0;
      const double at = std::clamp(estimate + offset * step, step / 2, width() - step / 2);
      loads.push_back(inside(greatest_holding() * std::exp(at)));
    }
    return loads;
  }

  const LoadTrial& trial_;
  const CapacitySearch& question_;
  std::vector<LoadPoint> points_{};  // sorted by load
  bool guided_ = true;
};

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
  LoadPoint point{static_cast<const LoadResult&>(result)};
  point.load = load;
  point.requests = std::ssize(result.requests);
  point.use = result.use;
  point.verdict = judge(result, requirement);
  return point;
}

Capacity find_capacity(const LoadTrial& trial, const CapacitySearch& question) {
  assert(question.min > 0 && question.min <= question.guess &&
         question.guess <= question.greatest && question.at_once > 0 && question.tolerance > 0 &&
         question.stride > 1);
  Bracket bracket(trial, question);
  find_bracket(bracket, question);
  while (bracket.is_open()) bracket.cut();
  Capacity capacity;
  capacity.bounded = bracket.fails_somewhere();
  if (bracket.holds_somewhere()) capacity.load = bracket.greatest_holding();
  capacity.points = bracket.take();
  capacity.monotone = !holds_again(capacity.points);
  return capacity;
}

bool holds_again(std::span<const LoadPoint> sorted) {
  return std::any_of(end_of_holding(sorted), sorted.end(),
                     [](const LoadPoint& point) { return point.verdict.holds; });
}

const LoadPoint& point_of(const Capacity& capacity) {
  assert(!capacity.points.empty());
  const double load = capacity.load.value_or(capacity.points.front().load);
  return *std::find_if(capacity.points.begin(), capacity.points.end(),
                       [&](const LoadPoint& point) { return point.load == load; });
}

}  // namespace roofcast
