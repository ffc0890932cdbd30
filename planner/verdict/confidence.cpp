#include "planner/verdict/confidence.hpp"

#include <algorithm>
#include <array>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <numbers>
#include <span>
#include <utility>

#include "base/itp_bracket.hpp"
#include "planner/evaluate_all.hpp"
#include "planner/scenario/late_first_tokens.hpp"
#include "planner/side_by_side.hpp"
#include "planner/verdict/margin_scale.hpp"

namespace roofcast {
namespace {

constexpr double kFarthest = 4;          // standard deviations: 3e-5 of a normal lies beyond
constexpr double kResolution = 1. / 32;  // of them, and a bracket need not be narrower
constexpr double kProbability = 0.0125;  // nor if it holds at most this much, as 1/32 at 0 does
constexpr double kWidest = 0.125;        // but z_i is printed, to a tenth

constexpr std::size_t kStepTime = 0;  // of kUncertainInputs

/// Standard normal distribution function.
double normal_cdf(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

/// The deviation at which a cause alone flips the verdict, if it does.
struct Search {
  std::optional<double> flips_at{};
  std::int64_t asked = 0;
};

bool is_known(const ItpBracket& bracket) {
  const double low = bracket.low().x;
  const double high = bracket.high().x;
  return bracket.is_narrow() ||
         (high - low <= kWidest && normal_cdf(high) - normal_cdf(low) <= kProbability);
}

/// The perturbations of one verdict.
struct Perturbed {
  const DeviatingMargin& margin;
  double predicted = 0;

  bool holds() const { return predicted >= 0; }
  double toward(const UncertainInput& cause) const {
    return holds() ? cause.harmful : -cause.harmful;
  }
  RootProbe as_predicted() const { return {0, log_room(predicted)}; }
  bool flips(const RootProbe& probe) const { return (probe.y < 0) == holds(); }

  /// With one cause off by `distance` in the direction that may flip the verdict.
  RootProbe probe(const UncertainInput& cause, double distance, Search& search) const {
    Deviations deviations;
    deviations.*cause.member = toward(cause) * distance;
    ++search.asked;
    return {distance, log_room(margin(deviations))};
  }

  /// `stays` and `beyond` enclose what is looked for, if anything flips the verdict at `beyond`.
  Search flipping(const UncertainInput& cause, const RootProbe& stays, const RootProbe& beyond,
                  Search search) const {
    if (!flips(beyond)) return search;
    ItpBracket bracket(stays, beyond, kResolution);
    while (!is_known(bracket)) bracket.add(probe(cause, bracket.next(), search));
    search.flips_at = toward(cause) * bracket.estimate();
    return search;
  }

  Search flipping(const UncertainInput& cause, const RootProbe& stays) const {
    Search search;
    const RootProbe farthest = probe(cause, kFarthest, search);
    return flipping(cause, stays, farthest, search);
  }
};

/// Whether the cause is the error of first tokens, which takes no simulation (deviating_result) and
/// often matters.
bool is_of_first_tokens(const UncertainInput& cause) {
  return cause.member == &Deviations::first_token;
}

/// All causes but step time: without first tokens together first, since they rarely matter.
std::vector<Search> others(const Perturbed& run, int threads) {
  std::vector<Search> searches(kUncertainInputs.size() - 1);
  Deviations together;
  for (const UncertainInput& cause : std::span(kUncertainInputs).subspan(kStepTime + 1)) {
    if (!is_of_first_tokens(cause)) together.*cause.member = run.toward(cause) * kFarthest;
  }
  searches.front().asked = 1;
  const bool matter = run.flips({kFarthest, log_room(run.margin(together))});
  side_by_side(threads, searches.size(), [&](std::size_t i) {
    const UncertainInput& cause = kUncertainInputs[i + 1];
    const bool first_tokens = is_of_first_tokens(cause);
    if (!matter && !first_tokens) return;
    const Search search = run.flipping(cause, run.as_predicted());
    searches[i].flips_at = search.flips_at;
    if (!first_tokens) searches[i].asked += search.asked;
  });
  return searches;
}

/// The searches of all causes: of step times by `of_step_time`, and the others beside it.
std::vector<Search> all_searches(const Perturbed& run, int threads,
                                 const std::function<Search()>& of_step_time) {
  std::vector<Search> all(1);
  std::vector<Search> beside;
  side_by_side(threads,
               {[&] { all[kStepTime] = of_step_time(); }, [&] { beside = others(run, threads); }});
  all.insert(all.end(), beside.begin(), beside.end());
  return all;
}

/// The searches of all causes if first tokens alone, this far off, flip the verdict: of first
/// tokens, without a simulation, and nothing of the others.
std::optional<std::vector<Search>> late_first_tokens(const Perturbed& run, double distance) {
  const auto cause = std::ranges::find_if(kUncertainInputs, is_of_first_tokens);
  Search not_simulated;
  const RootProbe late = run.probe(*cause, distance, not_simulated);
  if (!run.flips(late)) return std::nullopt;
  std::vector<Search> searches(kUncertainInputs.size());
  searches[static_cast<std::size_t>(cause - kUncertainInputs.begin())].flips_at =
      run.flipping(*cause, run.as_predicted(), late, {}).flips_at;
  return searches;
}

/// Step times for simulations of one run, each set used by one of them at a time.
class LentStepTimes {
 public:
  /// `first`, if any, is lent first; more are made when several are needed at once.
  LentStepTimes(const SimulationRun& run, const PoolStepTimes* first) : run_(run) {
    if (first != nullptr) idle_.push_back(first);
  }

  SimulationResult result(const Deviations& deviations) {
    if (!is_simulated(run_, deviations)) return deviating_result(run_, deviations);
    const PoolStepTimes* times = idle();
    if (times == nullptr) times = made();
    SimulationResult result = deviating_result(run_, *times, deviations);
    const std::scoped_lock lock(mutex_);
    idle_.push_back(times);
    return result;
  }

 private:
  /// A set that nobody uses, if there is one.
  const PoolStepTimes* idle() {
    const std::scoped_lock lock(mutex_);
    if (idle_.empty()) return nullptr;
    const PoolStepTimes* times = idle_.back();
    idle_.pop_back();
    return times;
  }

  const PoolStepTimes* made() {
    PoolStepTimes times = step_times_of(run_);
    const std::scoped_lock lock(mutex_);
    return &made_.emplace_back(std::move(times));
  }

  const SimulationRun& run_;
  std::mutex mutex_{};
  std::deque<PoolStepTimes> made_{};
  std::vector<const PoolStepTimes*> idle_{};
};

DeviatingMargin margin_lending(const SimulationRun& run, const PoolStepTimes* first,
                               SloRequirement requirement) {
  requirement.must_stand = false;
  const auto lent = std::make_shared<LentStepTimes>(run, first);
  return [requirement, lent](const Deviations& deviations) {
    return judge(lent->result(deviations), requirement).worst_margin;
  };
}

Confidence combined(const std::vector<Search>& searches, bool holds) {
  Confidence confidence{.holds = holds};
  double inverse_squares = 0;
  for (std::size_t i = 0; i < kUncertainInputs.size(); ++i) {
    const Search& search = searches[i];
    if (search.flips_at) inverse_squares += 1 / (*search.flips_at * *search.flips_at);
    confidence.causes.push_back({kUncertainInputs[i].name, search.flips_at});
    confidence.simulations += search.asked;
  }
  // No cause flips it: the boundary lies beyond the farthest deviation tried.
  const double beta = inverse_squares > 0 ? 1 / std::sqrt(inverse_squares) : kFarthest;
  confidence.probability = normal_cdf(holds ? beta : -beta);
  return confidence;
}

}  // namespace

double greatest_probability() { return normal_cdf(kFarthest); }

Confidence confidence_within(const DeviatingMargin& margin, double predicted, int threads) {
  const Perturbed run{margin, predicted};
  const auto of_step_time = [&] {
    return run.flipping(kUncertainInputs[kStepTime], run.as_predicted());
  };
  return combined(all_searches(run, threads, of_step_time), run.holds());
}

DeviatingMargin margin_of(const SimulationRun& run, const PoolStepTimes& step_times,
                          const SloRequirement& requirement) {
  return margin_lending(run, &step_times, requirement);
}

std::optional<Confidence> confidence_of(const SimulationRun& run, SloRequirement requirement,
                                        int threads, const Progress& progress) {
  requirement.must_stand = false;
  const double predicted = judge(run.result, requirement).worst_margin;
  const DeviatingMargin margin = margin_lending(run, nullptr, requirement);
  // One answer of a pool, of which idle threads take parts.
  const auto whole = [&](std::int64_t) { return confidence_within(margin, predicted, threads); };
  const auto answers = answers_here_or_on(1, threads, whole, progress);
  if (!answers) return std::nullopt;
  return answers->front();
}

Confidence confidence_for(const DeviatingMargin& margin, double predicted, double least,
                          int threads) {
  if (least <= 0.5 || predicted < 0) return confidence_within(margin, predicted, threads);
  const Perturbed run{margin, predicted};
  const double near = boost::math::quantile(boost::math::normal(), least);
  // No plane through a point this near leaves the origin farther away.
  if (const auto late = late_first_tokens(run, near)) return combined(*late, true);
  Deviations all;
  for (const UncertainInput& cause : kUncertainInputs) all.*cause.member = near * cause.harmful;
  Search tried{.asked = 1};
  if (margin(all) >= 0) return {.holds = true, .probability = least, .simulations = 1};
  const UncertainInput& step_time = kUncertainInputs[kStepTime];
  const RootProbe slower = run.probe(step_time, near, tried);
  if (run.flips(slower)) {
    // A plane through this point is no farther away either.
    std::vector<Search> searches(kUncertainInputs.size());
    searches.front() = run.flipping(step_time, run.as_predicted(), slower, tried);
    return combined(searches, true);
  }
  std::vector<Search> searches =
      all_searches(run, threads, [&] { return run.flipping(step_time, slower); });
  searches.front().asked += tried.asked;
  return combined(searches, true);
}

}  // namespace roofcast
