// Branch and bound over shapes and their number: the cheapest that hold, with few simulations.
// Knows neither hardware nor simulator: items come with their bounds, trials are answered by
// whoever asks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace roofcast {

/// A shape as the search sees it.
struct SearchItem {
  std::int64_t min_units = 1;  // fewer cannot hold: a bound, optimistic
  std::int64_t max_units = 1;  // more is not allowed
  double unit_objective = 1;   // above 0: what one unit adds to what is minimised
  std::int64_t group = 0;      // of an answer only the best of each group is kept
};

/// Item `item` with so many units.
struct Trial {
  std::size_t item = 0;
  std::int64_t units = 1;

  auto operator<=>(const Trial&) const = default;
};

struct TrialAnswer {
  bool holds = false;
  double margin =
      0;  // to the nearest limit, relative: among equals in the objective more is better
};

/// Answers trials in their order; fewer answers than trials end the search.
using TrialFunction = std::function<std::vector<TrialAnswer>(std::span<const Trial>)>;

struct SearchOptions {
  std::int64_t keep = 1;  // groups in the answer
  /// Trials of a round, all decided on before any is answered: a constant of the search and not the
  /// number of threads, so that the answer does not depend on it.
  std::int64_t round = 8;
};

/// What became of an item.
struct ItemOutcome {
  std::optional<std::int64_t> holds_at{};  // the least number of units tried that holds
  std::int64_t fails_at = 0;               // the greatest number of units tried below that; 0: none
  double margin = 0;                       // at holds_at, else at fails_at
};

struct Found {
  std::size_t item = 0;
  std::int64_t units = 0;
  double objective = 0;
  double margin = 0;
};

struct SearchResult {
  std::vector<Found> best{};  // at most one a group: by objective, then margin, then order
  std::vector<ItemOutcome> items{};
  std::int64_t trials = 0;
  std::int64_t rounds = 0;
  bool stopped = false;  // before the end
};

/// Goes on until no untried number of units of any item can enter the answer. Best first: a round
/// takes the items with the least possible objective. More units of an item are taken never to
/// hurt, which no queueing system promises to the last request: where a count holds and a greater
/// one fails, either may be answered. All else is exact.
SearchResult find_cheapest(std::span<const SearchItem> items, const SearchOptions& options,
                           const TrialFunction& answer);

}  // namespace roofcast
