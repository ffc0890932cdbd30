// The cheapest fleet of several pools as an integer program: which kind of replica serves which
// band of the load, and how many of each. After Griggs et al. 2024, "Mélange: Cost Efficient Large
// Language Model Serving by Exploiting GPU Heterogeneity" (arXiv 2404.14527, section 5.4); here a
// band goes to one pool as a whole, so that a router can tell by the request alone.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

namespace roofcast {

/// A kind of replica that a pool may consist of.
struct FleetOption {
  double unit_objective = 0;   // above 0: dollars per hour, GPUs or watts of one replica
  std::int64_t max_units = 0;  // replicas
  /// By band: the replicas that it keeps busy, a band of 3 requests/s at 2 requests/s a replica
  /// 1.5. Unset: no number of replicas serves the band.
  std::vector<std::optional<double>> busy{};
  std::vector<double> uses{};  // of each limit, by one replica; at least 0
};

struct FleetProgram {
  std::vector<FleetOption> options{};
  std::size_t bands = 0;
  /// The bands of a pool are neighbours, as those of a router by prompt length.
  bool contiguous = false;
  std::vector<double> limits{};  // of the sums of FleetOption::uses
  std::int64_t min_pools = 1;
  std::int64_t max_pools = 4;
  double load = 1;  // factor on all bands
  /// Only choices with a lower objective count.
  double below = std::numeric_limits<double>::infinity();
};

/// A solution: bands and replicas by option.
struct FleetChoice {
  std::vector<std::size_t> option_of{};  // by band
  std::vector<std::int64_t> units{};     // by option; 0: none
  double objective = 0;

  bool operator==(const FleetChoice&) const = default;
};

/// The choice with the least objective: sum of unit_objective x units, where every band goes to one
/// option and each option has at least as many replicas as its bands keep busy. Nullopt if none
/// satisfies everything. Exact, by branch and bound over the bands (Land and Doig 1960, "An
/// Automatic Method of Solving Discrete Programming Problems", Econometrica 28:3): once bands are
/// assigned the least replicas follow, and with few pools few assignments are left to bound. Time
/// grows exponentially with max_pools, and for bands that are not contiguous with their number;
/// `stopped`, if not empty, is asked every few thousand assignments, and true ends it with nullopt.
std::optional<FleetChoice> solve(const FleetProgram& program,
                                 const std::function<bool()>& stopped = {});

}  // namespace roofcast
