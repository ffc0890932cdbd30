#include "simulator/cluster/autoscaler.hpp"

#include <algorithm>
#include <cmath>

namespace roofcast {

std::int32_t Autoscaler::recommended(std::int32_t replicas, double sum) const {
  const double needed = sum / settings_.target;
  const bool close = replicas > 0 && std::abs(needed / replicas - 1) <= kAutoscalingTolerance;
  const double most = settings_.max_replicas;
  const double rounded = close ? replicas : std::ceil(std::min(needed, most));
  return std::clamp(static_cast<std::int32_t>(rounded), settings_.min_replicas,
                    settings_.max_replicas);
}

std::int32_t Autoscaler::wanted(Nanoseconds now, std::int32_t replicas, double sum) {
  while (!recommendations_.empty() &&
         recommendations_.front().first <= now - settings_.scale_down_window) {
    recommendations_.pop_front();
  }
  const std::int32_t recommendation = recommended(replicas, sum);
  recommendations_.emplace_back(now, recommendation);
  if (recommendation >= replicas) return recommendation;
  std::int32_t most = recommendation;
  for (const auto& [time, earlier] : recommendations_) most = std::max(most, earlier);
  return std::min(most, std::max(replicas, settings_.min_replicas));
}

}  // namespace roofcast
