#include "planner/mix/fleet_program.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace roofcast {
namespace {

constexpr double kShareRounding = 1e-9;  // of sums of shares of a replica, and of prices

/// Bands are assigned one after the other; an assignment is left as soon as it, and at least what
/// the other bands keep busy of whatever serves each for least, reach the best found so far.
class Branching {
 public:
  Branching(const FleetProgram& program, const std::function<bool()>& stopped)
      : program_(program),
        stopped_(stopped),
        least_(program.below),
        busy_(program.options.size(), 0.0),
        bands_of_(program.options.size(), 0),
        option_of_(program.bands, 0),
        used_(program.limits.size(), 0.0),
        rest_(program.bands + 1, 0.0) {
    for (std::size_t band = 0; band < program.bands; ++band) {
      cheapest_first_.push_back(options_for(band));
    }
    for (std::size_t band = program.bands; band > 0; --band) {
      const auto& options = cheapest_first_[band - 1];
      rest_[band - 1] = rest_[band] + (options.empty() ? std::numeric_limits<double>::infinity()
                                                       : busy_cost(options.front(), band - 1));
    }
  }

  std::optional<FleetChoice> solved() {
    branch(0);
    if (ended_) return std::nullopt;
    return std::move(best_);
  }

 private:
  double busy_in(std::size_t option, std::size_t band) const {
    return program_.load * *program_.options[option].busy[band];
  }
  double busy_cost(std::size_t option, std::size_t band) const {
    return program_.options[option].unit_objective * busy_in(option, band);
  }

  /// Those that serve the band, that which does for least first.
  std::vector<std::size_t> options_for(std::size_t band) const {
    std::vector<std::size_t> options;
    for (std::size_t i = 0; i < program_.options.size(); ++i) {
      assert(program_.options[i].busy.size() == program_.bands);
      if (program_.options[i].busy[band]) options.push_back(i);
    }
    std::ranges::stable_sort(options, {}, [&](std::size_t i) { return busy_cost(i, band); });
    return options;
  }

  double units_of(std::size_t option) const {
    return bands_of_[option] == 0 ? 0 : std::max(1.0, std::ceil(busy_[option] - kShareRounding));
  }

  bool may_serve(std::size_t option, std::size_t band) const {
    if (bands_of_[option] == 0) return pools_ < program_.max_pools;
    return !program_.contiguous || option_of_[band - 1] == option;
  }

  /// Gives the option `bands` bands, which keep `busy` of its replicas busy.
  void set(std::size_t option, int bands, double busy) {
    const double before = units_of(option);
    pools_ += (bands > 0 ? 1 : 0) - (bands_of_[option] > 0 ? 1 : 0);
    bands_of_[option] = bands;
    busy_[option] = busy;
    const double more = units_of(option) - before;
    whole_cost_ += program_.options[option].unit_objective * more;
    for (std::size_t i = 0; i < used_.size(); ++i) {
      used_[i] += program_.options[option].uses[i] * more;
    }
  }

  bool is_within_limits(std::size_t option) const {
    if (units_of(option) > static_cast<double>(program_.options[option].max_units)) return false;
    for (std::size_t i = 0; i < used_.size(); ++i) {
      if (used_[i] > program_.limits[i] + kShareRounding) return false;
    }
    return true;
  }

  bool may_improve(double cost) const { return cost < least_ * (1 - kShareRounding); }

  /// Asks now and then, the first time before anything is assigned.
  bool is_ended() {
    constexpr std::int64_t kBetween = 4096;  // some hundred microseconds
    if (!ended_ && stopped_ && assigned_++ % kBetween == 0) ended_ = stopped_();
    return ended_;
  }

  void branch(std::size_t band) {
    if (is_ended()) return;
    if (band == program_.bands) {
      if (pools_ >= program_.min_pools) keep();
      return;
    }
    const auto left = static_cast<std::int64_t>(program_.bands - band);
    if (pools_ + left < program_.min_pools) return;
    for (const std::size_t option : cheapest_first_[band]) {
      if (!may_serve(option, band)) continue;
      const double busy = busy_[option];
      const double cost = busy_cost(option, band);
      set(option, bands_of_[option] + 1, busy + busy_in(option, band));
      busy_cost_ += cost;
      option_of_[band] = option;
      if (is_within_limits(option) && may_improve(whole_cost_) &&
          may_improve(busy_cost_ + rest_[band + 1])) {
        branch(band + 1);
      }
      busy_cost_ -= cost;
      set(option, bands_of_[option] - 1, busy);
    }
  }

  void keep() {
    FleetChoice choice{.option_of = option_of_};
    for (std::size_t i = 0; i < program_.options.size(); ++i) {
      choice.units.push_back(std::llround(units_of(i)));
      choice.objective +=
          program_.options[i].unit_objective * static_cast<double>(choice.units.back());
    }
    least_ = choice.objective;
    best_ = std::move(choice);
  }

  const FleetProgram& program_;
  const std::function<bool()>& stopped_;
  std::int64_t assigned_ = 0;  // calls of branch
  bool ended_ = false;
  std::optional<FleetChoice> best_{};
  double least_ = 0;                                        // objective of it, or `below`
  std::vector<std::vector<std::size_t>> cheapest_first_{};  // options by band
  std::vector<double> busy_{};                              // replicas, by option
  std::vector<int> bands_of_{};                             // bands so far, by option
  std::vector<std::size_t> option_of_{};                    // by band
  std::vector<double> used_{};                              // of each limit
  std::vector<double> rest_{};  // least cost of what this band and those after it keep busy
  double whole_cost_ = 0;       // of whole replicas
  double busy_cost_ = 0;        // of what is kept busy of them
  std::int64_t pools_ = 0;
};

}  // namespace

std::optional<FleetChoice> solve(const FleetProgram& program,
                                 const std::function<bool()>& stopped) {
  if (program.options.empty() || program.bands == 0) return std::nullopt;
  return Branching(program, stopped).solved();
}

}  // namespace roofcast
