// How many replicas a pool should have, as the Kubernetes horizontal pod autoscaler decides it with
// the defaults of autoscaling/v2 `behavior` (kubernetes.io, "Horizontal Pod Autoscaling": algorithm
// details, default behavior; pkg/controller/podautoscaler/horizontal.go). A metric is known for
// every replica at once: what the controller assumes of pods without metrics is not modelled.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "simulator/time.hpp"

namespace roofcast {

/// Defaults are that autoscaler's: an evaluation every 15 s, 10 % tolerance, 300 s of scale-down
/// stabilisation.
struct Autoscaling {
  enum class Metric {
    queue,       // requests waiting, per replica
    utilisation  // the larger of the shares of KV blocks and of places (max_num_seqs) in use
  };
  std::int32_t min_replicas = 1;
  std::int32_t max_replicas = 1;
  Metric metric = Metric::queue;
  double target = 1;  // of the metric, per replica
  Nanoseconds interval = 15'000'000'000;
  Nanoseconds start_up = 0;  // from the decision until a replica takes requests
  Nanoseconds scale_down_window = 300'000'000'000;
};

inline constexpr double kAutoscalingTolerance = 0.1;

/// Shortest time between evaluations: some steps of an engine. Metrics of real engines are scraped
/// every second at best, and a simulated day is still gone through in less than a minute.
inline constexpr Nanoseconds kShortestAutoscalingInterval = 1'000'000;

class Autoscaler {
 public:
  explicit Autoscaler(const Autoscaling& settings) : settings_(settings) {}

  const Autoscaling& settings() const { return settings_; }

  /// Replicas wanted at `now`, given how many there are, starting ones included, and the metric
  /// summed over those that serve: the sum over the target, rounded up, unless that is within the
  /// tolerance of what there is. Fewer than were wanted before only as many as every evaluation of
  /// the window could do without; what there is at the first counts as one. More than were wanted
  /// before by the larger of 4 and as many again within 15 s.
  std::int32_t wanted(Nanoseconds now, std::int32_t replicas, double sum);

 private:
  using Count = std::pair<Nanoseconds, std::int32_t>;

  std::int32_t recommended(std::int32_t replicas, double sum) const;
  void remember(Nanoseconds now, std::int32_t recommendation);
  std::int32_t max_allowed(Nanoseconds now);

  Autoscaling settings_;
  std::optional<std::int32_t> wanted_{};  // at the last evaluation
  // Of the window: times ascend, and each is larger than all that came after it.
  std::deque<Count> recommendations_;
  std::deque<Count> changes_;  // of wanted_, in the latest scale-up period
};

}  // namespace roofcast
