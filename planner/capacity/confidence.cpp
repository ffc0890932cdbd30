#include "planner/capacity/confidence.hpp"

#include <array>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <numbers>

#include "planner/answers_on.hpp"

namespace roofcast {
namespace {

constexpr double kFarthest = 4;          // standard deviations: 3e-5 of a normal lies beyond
constexpr double kResolution = 1. / 32;  // of them: shifts a probability by at most 0.013

struct DeviationCause {
  const char* name;
  double Deviations::*member;
  double harmful;  // the sign that can only worsen the verdict
};

constexpr std::array kCauses = {
    DeviationCause{"step time", &Deviations::step_time, 1},
    DeviationCause{"host work per request", &Deviations::per_request, 1},
    DeviationCause{"KV capacity", &Deviations::kv_capacity, -1}};

/// Standard normal distribution function.
double normal_cdf(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

/// The deviation at which a cause alone flips the verdict, if it does: the middle of the last
/// bisection interval.
struct Search {
  std::optional<double> flips_at{};
  std::int64_t asked = 0;
};

Search flipping(const DeviatingVerdict& verdict, const DeviationCause& cause, bool holds,
                double farthest = kFarthest) {
  const double direction = holds ? cause.harmful : -cause.harmful;
  Search search;
  const auto flips_at = [&](double distance) {
    Deviations deviations;
    deviations.*cause.member = direction * distance;
    ++search.asked;
    return verdict(deviations) != holds;
  };
  if (!flips_at(farthest)) return search;
  double stays = 0;
  double flips = farthest;
  while (flips - stays > kResolution) {
    const double middle = (stays + flips) / 2;
    (flips_at(middle) ? flips : stays) = middle;
  }
  search.flips_at = direction * (stays + flips) / 2;
  return search;
}

Confidence combined(const std::vector<Search>& searches, bool holds) {
  Confidence confidence{.holds = holds, .simulations = 1};
  double inverse_squares = 0;
  for (std::size_t i = 0; i < kCauses.size(); ++i) {
    const Search& search = searches[i];
    if (search.flips_at) inverse_squares += 1 / (*search.flips_at * *search.flips_at);
    confidence.causes.push_back({kCauses[i].name, search.flips_at});
    confidence.simulations += search.asked;
  }
  // No cause flips it: the boundary lies beyond the farthest deviation tried.
  const double beta = inverse_squares > 0 ? 1 / std::sqrt(inverse_squares) : kFarthest;
  confidence.probability = normal_cdf(holds ? beta : -beta);
  return confidence;
}

}  // namespace

double greatest_probability() { return normal_cdf(kFarthest); }

std::optional<Confidence> confidence_of(const DeviatingVerdict& holds, int threads,
                                        const Progress& progress) {
  const bool holds_as_predicted = holds({});
  const auto search = [&](std::int64_t i) {
    return flipping(holds, kCauses[static_cast<std::size_t>(i)], holds_as_predicted);
  };
  const auto searches = answers_on(threads, std::ssize(kCauses), search, progress);
  if (!searches) return std::nullopt;
  return combined(*searches, holds_as_predicted);
}

Confidence confidence_of(const DeviatingVerdict& holds) { return *confidence_of(holds, 1, {}); }

Confidence confidence_for(const DeviatingVerdict& holds, double least) {
  if (least > 0.5 && holds({})) {
    const DeviationCause& step_time = kCauses.front();
    const double near = boost::math::quantile(boost::math::normal(), least);
    Deviations all;
    for (const DeviationCause& cause : kCauses) all.*cause.member = near * cause.harmful;
    if (holds(all)) return {.holds = true, .probability = least, .simulations = 2};
    // No plane through a point this near leaves the origin farther away.
    Deviations deviations;
    deviations.*step_time.member = near * step_time.harmful;
    if (!holds(deviations)) {
      std::vector<Search> searches(kCauses.size());
      searches.front() = flipping(holds, step_time, true, near);
      return combined(searches, true);
    }
  }
  return confidence_of(holds);
}

Confidence confidence_of(const SimulationRun& run, const PoolStepTimes& step_times,
                         const SloRequirement& requirement) {
  return confidence_of([&](const Deviations& deviations) {
    return judge(simulate_deviating(run, step_times, deviations, {}), requirement).holds;
  });
}

}  // namespace roofcast
