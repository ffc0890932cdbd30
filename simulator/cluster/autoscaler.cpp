#include "simulator/cluster/autoscaler.hpp"

#include <algorithm>
#include <cmath>

namespace roofcast {
namespace {

// The default scale-up policies (pkg/apis/autoscaling/v2/defaults.go); the one that allows more
// applies.
constexpr Nanoseconds kScaleUpPeriod = 15'000'000'000;
constexpr std::int32_t kScaleUpReplicas = 4;
constexpr std::int32_t kScaleUpFactor = 2;

void forget_until(std::deque<std::pair<Nanoseconds, std::int32_t>>& counts, Nanoseconds time) {
  while (!counts.empty() && counts.front().first <= time) counts.pop_front();
}

}  // namespace

std::int32_t Autoscaler::recommended(std::int32_t replicas, double sum) const {
  const double needed = sum / settings_.target;
  const bool close = replicas > 0 && std::abs(needed / replicas - 1) <= kAutoscalingTolerance;
  const double max = settings_.max_replicas;
  const double rounded = close ? replicas : std::ceil(std::min(needed, max));
  return std::clamp(static_cast<std::int32_t>(rounded), settings_.min_replicas,
                    settings_.max_replicas);
}

void Autoscaler::remember(Nanoseconds now, std::int32_t recommendation) {
  while (!recommendations_.empty() && recommendations_.back().second <= recommendation) {
    recommendations_.pop_back();
  }
  recommendations_.emplace_back(now, recommendation);
}

/// calculateScaleUpLimitWithScalingRules: relative to the number wanted when the period began.
std::int32_t Autoscaler::max_allowed(Nanoseconds now) {
  forget_until(changes_, now - kScaleUpPeriod);
  std::int32_t at_start = *wanted_;
  for (const auto& [time, more] : changes_) at_start -= more;
  return std::max({at_start + kScaleUpReplicas, kScaleUpFactor * at_start, *wanted_});
}

std::int32_t Autoscaler::wanted(Nanoseconds now, std::int32_t replicas, double sum) {
  if (!wanted_) {
    remember(now, replicas);  // recordInitialRecommendation
    wanted_ = replicas;
  }
  forget_until(recommendations_, now - settings_.scale_down_window);
  const std::int32_t recommendation = recommended(replicas, sum);
  remember(now, recommendation);
  const bool fewer = recommendation < *wanted_;
  const std::int32_t stabilised = fewer ? recommendations_.front().second : recommendation;
  const std::int32_t result = std::min(stabilised, max_allowed(now));
  if (result != *wanted_) changes_.emplace_back(now, result - *wanted_);
  wanted_ = result;
  return result;
}

}  // namespace roofcast
