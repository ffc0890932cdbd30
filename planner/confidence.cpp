#include "planner/confidence.hpp"

#include <array>
#include <cmath>
#include <numbers>

namespace roofcast {
namespace {

constexpr double kFarthest = 4;          // standard deviations: beyond it lies 3e-5 of a normal
constexpr double kResolution = 1. / 32;  // of them: moves a probability by at most 0.013

struct DeviationCause {
  const char* name;
  double Deviations::*member;
  double harmful;  // the sign that can only make things worse
};

constexpr std::array kCauses = {
    DeviationCause{"step time", &Deviations::step_time, 1},
    DeviationCause{"host work per request", &Deviations::per_request, 1},
    DeviationCause{"KV capacity", &Deviations::kv_capacity, -1}};

/// Standard normal distribution function.
double normal_cdf(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

/// A verdict that counts how often it was asked.
struct CountedVerdict {
  const DeviatingVerdict& holds;
  std::int64_t asked = 0;

  bool operator()(const Deviations& deviations) {
    ++asked;
    return holds(deviations);
  }
};

/// The distance at which the cause alone turns the verdict, if it does: the middle of the last
/// interval of a bisection.
std::optional<double> flipping(CountedVerdict& verdict, const DeviationCause& cause, bool holds) {
  const double direction = holds ? cause.harmful : -cause.harmful;
  const auto flips_at = [&](double distance) {
    Deviations deviations;
    deviations.*cause.member = direction * distance;
    return verdict(deviations) != holds;
  };
  if (!flips_at(kFarthest)) return std::nullopt;
  double stays = 0;
  double flips = kFarthest;
  while (flips - stays > kResolution) {
    const double middle = (stays + flips) / 2;
    (flips_at(middle) ? flips : stays) = middle;
  }
  return direction * (stays + flips) / 2;
}

}  // namespace

Confidence confidence_of(const DeviatingVerdict& holds) {
  CountedVerdict verdict{holds};
  Confidence confidence;
  confidence.holds = verdict({});
  double inverse_squares = 0;
  for (const DeviationCause& cause : kCauses) {
    const auto flips_at = flipping(verdict, cause, confidence.holds);
    if (flips_at) inverse_squares += 1 / (*flips_at * *flips_at);
    confidence.causes.push_back({cause.name, flips_at});
  }
  // No cause turns it: the nearest boundary known is beyond the farthest looked at.
  const double beta = inverse_squares > 0 ? 1 / std::sqrt(inverse_squares) : kFarthest;
  confidence.probability = normal_cdf(confidence.holds ? beta : -beta);
  confidence.simulations = verdict.asked;
  return confidence;
}

Confidence confidence_of(const SimulationRun& run, const PoolStepTimes& step_times,
                         const SloRequirement& requirement) {
  return confidence_of([&](const Deviations& deviations) {
    return judge(simulate_deviating(run, step_times, deviations, {}), requirement).holds;
  });
}

}  // namespace roofcast
