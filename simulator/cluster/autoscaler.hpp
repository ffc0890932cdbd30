// How many replicas a pool should have, as the Kubernetes horizontal pod autoscaler decides it
// (kubernetes.io, "Horizontal Pod Autoscaling": algorithm details, stabilisation window).
#pragma once

#include <cstdint>
#include <deque>
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

class Autoscaler {
 public:
  explicit Autoscaler(const Autoscaling& settings) : settings_(settings) {}

  const Autoscaling& settings() const { return settings_; }

  /// Replicas wanted at `now`, given how many there are, starting ones included, and the metric
  /// summed over those that serve: the sum over the target, rounded up, unless that is within the
  /// tolerance of what there is. Fewer than now only as many as every evaluation of the window
  /// could do without.
  std::int32_t wanted(Nanoseconds now, std::int32_t replicas, double sum);

 private:
  std::int32_t recommended(std::int32_t replicas, double sum) const;

  Autoscaling settings_;
  std::deque<std::pair<Nanoseconds, std::int32_t>> recommendations_;  // of the window
};

}  // namespace roofcast
