// Branch and bound over shapes and their number of units: finds the cheapest that hold with few
// simulations. Independent of hardware and simulator: items come with their bounds, and the caller
// answers trials.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace roofcast {

/// Objectives are sums of prices: equal ones may differ in the last bits, by this share.
inline constexpr double kEqualObjectives = 1e-9;

/// A shape in the search.
struct SearchItem {
  std::int64_t min_units = 1;  // optimistic lower bound: fewer cannot hold
  std::int64_t max_units = 1;  // upper limit
  double unit_objective = 1;   // above 0: objective per unit
  std::int64_t group = 0;      // an answer keeps only the best of each group
};

/// Item `item` with a number of units.
struct Trial {
  std::size_t item = 0;
  std::int64_t units = 1;

  auto operator<=>(const Trial&) const = default;
};

struct TrialAnswer {
  bool holds = false;
  double margin = 0;  // to the nearest limit, relative: more is better if objectives are equal
};

/// Answers trials in order; fewer answers than trials end the search.
using TrialFunction = std::function<std::vector<TrialAnswer>(std::span<const Trial>)>;

struct SearchOptions {
  std::int64_t keep = 1;  // groups in the answer
  /// The others in the answer have at most this many times the objective of the best. At least 1.
  double within = 2;
  /// Trials per round, chosen before any is answered: a constant of the search rather than the
  /// number of threads, so that the answer does not depend on it.
  std::int64_t round = 8;
};

/// The outcome of an item.
struct ItemOutcome {
  std::optional<std::int64_t> holds_at{};  // least number of units that held
  std::int64_t fails_at = 0;               // greatest number below that which failed; 0: none
  double margin = 0;                       // at holds_at, else at fails_at
};

struct Found {
  std::size_t item = 0;
  std::int64_t units = 0;
  double objective = 0;
  double margin = 0;
};

struct SearchResult {
  std::vector<Found> best{};  // at most one per group: by objective, then margin, then order
  std::vector<ItemOutcome> items{};
  std::int64_t trials = 0;
  std::int64_t rounds = 0;
  bool stopped = false;  // cancelled
};

/// Runs until no untried number of units of any item can enter the answer: the best of `keep`
/// groups whose objective is within `within` times the least. Best first: a round takes the items
/// with the least possible objective. Assumes that more units never hurt, which no queueing system
/// guarantees for every single request: if a count holds and a greater one fails, either may be
/// returned. Otherwise exact.
SearchResult find_cheapest(std::span<const SearchItem> items, const SearchOptions& options,
                           const TrialFunction& answer);

}  // namespace roofcast
