// What a plan asks of its candidates and what it is answered. Within a process these are structs;
// as texts they go to other processes and to the store.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "planner/capacity/confidence.hpp"
#include "simulator/results/verdict.hpp"

namespace roofcast {

enum class FigureKind {
  trial,       // "how does it fare": CandidateFigures
  confidence,  // "how sure": FinalistFigures without a capacity
  finalist     // "how sure, and how much more": FinalistFigures
};

struct FigureQuestion {
  FigureKind kind = FigureKind::trial;
  std::size_t shape = 0;  // of the plan's shapes
  std::int64_t units = 1;

  auto operator<=>(const FigureQuestion&) const = default;
};

/// One simulation of the load.
struct CandidateFigures {
  SloVerdict verdict{};
  double offered_rate_per_s = 0;  // 0: all at once
  double request_rate_per_s = 0;  // completed over the makespan
  double output_tokens_per_s = 0;
  double ttft_p95_s = 0;
  double tpot_p95_s = 0;
  double e2e_p95_s = 0;
  double mean_kv_use = 0;  // share of blocks
  double busy_share = 0;   // of the makespan
  std::int64_t requests = 0;
  /// That it holds, where a plan asked for it; not part of the text.
  std::optional<double> probability{};
};

/// What only those in the answer are asked for.
struct FinalistFigures {
  Confidence confidence{};
  /// The most load it holds, as a factor on the load asked about; nothing where it cannot be told:
  /// requests come all at once, or a client's limit sets the rate.
  std::optional<double> capacity_factor{};
  bool capacity_bounded = true;   // or it is at least this
  bool capacity_monotone = true;  // or some load beyond one that fails holds
  double capacity_rate_per_s = 0;
  std::int64_t capacity_requests_needed = 0;  // to tell of a load that lasts, see requests_needed
  std::int64_t simulations = 0;
};

using Figures = std::variant<CandidateFigures, FinalistFigures>;

/// "trial 3 2 DIGEST": shape, units, and what the question rests on
/// (planner/search/plan_digest.hpp).
std::string question_text(const FigureQuestion& question, const std::string& digest);

/// Nothing for a text that question_text does not write.
std::optional<FigureQuestion> parse_question(const std::string& text);

std::string to_text(const Figures& figures);

/// Precondition: `text` was written by to_text, of the answer to a question of that kind.
Figures parse_figures(FigureKind kind, const std::string& text);

}  // namespace roofcast
