#include "planner/search/search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

namespace roofcast {
namespace {

struct State {
  SearchItem item{};
  ItemOutcome outcome{};
  std::int64_t tries = 0;

  std::int64_t floor() const { return std::max(item.min_units - 1, outcome.fails_at); }
  double min_objective() const { return static_cast<double>(floor() + 1) * item.unit_objective; }
};

/// The best of each group so far, and the bound that an item must not exceed to enter.
class Incumbents {
 public:
  explicit Incumbents(const SearchOptions& options)
      : keep_(options.keep), within_(options.within) {}

  void offer(std::int64_t group, const Found& found) {
    const auto [place, first] = of_group_.try_emplace(group, found);
    if (!first && better(found, place->second)) place->second = found;
  }

  std::vector<Found> best() const {
    std::vector<Found> best;
    for (const auto& [group, found] : of_group_) best.push_back(found);
    std::sort(best.begin(), best.end(), better);
    if (std::ssize(best) > keep_) best.resize(static_cast<std::size_t>(keep_));
    std::erase_if(best, [&](const Found& found) {
      return found.objective > within_ * (1 + kEqualObjectives) * best.front().objective;
    });
    return best;
  }

  /// The greatest objective with which an item of this group may enter the answer; infinite while
  /// there is room. `best` is best().
  double limit(std::int64_t group, const std::vector<Found>& best) const {
    double limit = std::numeric_limits<double>::infinity();
    if (!best.empty()) limit = within_ * best.front().objective;
    if (std::ssize(best) == keep_) limit = std::min(limit, best.back().objective);
    const auto own = of_group_.find(group);
    if (own != of_group_.end()) limit = std::min(limit, own->second.objective);
    return limit;
  }

 private:
  static bool better(const Found& a, const Found& b) {
    if (std::abs(a.objective - b.objective) >
        kEqualObjectives * std::max(a.objective, b.objective)) {
      return a.objective < b.objective;
    }
    return std::tuple(-a.margin, a.item, a.units) < std::tuple(-b.margin, b.item, b.units);
  }

  std::int64_t keep_ = 1;
  double within_ = 1;
  std::map<std::int64_t, Found> of_group_;
};

/// The maximum number of units with which an item may enter the answer.
std::int64_t max_useful(const State& state, double limit) {
  std::int64_t max = state.item.max_units;
  if (state.outcome.holds_at) max = std::min(max, *state.outcome.holds_at - 1);
  if (std::isinf(limit)) return max;
  const double affordable = std::floor(limit / state.item.unit_objective * (1 + kEqualObjectives));
  return affordable < static_cast<double>(max) ? static_cast<std::int64_t>(affordable) : max;
}

// Doublings of the bound before the maximum is tried: for shapes that can hold, the fluid bound
// is rarely further off, and one that never holds is out after one more trial.
constexpr std::int64_t kDoublings = 3;

/// The next number of units to try; nullopt if none can enter the answer. With a limit, the maximum
/// within it: if that fails the item is out. Without, the bound, then doublings of it, then the
/// maximum. Once one holds, bisection.
std::optional<std::int64_t> next_units(const State& state, double limit) {
  const std::int64_t min = state.floor() + 1;
  const std::int64_t max = max_useful(state, limit);
  if (min > max) return std::nullopt;
  if (state.outcome.holds_at) return min + (max - min) / 2;
  if (!std::isinf(limit) || state.tries >= kDoublings) return max;
  return std::clamp(state.item.min_units << state.tries, min, max);
}

/// The trials of a round: among the items that may enter the answer, those with the least possible
/// objective. While a group has no limit, one item of it at a time: its result limits the others.
std::vector<Trial> next_trials(const std::vector<State>& states, const Incumbents& incumbents,
                               std::int64_t round) {
  const std::vector<Found> best = incumbents.best();
  std::vector<std::pair<double, Trial>> open;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const auto units = next_units(states[i], incumbents.limit(states[i].item.group, best));
    if (units) open.push_back({states[i].min_objective(), {.item = i, .units = *units}});
  }
  std::sort(open.begin(), open.end());
  std::vector<Trial> trials;
  std::set<std::int64_t> unlimited;
  for (const auto& [objective, trial] : open) {
    if (std::ssize(trials) == round) break;
    const std::int64_t group = states[trial.item].item.group;
    const bool limited = std::isfinite(incumbents.limit(group, best));
    if (limited || unlimited.insert(group).second) trials.push_back(trial);
  }
  return trials;
}

void take(State& state, const Trial& trial, const TrialAnswer& answer) {
  ItemOutcome& outcome = state.outcome;
  ++state.tries;
  if (answer.holds) {
    outcome.holds_at = trial.units;
    outcome.margin = answer.margin;
    return;
  }
  outcome.fails_at = trial.units;
  if (!outcome.holds_at) outcome.margin = answer.margin;
}

}  // namespace

SearchResult find_cheapest(std::span<const SearchItem> items, const SearchOptions& options,
                           const TrialFunction& answer) {
  SearchResult result;
  std::vector<State> states;
  for (const SearchItem& item : items) states.push_back({.item = item});
  Incumbents incumbents(options);
  for (;;) {
    const std::vector<Trial> trials = next_trials(states, incumbents, options.round);
    if (trials.empty()) break;
    const std::vector<TrialAnswer> answers = answer(trials);
    if (answers.size() < trials.size()) {
      result.stopped = true;
      break;
    }
    ++result.rounds;
    result.trials += std::ssize(trials);
    for (std::size_t i = 0; i < trials.size(); ++i) {
      State& state = states[trials[i].item];
      take(state, trials[i], answers[i]);
      if (!answers[i].holds) continue;
      incumbents.offer(state.item.group, {.item = trials[i].item,
                                          .units = trials[i].units,
                                          .objective = static_cast<double>(trials[i].units) *
                                                       state.item.unit_objective,
                                          .margin = answers[i].margin});
    }
  }
  result.best = incumbents.best();
  for (State& state : states) result.items.push_back(state.outcome);
  return result;
}

}  // namespace roofcast
