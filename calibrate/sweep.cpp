#include "calibrate/sweep.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/error.hpp"
#include "calibrate/bind.hpp"
#include "calibrate/cases.hpp"

namespace roofcast {

namespace {

/// After this many consecutive failures, checks whether the device still works.
constexpr int kMaxFailuresInARow = 5;

// Used until ceilings and sentinel are timed: no case is too long.
constexpr RoughRates kAnyRates{.flops_per_s = 1e30, .bytes_per_s = 1e30};

bool same_curve(const CalibrationCase& a, const CalibrationCase& b) {
  return a.shape == b.shape && a.kernel == b.kernel;
}

class Sweep {
 public:
  Sweep(Timer& timer, Operands& operands, const SweepPlan& plan, const SweepOptions& options,
        const SweepHooks& hooks, CollectiveTimer* collectives)
      : timer_(timer),
        operands_(operands),
        collectives_(collectives),
        plan_(plan),
        options_(options),
        hooks_(hooks),
        start_s_(hooks.now_s()),
        budget_s_(options.budget_s) {}

  SweepResult run() {
    for (const CalibrationCase& c : plan_.ceilings) {
      if (going_on()) take(c);
    }
    visit_sentinel();
    rates_ = rates();
    time_cases(plan_.cases, budget_s_ * (1.0 - options_.share_for_again));
    time_collectives();
    time_bimodal_again();
    visit_sentinel();
    if (failures_in_a_row_ > 0 && !stopped() && !still_works()) lose_device();
    return std::move(result_);
  }

 private:
  double elapsed_s() const { return hooks_.now_s() - start_s_; }
  bool stopped() const {
    return result_.end == SweepEnd::interrupted || result_.end == SweepEnd::device_lost;
  }

  /// False once the user has asked to stop or the device is lost.
  bool going_on() {
    if (stopped()) return false;
    if (hooks_.go_on && !hooks_.go_on(done_, likely_total())) result_.end = SweepEnd::interrupted;
    return !stopped();
  }

  /// Number of cases that the budget allows at the current rate.
  int likely_total() const {
    const auto all =
        static_cast<double>(plan_.cases.size() + plan_.ceilings.size() + plan_.collectives.size());
    const double share = elapsed_s() / (budget_s_ * (1.0 - options_.share_for_again));
    const double reached = done_ > 0 && share > 0 ? std::max(1.0, done_ / share) : all;
    return std::max(done_, static_cast<int>(std::min(all, reached)));
  }

  std::optional<Timing> time(const CalibrationCase& c) {
    try {
      Timing timing =
          c.kind == CaseKind::collective ? collectives_->time(c) : time_on_this_device(c);
      failures_in_a_row_ = 0;
      return timing;
    } catch (const std::invalid_argument& error) {  // no kernel for this size
      note(c, error);
    } catch (const Error& error) {  // not enough memory
      note(c, error);
    } catch (const std::runtime_error& error) {  // a library that rejects the call, or the device
      note(c, error);
      last_failure_ = error.what();
      if (++failures_in_a_row_ >= kMaxFailuresInARow && !still_works()) lose_device();
    }
    return std::nullopt;
  }

  Timing time_on_this_device(const CalibrationCase& c) {
    BoundCase bound = bind(operands_, c);
    return timer_.time(bound.work);
  }

  void lose_device() {
    result_.end = SweepEnd::device_lost;
    result_.fault = last_failure_;
  }

  /// If the device works, the failures were due to the cases.
  bool still_works() {
    kernels::Backend& backend = operands_.backend();
    try {
      timer_.time({.launch = [&backend](int) { backend.launch_nothing(); }});
    } catch (const std::runtime_error&) {
      return false;
    }
    failures_in_a_row_ = 0;
    return true;
  }

  void note(const CalibrationCase& c, const std::exception& error) {
    result_.failed.push_back(name_of(c) + ": " + error.what());
  }

  void tell(const TimedCase& timed) {
    if (hooks_.on_timed) hooks_.on_timed(timed);
  }

  /// Times a case, or reuses its known timing.
  void take(const CalibrationCase& c) {
    ++done_;
    if (const auto known = plan_.known.find(name_of(c)); known != plan_.known.end()) {
      result_.timed.push_back({.c = c, .timing = known->second});
      return;
    }
    if (std::optional<Timing> timing = time(c)) {
      result_.timed.push_back({.c = c, .timing = std::move(*timing)});
      tell(result_.timed.back());
    }
  }

  void visit_sentinel() {
    if (stopped()) return;
    const std::optional<Timing> timing = time(plan_.sentinel);
    if (!timing) return;
    const Statistics& statistics = timing->statistics;
    result_.drift.push_back(
        {.seconds = statistics.median, .clock_hz = timing->samples.back().clock_hz});
    // The first run also serves as a ceiling: it may be the only product in its format.
    if (result_.drift.size() == 1) {
      result_.timed.push_back({.c = plan_.sentinel, .timing = *timing});
    }
    tell({.c = plan_.sentinel, .timing = *timing});
  }

  RoughRates rates() const {
    if (result_.drift.empty()) return kAnyRates;
    RoughRates rates{.flops_per_s = 1, .bytes_per_s = 1};
    const CalibrationCase& s = plan_.sentinel;
    rates.flops_per_s =
        shape_work(s.shape, s.x, s.y, 1).flops.value / result_.drift.front().seconds;
    for (const TimedCase& timed : result_.timed) {
      if (timed.c.kind != CaseKind::copy) continue;
      rates.bytes_per_s = std::max(rates.bytes_per_s, timed.c.x / timed.timing.statistics.median);
    }
    return rates.bytes_per_s > 1 ? rates : kAnyRates;
  }

  /// By the rough estimate, or because a smaller size of the same curve was too long.
  bool too_long(const CalibrationCase& c) const {
    if (rough_call_s(c, rates_) > options_.max_call_s) return true;
    return std::any_of(result_.timed.begin(), result_.timed.end(), [&](const TimedCase& t) {
      return same_curve(t.c, c) && t.c.x <= c.x && t.c.y <= c.y &&
             t.timing.statistics.median > options_.max_call_s;
    });
  }

  /// Whether another source of the shape was much faster at the largest smaller size at which both
  /// were timed.
  bool outrun(const CalibrationCase& c) const {
    const TimedCase* own = nullptr;
    for (const TimedCase& t : result_.timed) {
      if (!same_curve(t.c, c) || t.c.x > c.x || t.c.y > c.y) continue;
      if (own == nullptr || std::pair(t.c.x, t.c.y) > std::pair(own->c.x, own->c.y)) own = &t;
    }
    if (own == nullptr) return false;
    return std::any_of(result_.timed.begin(), result_.timed.end(), [&](const TimedCase& t) {
      return t.c.shape == c.shape && t.c.kernel != c.kernel && t.c.x == own->c.x &&
             t.c.y == own->c.y && own->c.role == t.c.role &&
             own->timing.statistics.median > options_.outrun * t.timing.statistics.median;
    });
  }

  void time_cases(const std::vector<CalibrationCase>& cases, double until_s) {
    int since_sentinel = 0;
    for (std::size_t i = 0; i < cases.size() && going_on(); ++i) {
      const CalibrationCase& c = cases[i];
      if (elapsed_s() > until_s) {
        result_.end = SweepEnd::out_of_time;
        result_.not_reached += static_cast<int>(cases.size() - i);
        return;
      }
      if (too_long(c)) {
        ++done_;
        result_.too_long.push_back(name_of(c));
        continue;
      }
      if (options_.outrun > 0 && outrun(c)) {
        ++done_;
        ++result_.outrun;
        continue;
      }
      take(c);
      if (++since_sentinel < options_.sentinel_every) continue;
      since_sentinel = 0;
      visit_sentinel();
    }
  }

  /// Collectives have their own budget, so that neither group crowds out the other.
  void time_collectives() {
    if (plan_.collectives.empty() || stopped()) return;
    const double before_s = elapsed_s();
    time_cases(plan_.collectives, before_s + options_.collective_budget_s);
    budget_s_ += elapsed_s() - before_s;
  }

  /// In reverse order, so that a drift over the sweep shows in points timed first and last.
  void time_bimodal_again() {
    for (auto timed = result_.timed.rbegin(); timed != result_.timed.rend(); ++timed) {
      if (!timed->timing.statistics.bimodal) continue;
      if (elapsed_s() > budget_s_ || !going_on()) return;
      std::optional<Timing> timing = time(timed->c);
      if (!timing) continue;
      TimedCase again{.c = timed->c, .timing = std::move(*timing), .again = true};
      tell(again);
      const double before = timed->timing.statistics.relative_spread();
      if (again.timing.statistics.relative_spread() < before) *timed = std::move(again);
    }
  }

  Timer& timer_;
  Operands& operands_;
  CollectiveTimer* collectives_;
  const SweepPlan& plan_;
  const SweepOptions& options_;
  const SweepHooks& hooks_;
  double start_s_ = 0;
  double budget_s_ = 0;
  RoughRates rates_ = kAnyRates;
  SweepResult result_{};
  int done_ = 0;
  int failures_in_a_row_ = 0;
  std::string last_failure_{};
};

}  // namespace

SweepResult run_sweep(Timer& timer, Operands& operands, const SweepPlan& plan,
                      const SweepOptions& options, const SweepHooks& hooks,
                      CollectiveTimer* collectives) {
  return Sweep(timer, operands, plan, options, hooks, collectives).run();
}

}  // namespace roofcast
