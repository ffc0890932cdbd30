// Decides how many replicas a pool should have, like the Kubernetes horizontal pod autoscaler with
// the defaults of autoscaling/v2 `behavior` (kubernetes.io, "Horizontal Pod Autoscaling": algorithm
// details, default behavior; pkg/controller/podautoscaler/horizontal.go). Metrics are available for
// every replica; what the controller assumes for pods without metrics is not modelled.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "simulator/time.hpp"

namespace roofcast {

/// Defaults are those of that autoscaler: evaluation every 15 s, 10 % tolerance, 300 s of
/// scale-down stabilisation.
struct Autoscaling {
  enum class Metric {
    queue,       // waiting requests per replica
    utilisation  // the larger of the used shares of KV blocks and of max_num_seqs
  };
  std::int32_t min_replicas = 1;
  std::int32_t max_replicas = 1;
  Metric metric = Metric::queue;
  double target = 1;  // of the metric per replica
  Nanoseconds interval = 15'000'000'000;
  Nanoseconds start_up = 0;  // from the decision until the replica takes requests
  Nanoseconds scale_down_window = 300'000'000'000;
};

inline constexpr double kAutoscalingTolerance = 0.1;

/// Minimum time between evaluations: a few engine steps. Metrics of real engines are scraped once
/// per second at most, and a simulated day still takes less than a minute.
inline constexpr Nanoseconds kShortestAutoscalingInterval = 1'000'000;

class Autoscaler {
 public:
  explicit Autoscaler(const Autoscaling& settings) : settings_(settings) {}

  const Autoscaling& settings() const { return settings_; }

  /// Replicas wanted at `now`, given the current number, including starting ones, and the metric
  /// summed over the serving ones: sum / target, rounded up, unless that is within the tolerance of
  /// the current number. Scales down only to the largest number recommended within the
  /// stabilisation window; the number at the first evaluation counts as a recommendation. Scales up
  /// by at most 4 or 100 %, whichever is larger, within 15 s.
  std::int32_t wanted(Nanoseconds now, std::int32_t replicas, double sum);

 private:
  using Count = std::pair<Nanoseconds, std::int32_t>;

  std::int32_t recommended(std::int32_t replicas, double sum) const;
  void remember(Nanoseconds now, std::int32_t recommendation);
  std::int32_t max_allowed(Nanoseconds now);

  Autoscaling settings_;
  std::optional<std::int32_t> wanted_{};  // result of the last evaluation
  // Within the window: times ascend, and each count is larger than all later ones.
  std::deque<Count> recommendations_;
  std::deque<Count> changes_;  // of wanted_, in the current scale-up period
};

}  // namespace roofcast
